//! Answers that are JSON arrays of any length, read while they arrive.

use std::{marker::PhantomData, mem};

use serde::de::DeserializeOwned;
use serde_json::{Deserializer, error::Category};

/// Reads the body of an answer, which arrives in parts.
pub(super) trait BodyReader: Send {
    /// The result.
    type Output;

    /// Reads the next part.
    ///
    /// # Errors
    /// The body cannot be parsed.
    fn read(&mut self, part: &[u8]) -> Result<(), BodyError>;

    /// The result, after the last part.
    ///
    /// # Errors
    /// The body is incomplete.
    fn end(self) -> Result<Self::Output, BodyError>;
}

/// The whole body.
impl BodyReader for Vec<u8> {
    type Output = Self;

    fn read(&mut self, part: &[u8]) -> Result<(), BodyError> {
        self.extend_from_slice(part);
        Ok(())
    }

    fn end(self) -> Result<Self, BodyError> {
        Ok(self)
    }
}

/// Why a body cannot be parsed. Contains nothing of the body, which may contain secrets.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum BodyError {
    /// The body is not a JSON array of objects.
    #[error("expected a JSON array of objects")]
    NotAnArray,
    /// An element cannot be parsed.
    #[error("{1:?} error in element {0} of the array")]
    Element(usize, Category),
    /// The body ends within the array.
    #[error("the array ends after {0} elements")]
    Incomplete(usize),
}

/// What comes next in the array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    Array,
    FirstElementOrEnd,
    Element,
    CommaOrEnd,
    Nothing,
}

/// Reads an array of objects, and collects what `select` makes of each. It holds only the selected values, one part, and
/// one element.
pub(super) struct ArrayReader<T, U, F> {
    select: F,
    selected: Vec<U>,
    next: Next,
    /// The beginning of an element whose end has not arrived.
    rest: Vec<u8>,
    /// The number of elements so far.
    elements: usize,
    element: PhantomData<fn() -> T>,
}

impl<T: DeserializeOwned, U, F: FnMut(T) -> Option<U>> ArrayReader<T, U, F> {
    pub(super) fn new(select: F) -> Self {
        let next = Next::Array;
        Self { select, selected: Vec::new(), next, rest: Vec::new(), elements: 0, element: PhantomData }
    }

    /// Reads an object at the beginning of `bytes`. Returns what follows it, or `None` if its end has not arrived.
    fn element<'b>(&mut self, bytes: &'b [u8]) -> Result<Option<&'b [u8]>, BodyError> {
        let mut elements = Deserializer::from_slice(bytes).into_iter();
        match elements.next() {
            Some(Ok(element)) => {
                self.elements += 1;
                self.selected.extend((self.select)(element));
                Ok(bytes.get(elements.byte_offset()..))
            }
            Some(Err(error)) if !is_at_end(&error, bytes) => Err(BodyError::Element(self.elements, error.classify())),
            Some(Err(_)) | None => Ok(None),
        }
    }
}

/// Whether an error is at the end of `bytes`, so that what follows may complete them. Not each such error is one of
/// [`Category::Eof`]: to `serde_json`, a number that is not read and ends with its decimal point is a syntax error.
fn is_at_end(error: &serde_json::Error, bytes: &[u8]) -> bool {
    let mut lines = bytes.rsplit(|byte| *byte == b'\n');
    let column = lines.next().map_or(0, <[u8]>::len);
    error.is_eof() || (error.line(), error.column()) == (lines.count() + 1, column)
}

impl<T: DeserializeOwned, U: Send, F: FnMut(T) -> Option<U> + Send> BodyReader for ArrayReader<T, U, F> {
    type Output = Vec<U>;

