//! Strings that a file spells, or that are put together from its values: the place of each part, and of the JSON in them.

use std::{borrow::Cow, sync::Arc};

use super::{HOLE, Node, ParseError, Place, Route, Span, Step, Value, json::parse_json};

/// Reads the JSON in the string `host`. `source` is the text of the file.
///
/// If the file spells the string as JSON does, every value has its own place in the file; otherwise all values have the
/// place of the string. If an unknown part of the string is a complete value, that value is unknown.
///
/// # Errors
/// It is not a string, or the string is not JSON.
pub fn embedded_json(source: &str, host: &Node) -> Result<Node, ParseError> {
    let Value::Text(text) = &host.value else {
        return Err(ParseError::new(host.place.span, format!("{} where a JSON string is expected", host.kind())));
    };
    let text = &with_quoted_holes(text);
    let map = Offsets::of(source, &host.place, text);
    let route = host.place.route.as_ref().map_or_else(Route::default, |route| route.then(Step::Embedded));
    match parse_json(text, &route) {
        Ok(mut node) => {
            node.map_spans(&|span| map.span(span));
            if host.place.route.is_none() {
                node.remove_routes();
            }
            forget_holes(&mut node);
            Ok(node)
        }
        Err(error) => Err(ParseError::new(map.span(error.span), error.reason)),
    }
}

/// Quotes unknown parts outside of strings, as in `"port": ${Port}`, so that the rest is valid JSON.
fn with_quoted_holes(text: &str) -> Cow<'_, str> {
    if !text.contains(HOLE) {
        return Cow::Borrowed(text);
    }
    let (mut quoted, mut in_string, mut is_escaped) = (String::with_capacity(text.len() + 16), false, false);
    for c in text.chars() {
        match c {
            HOLE if !in_string => quoted.extend(['"', HOLE, '"']),
            _ => quoted.push(c),
        }
        in_string ^= c == '"' && !is_escaped;
        is_escaped = in_string && c == '\\' && !is_escaped;
    }
    Cow::Owned(quoted)
}

/// Makes a value unknown if an unknown part is all of it. In a list or a key, an unknown part may be several values:
/// the list or map becomes unknown.
fn forget_holes(node: &mut Node) {
    let has_open_key = node.entries().iter().any(|entry| entry.key.contains(HOLE));
    if is_hole(node) || node.items().iter().any(is_hole) || has_open_key {
        node.value = Value::Unknown;
    }
    node.children_mut().into_iter().for_each(forget_holes);
}

fn is_hole(node: &Node) -> bool {
    matches!(&node.value, Value::Text(text) if text.chars().eq([HOLE]))
}

/// The position in the file of each byte of a string's value.
enum Offsets {
    /// By byte of the value, including its end.
    Exact(Vec<usize>),
    /// The string is put together from values of the file.
    Parts(Span, Arc<TextParts>),
    /// The file does not spell the string as JSON does.
    Whole(Span),
}

impl Offsets {
    fn of(source: &str, place: &Place, text: &str) -> Self {
        let span = place.span;
        // Quotes around unknown parts move the rest of the text.
        if let Some(parts) = place.parts.as_ref().filter(|parts| parts.length() == text.len()) {
            return Self::Parts(span, Arc::clone(parts));
        }
        let literal = source.get(span.start..span.end).unwrap_or_default();
        match literal.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
            Some(inner) => Self::exact(inner, span.start + 1, text).unwrap_or(Self::Whole(span)),
            None => Self::Whole(span),
        }
    }

    /// Reads the escapes of the literal; `None` if literal and value do not match, as with YAML's own escapes.
    fn exact(literal: &str, start: usize, text: &str) -> Option<Self> {
        let mut offsets = Vec::with_capacity(text.len() + 1);
        let mut rest = literal;
        for wanted in text.chars() {
            let offset = start + (literal.len() - rest.len());
            offsets.extend(std::iter::repeat_n(offset, wanted.len_utf8()));
            rest = after_one_character(rest, wanted)?;
        }
        offsets.push(start + (literal.len() - rest.len()));
        rest.is_empty().then_some(Self::Exact(offsets))
    }

    fn span(&self, inner: Span) -> Span {
        match self {
            Self::Exact(offsets) => {
                let at = |index: usize| offsets.get(index).or(offsets.last()).copied().unwrap_or_default();
                Span::new(at(inner.start), at(inner.end))
            }
            Self::Parts(span, parts) => parts.span(inner).unwrap_or(*span),
            Self::Whole(span) => *span,
        }
    }
}

/// The rest of a JSON string literal after the spelling of `wanted`.
fn after_one_character(literal: &str, wanted: char) -> Option<&str> {
    let Some(escape) = literal.strip_prefix('\\') else {
        return literal.strip_prefix(wanted);
    };
    let mut after = escape.chars();
    match after.next()? {
        'u' => {
            // A character outside of the basic multilingual plane has two UTF-16 units.
            let units = wanted.len_utf16();
            escape.get(if units == 2 { 11 } else { 5 }..)
        }
        _ => Some(after.as_str()),
    }
}

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

    fn inner(source: &str) -> Result<Node, ParseError> {
        embedded_json(source, parse_json(source, &Route::default()).unwrap().get("c").unwrap())
    }

    #[test]
    fn values_in_a_string_have_places_in_the_file() {
        let source = r#"{"c": "{\"n\u00e4me\": \"w\ud83d\ude00b\", \"port\": 80}"}"#;
        let node = inner(source).unwrap();
        let slice = |node: &Node| source.get(node.place.span.start..node.place.span.end).unwrap_or_default();
        assert_eq!(slice(node.get("port").unwrap()), "80");
        assert_eq!(slice(node.get("näme").unwrap()), r#"\"w\ud83d\ude00b\""#);
        let steps = node.get("port").unwrap().place.route.as_ref().unwrap().steps();
        assert_eq!(steps, [Step::Key("c".to_owned()), Step::Embedded, Step::Key("port".to_owned())]);
    }

    #[test]
    fn an_unknown_part_becomes_an_unknown_value() {
        let text = format!(r#"{{"port": {HOLE}, "name": "a-{HOLE}", "tags": [{HOLE}, "x"], "tls": true}}"#);
        let host = Node { value: Value::Text(text), place: Place::default() };
        let node = embedded_json("", &host).unwrap();
        assert!(matches!(node.get("port").unwrap().value, Value::Unknown));
        assert!(matches!(node.get("tags").unwrap().value, Value::Unknown));
        assert!(matches!(&node.get("name").unwrap().value, Value::Text(name) if name.starts_with("a-")));
        assert!(matches!(node.get("tls").unwrap().value, Value::Bool(true)));
    }

    #[test]
    fn errors_point_into_the_file() {
        let source = r#"{"c": "{\"a\": nonsense}"}"#;
        let error = inner(source).unwrap_err();
        assert!(source.get(error.span.start..).unwrap().starts_with("nonsense"), "{error:?}");
        assert!(inner(r#"{"c": 7}"#).unwrap_err().reason.contains("a number where"));
    }

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
