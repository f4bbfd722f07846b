//! Answers that are JSON arrays of any length, read while they arrive.

use std::{marker::PhantomData, mem};

use http_client::Limit;
use memchr::{memchr2, memmem::Finder};
use serde::de::DeserializeOwned;
use serde_json::error::Category;

/// The most that is held of one element, whose end may never come.
const ELEMENT: Limit = Limit::Whole;

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
    /// An element is longer than what is held of one.
    #[error("an element of the array is longer than the limit of {} MiB", .0.mebibytes())]
    TooLong(Limit),
}

/// What comes next in the array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    Array,
    FirstElementOrEnd,
    Element,
    EndOfElement,
    CommaOrEnd,
    Nothing,
}

/// Finds the end of an object, whose bytes may arrive in parts.
#[derive(Default)]
struct ObjectEnd {
    /// How many objects are open.
    depth: usize,
    is_in_string: bool,
    /// The last byte was a backslash in a string.
    is_escaped: bool,
}

impl ObjectEnd {
    /// The length of the part that belongs to the object, or `None` if its end has not arrived.
    fn find(&mut self, part: &[u8]) -> Option<usize> {
        if part.is_empty() {
            return None;
        }
        let mut at = usize::from(mem::take(&mut self.is_escaped));
        loop {
            if self.is_in_string {
                at = self.after_string(part, at)?;
            }
            let byte = part.get(at)?;
            at += 1;
            match byte {
                b'"' => self.is_in_string = true,
                b'{' => self.depth += 1,
                b'}' => {
                    self.depth = self.depth.saturating_sub(1);
                    if self.depth == 0 {
                        return Some(at);
                    }
                }
                _ => {}
            }
        }
    }

    /// Where the current string has ended. A search pays only within strings: between them are a few bytes.
    fn after_string(&mut self, part: &[u8], mut at: usize) -> Option<usize> {
        loop {
            let left = part.get(at..)?;
            let found = memchr2(b'"', b'\\', left)?;
            at += found + 1;
            if left.get(found) == Some(&b'"') {
                self.is_in_string = false;
                return Some(at);
            }
            self.is_escaped = at == part.len();
            at += 1;
        }
    }
}

/// Reads an array of objects, and collects what `select` makes of each. It holds only the selected values, and the beginning of
/// one element.
pub(super) struct ArrayReader<T, U, F> {
    select: F,
    /// Elements without any of these texts are not parsed; if it is empty, all are.
    texts: Vec<Finder<'static>>,
    selected: Vec<U>,
    next: Next,
    end: ObjectEnd,
    /// The beginning of an element whose end has not arrived.
    begun: Vec<u8>,
    /// The number of elements so far.
    elements: usize,
    element: PhantomData<fn() -> T>,
}

impl<T: DeserializeOwned, U, F: FnMut(T) -> Option<U>> ArrayReader<T, U, F> {
    pub(super) fn new(select: F) -> Self {
        Self {
            select,
            texts: Vec::new(),
            selected: Vec::new(),
            next: Next::Array,
            end: ObjectEnd::default(),
            begun: Vec::new(),
            elements: 0,
            element: PhantomData,
        }
    }

    /// Parses only elements with one of these texts, as JSON writes them; without texts, all. Whether the others are valid JSON is
    /// not checked, only where they end.
    pub(super) fn containing(self, texts: &[String]) -> Self {
        Self { texts: texts.iter().map(|text| Finder::new(text).into_owned()).collect(), ..self }
    }

    /// Parses and selects one element, if it has one of the texts.
    fn element(&mut self, bytes: &[u8]) -> Result<(), BodyError> {
        if self.texts.is_empty() || self.texts.iter().any(|text| text.find(bytes).is_some()) {
            let parsed = serde_json::from_slice(bytes);
            let element = parsed.map_err(|error| BodyError::Element(self.elements, error.classify()))?;
            self.selected.extend((self.select)(element));
        }
        self.elements += 1;
        Ok(())
    }

