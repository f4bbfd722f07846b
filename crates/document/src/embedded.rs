//! JSON in a string of a file, with the place of every value in the file.

use std::{borrow::Cow, sync::Arc};

use crate::{
    error::ParseError,
    json::parse_standard_json,
    node::{HOLE, Node, Value},
    place::{PathStep, Place, Route},
    scalar::after_one_character,
    span::{Position, Span},
    text_parts::TextParts,
};

/// Reads the JSON in the string `host`. `source` is the text of the file.
///
/// If the file shows where each part of the string is from, every value has its own place in the file; otherwise all values
/// have the place of the string. If an unknown part of the string is a complete value, that value is unknown.
///
/// # Errors
/// It is not a string, or the string is not JSON.
pub fn embedded_json(source: &str, host: &Node) -> Result<Node, ParseError> {
    let Value::Text(text) = &host.value else {
        return Err(ParseError::new(host.place.span, format!("{} where a JSON string is expected", host.kind())));
    };
    let (quoted, added) = with_quoted_holes(text);
    let map = Offsets::of(source, &host.place, text);
    let place_of = |span: Span| map.span(without_quotes(span, &added));
    let route = host.place.route.as_ref().map_or_else(Route::default, |route| route.then(PathStep::Embedded));
    match parse_standard_json(&quoted, &route) {
        Ok(mut node) => {
            node.map_spans(&place_of);
            if host.place.route.is_none() {
                node.remove_routes();
            }
            forget_holes(&mut node);
            Ok(node)
        }
        Err(error) => {
            let span = marked(&quoted, error.span);
            let reason = format!("{}{}", error.reason, position(text, without_quotes(span, &added)));
            Err(ParseError::new(place_of(span), reason))
        }
    }
}

/// The bytes of an error. At the end of the text, there is no byte to point at: the last character before counts.
fn marked(text: &str, error: Span) -> Span {
    if error.start < error.end {
        return error;
    }
    let before = text.get(..error.start).unwrap_or(text).trim_end();
    let last = before.chars().next_back().map_or(0, char::len_utf8);
    Span::new(before.len() - last, before.len())
}

/// Where an error is in the text of a string: ` (line 2, column 7 of the text)`. Behind an unknown part, columns are unknown.
fn position(text: &str, error: Span) -> String {
    let Position { line, column } = Position::of(text, error.start);
    let before = text.get(..error.start).unwrap_or(text);
    let has_hole = before.rsplit('\n').next().is_some_and(|line| line.contains(HOLE));
    match (line, has_hole) {
        (1, true) => String::new(),
        (1, false) => format!(" (column {column} of the text)"),
        (_, true) => format!(" (line {line} of the text)"),
        (_, false) => format!(" (line {line}, column {column} of the text)"),
    }
}

/// Quotes unknown parts outside of strings, as in `"port": ${Port}`, so that the rest is valid JSON. Also returns the bytes
/// at which the quotes are.
fn with_quoted_holes(text: &str) -> (Cow<'_, str>, Vec<usize>) {
    if !text.contains(HOLE) {
        return (Cow::Borrowed(text), Vec::new());
    }
    let (mut quoted, mut in_string, mut is_escaped) = (String::with_capacity(text.len() + 16), false, false);
    let mut added = Vec::new();
    for c in text.chars() {
        match c {
            HOLE if !in_string => {
                added.extend([quoted.len(), quoted.len() + 1 + HOLE.len_utf8()]);
                quoted.extend(['"', HOLE, '"']);
            }
            _ => quoted.push(c),
        }
        in_string ^= c == '"' && !is_escaped;
        is_escaped = in_string && c == '\\' && !is_escaped;
    }
    (Cow::Owned(quoted), added)
}

/// The bytes of the text before it got these quotes.
fn without_quotes(span: Span, added: &[usize]) -> Span {
    let before = |byte: usize| byte - added.partition_point(|quote| *quote < byte);
    Span::new(before(span.start), before(span.end))
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
    /// Each part of the string has its place.
    Parts(Span, Arc<TextParts>),
    /// The file does not show where the parts of the string are from.
    Whole(Span),
}

impl Offsets {
    fn of(source: &str, place: &Place, text: &str) -> Self {
        let span = place.span;
        if let Some(parts) = place.parts.as_ref().filter(|parts| parts.length() == text.len()) {
            return Self::Parts(span, Arc::clone(parts));
        }
        let literal = source.get(span.start..span.end).unwrap_or_default();
        let parts = || TextParts::of_scalar(source, span, text).map(|parts| Self::Parts(span, Arc::new(parts)));
        match literal.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
            Some(inner) => Self::exact(inner, span.start + 1, text),
            None => parts(),
        }
        .unwrap_or(Self::Whole(span))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse_json;

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
        assert_eq!(steps, [PathStep::Key("c".to_owned()), PathStep::Embedded, PathStep::Key("port".to_owned())]);
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
    fn values_around_an_unknown_part_have_places() {
        // Given `{"port": ${Port}, "name": "x"}` at 100 in a file.
        let mut builder = crate::TextBuilder::default();
        builder.push_verbatim("{\"port\": ", 100);
        builder.push(&HOLE.to_string(), Span::new(109, 116));
        builder.push_verbatim(", \"name\": \"x\"}", 116);
        let (text, parts) = builder.finish();
        let place = Place { parts: parts.map(Arc::new), ..Place::fixed(Span::new(90, 140)) };
        let node = embedded_json("", &Node { value: Value::Text(text), place }).unwrap();
        let entry = |index: usize| &node.entries()[index];
        assert_eq!((entry(0).key_span, entry(0).node.place.span), (Span::new(101, 107), Span::new(109, 116)));
        assert_eq!((entry(1).key_span, entry(1).node.place.span), (Span::new(118, 124), Span::new(126, 129)));
    }

    #[test]
    fn errors_point_into_the_file() {
        let source = r#"{"c": "{\"a\": nonsense}"}"#;
        let error = inner(source).unwrap_err();
        assert!(source.get(error.span.start..).unwrap().starts_with("nonsense"), "{error:?}");
        assert!(error.reason.ends_with(" (column 7 of the text)"), "{error:?}");
        assert!(inner(r#"{"c": 7}"#).unwrap_err().reason.contains("a number where"));
    }
}
