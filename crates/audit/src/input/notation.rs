//! Whether a text is JSON or YAML.

use std::borrow::Cow;

use crate::{
    document::{Node, ParseError, Place, Route, Value, parse_json, parse_yaml},
    source::SourceFile,
};

const BYTE_ORDER_MARK: char = '\u{FEFF}';

/// How a file is written. Edits depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notation {
    /// JSON, maybe with comments.
    Json,
    /// YAML.
    Yaml,
}

/// Reads a text by what it is: JSON, if it looks like it and is, or else YAML. Only a name that ends in `.json` counts.
///
/// # Errors
/// It is neither, a key stands twice in one map, or it is nested too deeply.
pub fn parse(file: &SourceFile) -> Result<(Notation, Node), ParseError> {
    let is_json_by_name = file.name.to_ascii_lowercase().ends_with(".json");
    if !is_json_by_name && !after_comments(&file.text).starts_with(['{', '[']) {
        return yaml(&file.text).map(|node| (Notation::Yaml, node));
    }
    match parse_json(&without_mark(&file.text, "   "), &Route::default()) {
        Ok(node) => Ok((Notation::Json, node)),
        Err(error) if is_json_by_name => Err(error),
        // Maps and lists of YAML in flow style look like JSON. If it is not that either, it is meant as JSON.
        Err(error) => yaml(&file.text).map(|node| (Notation::Yaml, node)).map_err(|_| error),
    }
}

/// What follows blanks and comments of JSON.
fn after_comments(text: &str) -> &str {
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == BYTE_ORDER_MARK);
        let end = match rest.get(..2) {
            Some("//") => rest.find('\n'),
            Some("/*") => rest.find("*/").map(|at| at + 2),
            _ => return rest,
        };
        rest = end.and_then(|end| rest.get(end..)).unwrap_or_default();
    }
}

fn yaml(text: &str) -> Result<Node, ParseError> {
    let is_blank = |line: &str| {
        let line = line.trim_matches(|c: char| c.is_whitespace() || c == BYTE_ORDER_MARK);
        line.is_empty() || line.starts_with('#') || line == "---"
    };
    if !text.trim().is_empty() && text.lines().all(is_blank) {
        return Ok(Node { value: Value::Null, place: Place::default() });
    }
    parse_yaml(&without_mark(text, "##\n"))
}

/// The text with other bytes in place of a byte order mark, as many as it has, so that all places stay what they are.
fn without_mark<'t>(text: &'t str, instead: &str) -> Cow<'t, str> {
    match text.strip_prefix(BYTE_ORDER_MARK) {
        Some(rest) => Cow::Owned(format!("{instead}{rest}")),
        None => Cow::Borrowed(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notation(name: &str, text: &str) -> Result<Notation, ParseError> {
        parse(&SourceFile::new(name, text)).map(|(notation, _)| notation)
    }

    fn reason(name: &str, text: &str) -> String {
        notation(name, text).unwrap_err().reason
    }

    #[test]
    fn the_content_decides_and_not_the_name() {
        assert_eq!(notation("a.template", "\n {\"a\": 1}"), Ok(Notation::Json));
        assert_eq!(notation("a.yaml", "{\"a\": 1} // why"), Ok(Notation::Json));
        assert_eq!(notation("<stdin>", "// who\n/* why */ {\"a\": 1}"), Ok(Notation::Json));
        assert_eq!(notation("a.yaml", "{a: 1, }"), Ok(Notation::Yaml));
        assert_eq!(notation("a.template", "a: 1"), Ok(Notation::Yaml));
        assert_eq!(notation("a.yaml", "# nothing yet\n"), Ok(Notation::Yaml));
        assert!(reason("a.json", "a: 1").starts_with("not JSON"));
        assert!(reason("<stdin>", "{\"a\": ").starts_with("not JSON"));
        assert!(reason("a.yaml", "a: [").starts_with("not YAML"));
    }

    #[test]
    fn a_byte_order_mark_changes_no_place() {
        for (text, name) in [("\u{FEFF}{\"a\": 7}", "a.json"), ("\u{FEFF}a: 7\nb: 8\n", "a.yaml")] {
            let (_, node) = parse(&SourceFile::new(name, text)).unwrap();
            let span = node.get("a").unwrap().place.span;
            assert_eq!(text.get(span.start..span.end), Some("7"));
        }
    }
}
