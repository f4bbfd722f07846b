//! Strings that are put together from values of a file: the place of each part.

use crate::span::Span;

/// The most parts of one string whose places are kept: a limit for malicious files.
const MAX_PARTS: usize = 20_000;

/// The places in a file of the parts of a string.
#[derive(Debug, Clone, Default)]
pub struct TextParts {
    /// Sorted by their start; of two with the same start, the longer one is first.
    parts: Vec<Part>,
    length: usize,
}

#[derive(Debug, Clone, Copy)]
struct Part {
    /// The bytes of the string.
    text: Span,
    /// The bytes of the file.
    file: Span,
    /// Whether the file has the same bytes, so that every byte has its own place.
    is_verbatim: bool,
}

impl TextParts {
    /// The length of the string, in bytes.
    pub fn length(&self) -> usize {
        self.length
    }

    /// The bytes of the file from which the bytes `inner` of the string are; `None` if they are from none.
    pub fn span(&self, inner: Span) -> Option<Span> {
        if let Some(part) = self.smallest(inner) {
            return Some(part.place_of(inner));
        }
        let first = self.smallest(Span::new(inner.start, inner.start + 1))?;
        let last = inner.end.checked_sub(1).and_then(|byte| self.smallest(Span::new(byte, byte + 1)))?;
        let start = first.place_of(Span::new(inner.start, inner.start + 1)).start;
        Some(Span::new(start, last.place_of(Span::new(inner.end - 1, inner.end)).end))
    }

    /// The same string with other places.
    pub(crate) fn placed_by(&self, map: &dyn Fn(Span) -> Span) -> Self {
        let parts = self.parts.iter().map(|part| Part { file: map(part.file), ..*part });
        Self { parts: parts.collect(), length: self.length }
    }

    fn smallest(&self, inner: Span) -> Option<&Part> {
        let after = self.parts.partition_point(|part| part.text.start <= inner.start);
        self.parts.get(..after)?.iter().rev().find(|part| part.text.end >= inner.end)
    }
}

impl Part {
    fn place_of(&self, inner: Span) -> Span {
        if !self.is_verbatim {
            return self.file;
        }
        let offset = |byte: usize| self.file.start + byte - self.text.start;
        Span::new(offset(inner.start), offset(inner.end))
    }
}

/// A string that is being put together.
#[derive(Debug, Default)]
pub struct TextBuilder {
    pub text: String,
    parts: Vec<Part>,
}

impl TextBuilder {
    /// Adds a text that is spelled the same at `start` in the file.
    pub fn push_verbatim(&mut self, text: &str, start: usize) {
        let file = Span::new(start, start + text.len());
        self.part(self.text.len(), text.len(), file, true);
        self.text.push_str(text);
    }

    /// Adds a text that the bytes `file` produce.
    pub fn push(&mut self, text: &str, file: Span) {
        self.part(self.text.len(), text.len(), file, false);
        self.text.push_str(text);
    }

    /// Adds a text without a place of its own.
    pub fn push_unplaced(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// Gives everything since `start` the place `file`. The parts in it keep theirs.
    pub fn enclose(&mut self, start: usize, file: Span) {
        self.part(start, self.text.len().saturating_sub(start), file, false);
    }

    /// Adds a string with its parts.
    pub fn extend(&mut self, text: &str, file: Span, parts: Option<&TextParts>) {
        let shift = self.text.len();
        self.push(text, file);
        for part in parts.map(|parts| parts.parts.as_slice()).unwrap_or_default() {
            let text = Span::new(part.text.start + shift, part.text.end + shift);
            self.parts.push(Part { text, ..*part });
        }
    }

    /// Adds the bytes `part` of a string, whose parts have the places `places`.
    pub fn push_part(&mut self, string: &str, part: Span, places: Option<&TextParts>) {
        let at = self.text.len();
        self.text.push_str(string.get(part.start..part.end).unwrap_or_default());
        let known = places.map(|places| places.parts.as_slice()).unwrap_or_default();
        let first = known.partition_point(|known| known.text.end <= part.start);
        for known in known.iter().skip(first).take_while(|known| known.text.start < part.end) {
            let (start, end) = (known.text.start.max(part.start), known.text.end.min(part.end));
            let file = known.place_of(Span::new(start, end));
            self.part(at + start - part.start, end - start, file, known.is_verbatim);
        }
    }

    /// Adds a text in the place of the bytes `part` of a string, whose parts have the places `places`.
    pub fn push_instead(&mut self, text: &str, part: Span, places: Option<&TextParts>) {
        match places.and_then(|places| places.span(part)) {
            Some(file) => self.push(text, file),
            None => self.push_unplaced(text),
        }
    }

    /// Removes blanks at the end.
    pub fn trim_end(&mut self) {
        let length = self.text.trim_end().len();
        self.text.truncate(length);
        self.parts.retain(|part| part.text.end <= length);
    }

    /// The string, and the places of its parts unless there are too many.
    pub fn finish(mut self) -> (String, Option<TextParts>) {
        let length = self.text.len();
        if self.parts.len() > MAX_PARTS {
            return (self.text, None);
        }
        self.parts.sort_by_key(|part| (part.text.start, std::cmp::Reverse(part.text.end)));
        (self.text, Some(TextParts { parts: self.parts, length }))
    }

    fn part(&mut self, start: usize, length: usize, file: Span, is_verbatim: bool) {
        if length > 0 {
            self.parts.push(Part { text: Span::new(start, start + length), file, is_verbatim });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_of_a_string_has_its_place() {
        // Given `{"port": ${var.port}}` at 100 in a file, with 8080 for the variable.
        let mut builder = TextBuilder::default();
        builder.push_verbatim("{\"port\": ", 100);
        builder.push("8080", Span::new(109, 120));
        builder.push_verbatim("}", 120);
        let (text, parts) = builder.finish();
        let parts = parts.unwrap();
        // Then its parts have the places of what produced them.
        assert_eq!((text.as_str(), parts.length()), ("{\"port\": 8080}", 14));
        assert_eq!(parts.span(Span::new(1, 7)), Some(Span::new(101, 107)));
        assert_eq!(parts.span(Span::new(9, 13)), Some(Span::new(109, 120)));
        assert_eq!(parts.span(Span::new(0, 14)), Some(Span::new(100, 121)));
        assert_eq!(parts.span(Span::new(20, 22)), None);
    }

    #[test]
    fn the_smallest_enclosing_part_counts() {
        let mut builder = TextBuilder::default();
        builder.push_unplaced("[");
        builder.push("1", Span::new(50, 51));
        builder.push_unplaced("]");
        builder.enclose(0, Span::new(40, 60));
        let (_, parts) = builder.finish();
        let parts = parts.unwrap();
        assert_eq!(parts.span(Span::new(1, 2)), Some(Span::new(50, 51)));
        assert_eq!(parts.span(Span::new(0, 3)), Some(Span::new(40, 60)));
    }
}