    /// Reads what belongs to the current element, and returns what follows it.
    fn rest_of_element<'p>(&mut self, part: &'p [u8]) -> Result<&'p [u8], BodyError> {
        let Some((last, after)) = self.end.find(part).and_then(|end| part.split_at_checked(end)) else {
            self.begun.extend_from_slice(part);
            return if self.begun.len() <= ELEMENT.bytes() { Ok(&[]) } else { Err(BodyError::TooLong(ELEMENT)) };
        };
        if self.begun.is_empty() {
            self.element(last)?;
        } else {
            let mut whole = mem::take(&mut self.begun);
            whole.extend_from_slice(last);
            self.element(&whole)?;
            whole.clear();
            self.begun = whole;
        }
        self.next = Next::CommaOrEnd;
        Ok(after)
    }
}

impl<T: DeserializeOwned, U: Send, F: FnMut(T) -> Option<U> + Send> BodyReader for ArrayReader<T, U, F> {
    type Output = Vec<U>;

    fn read(&mut self, part: &[u8]) -> Result<(), BodyError> {
        let mut left = part;
        loop {
            if self.next == Next::EndOfElement {
                left = self.rest_of_element(left)?;
            }
            left = left.trim_ascii_start();
            let Some((first, after)) = left.split_first() else { return Ok(()) };
            (self.next, left) = match (self.next, first) {
                (Next::Array, b'[') => (Next::FirstElementOrEnd, after),
                (Next::FirstElementOrEnd | Next::CommaOrEnd, b']') => (Next::Nothing, after),
                (Next::CommaOrEnd, b',') => (Next::Element, after),
                (Next::FirstElementOrEnd | Next::Element, b'{') => (Next::EndOfElement, left),
                _ => return Err(BodyError::NotAnArray),
            };
        }
    }

    fn end(mut self) -> Result<Vec<U>, BodyError> {
        if self.next != Next::Nothing {
            return Err(BodyError::Incomplete(self.elements));
        }
        self.selected.shrink_to_fit();
        Ok(self.selected)
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
    fn only_elements_with_a_wanted_text_are_parsed() {
        let body = "[{\"name\":7},{\"name\":\"web-1\"},{\"other\":{\"name\":\"}web\\\\\"}},{\"name\":\"a web-1\"}]";
        for length in 1..=body.len() {
            let reader = ArrayReader::new(|element: Named| Some(element.name));
            let mut reader = reader.containing(&["api-7".to_owned(), "web-1".to_owned()]);
            for part in body.as_bytes().chunks(length) {
                reader.read(part).unwrap();
            }
            assert_eq!(reader.end().unwrap(), ["web-1", "a web-1"], "in parts of {length}");
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
    fn element_without_an_end_is_held_up_to_the_limit() {
        let mut reader = ArrayReader::new(|_: Named| None::<()>);
        reader.read(b"[{\"name\":\"").unwrap();
        let part = vec![b'x'; 1 << 20];
        let read = (0..ELEMENT.mebibytes() - 1).try_for_each(|_| reader.read(&part));
        assert_eq!(read, Ok(()));
        assert_eq!((reader.read(&part), reader.read(&part).is_err()), (Err(BodyError::TooLong(ELEMENT)), true));
    }

    #[test]
    fn only_what_was_selected_is_held() {
        let mut reader = ArrayReader::new(|_: Named| None::<()>);
        let element = format!("{{\"name\":\"{}\"}}", "x".repeat(500));
        reader.read(b"[").unwrap();
        for _ in 0..1_000 {
            reader.read(element.as_bytes()).unwrap();
            reader.read(b",").unwrap();
            assert!(reader.begun.capacity() <= 2 * element.len(), "{} bytes", reader.begun.capacity());
        }
        reader.read(element.as_bytes()).unwrap();
        reader.read(b"]").unwrap();
        assert_eq!(reader.elements, 1_001);
        assert_eq!(reader.end(), Ok(Vec::new()));
    }
}