    fn read(&mut self, part: &[u8]) -> Result<(), BodyError> {
        let mut bytes = mem::take(&mut self.rest);
        bytes.extend_from_slice(part);
        let mut left = bytes.trim_ascii_start();
        while let Some((first, after)) = left.split_first() {
            let (next, after) = match (self.next, first) {
                (Next::Array, b'[') => (Next::FirstElementOrEnd, after),
                (Next::FirstElementOrEnd | Next::CommaOrEnd, b']') => (Next::Nothing, after),
                (Next::CommaOrEnd, b',') => (Next::Element, after),
                (Next::FirstElementOrEnd | Next::Element, b'{') => match self.element(left)? {
                    Some(after) => (Next::CommaOrEnd, after),
                    None => break,
                },
                _ => return Err(BodyError::NotAnArray),
            };
            self.next = next;
            left = after.trim_ascii_start();
        }
        self.rest = left.to_vec();
        Ok(())
    }

    fn end(self) -> Result<Vec<U>, BodyError> {
        if self.next == Next::Nothing { Ok(self.selected) } else { Err(BodyError::Incomplete(self.elements)) }
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Deserialize)]
    struct Named {
        name: String,
    }

    /// The names in a body that arrives in parts of this length.
    fn names(body: &str, length: usize) -> Result<Vec<String>, BodyError> {
        let mut reader = ArrayReader::new(|element: Named| Some(element.name).filter(|name| name != "skipped"));
        for part in body.as_bytes().chunks(length) {
            reader.read(part)?;
        }
        reader.end()
    }

    #[test]
    fn elements_are_read_wherever_the_parts_end() {
        let body = " [\n{\"name\": \"a]}\\\"\\u00e4\", \"other\":\n[{}, null, -1.5e+3, true, \"\\ud83d\\ude00\\n\"]},\
                    {\"name\":\"skipped\"} ,\t{\"name\":\"ü\"}]\n";
        for length in 1..=body.len() {
            assert_eq!(names(body, length).unwrap(), ["a]}\"ä", "ü"], "in parts of {length}");
            assert_eq!(names("[]", length).unwrap(), [""; 0]);
        }
    }

    #[test]
    fn body_that_is_not_a_whole_array_is_an_error() {
        for length in [1, 5, 100] {
            for body in
                ["null", "{\"name\":\"a\"}", "x", "[{\"name\":\"a\"}{\"name\":\"b\"}]", "[]]", "[] {}", "[7]", "[,]"]
            {
                assert_eq!(names(body, length), Err(BodyError::NotAnArray), "{body}");
            }
            for body in ["", "[", "[{\"name\":\"a\"", "[{\"name\":\"a\"}", "[{\"name\":\"a\"},"] {
                assert!(matches!(names(body, length), Err(BodyError::Incomplete(_))), "{body}");
            }
        }
    }

    #[test]
    fn element_that_cannot_be_parsed_is_an_error_without_its_content() {
        for (element, category) in
            [("{\"name\":7}", Category::Data), ("{}", Category::Data), ("{\"name\":canary}", Category::Syntax)]
        {
            let error = names(&format!("[{{\"name\":\"a\"}},{element}]"), 3).unwrap_err();
            assert_eq!(error, BodyError::Element(1, category));
            assert!(!error.to_string().contains("canary"), "{error}");
        }
        assert_eq!(names("[{\"name\":\"a\"},]", 1), Err(BodyError::NotAnArray));
    }

    #[test]
    fn only_what_was_selected_is_held() {
        let mut reader = ArrayReader::new(|_: Named| None::<()>);
        let element = format!("{{\"name\":\"{}\"}}", "x".repeat(500));
        reader.read(b"[").unwrap();
        for _ in 0..1_000 {
            reader.read(element.as_bytes()).unwrap();
            reader.read(b",").unwrap();
            assert!(reader.rest.capacity() <= 2 * element.len(), "{} bytes", reader.rest.capacity());
        }
        reader.read(element.as_bytes()).unwrap();
        reader.read(b"]").unwrap();
        assert_eq!(reader.elements, 1_001);
        assert_eq!(reader.end(), Ok(Vec::new()));
    }
}
