//! Whether a text is JSON or YAML.

use crate::{
    byte_order_mark::{BYTE_ORDER_MARK, without_mark},
    error::ParseError,
    hcl,
    json::parse_json,
    node::{Node, Value},
    place::{PathStep, Place, Route},
    source::SourceFile,
    span::Span,
    yaml::{parse_yaml, parse_yaml_document, yaml_documents},
};

/// The notation of a file. It determines how edits are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notation {
    /// JSON, possibly with comments.
    Json,
    Yaml,
}

/// Reads a text as JSON if it looks like JSON and is valid, and otherwise as YAML. The name matters only if it ends in
/// `.json`: then the text must be JSON.
///
/// # Errors
/// It is neither, or it is nested too deeply.
pub fn parse(file: &SourceFile) -> Result<(Notation, Node), ParseError> {
    let is_json_by_name = is_json_by_name(file);
    if !is_json_by_name && !looks_like_json(&file.text) {
        return yaml(&file.text).map(|node| (Notation::Yaml, node));
    }
    match parse_json(&without_mark(&file.text, "   "), &Route::default()) {
        Ok(node) => Ok((Notation::Json, node)),
        Err(error) if is_json_by_name => Err(error),
        // YAML in flow style looks like JSON. If it is neither, JSON's error is reported.
        Err(error) => yaml(&file.text).map(|node| (Notation::Yaml, node)).map_err(|_| error),
    }
}

/// The documents of a YAML text with several; `None` if the text is one document.
pub fn documents(file: &SourceFile) -> Option<Vec<Span>> {
    if !file.text.contains("\n---") && !file.text.contains("\n...") {
        return None;
    }
    let documents = Some(yaml_documents(&file.text)).filter(|documents| documents.len() > 1)?;
    let is_json = is_json_by_name(file)
        || looks_like_json(&file.text) && parse_json(&without_mark(&file.text, "   "), &Route::default()).is_ok();
    (!is_json).then_some(documents)
}

/// The trees of a file: its documents, or the literals of a Terraform source.
///
/// # Errors
/// As [`parse_all`], or a source is not in Terraform's native syntax.
pub fn trees(file: &SourceFile) -> Result<Vec<Node>, ParseError> {
    if hcl::is_hcl(file) {
        return hcl::literals(&file.text).map(|tree| vec![tree]);
    }
    parse_all(file).map(|(_, trees)| trees)
}

/// All documents of a text: several only in YAML.
///
/// # Errors
/// As [`parse`], for any of them.
pub fn parse_all(file: &SourceFile) -> Result<(Notation, Vec<Node>), ParseError> {
    let Some(spans) = documents(file) else { return parse(file).map(|(notation, node)| (notation, vec![node])) };
    let nodes = spans.into_iter().enumerate().map(|(index, span)| parse_one(file, span, index));
    Ok((Notation::Yaml, nodes.collect::<Result<_, _>>()?))
}

/// Reads one of several documents.
pub fn parse_one(file: &SourceFile, document: Span, index: usize) -> Result<Node, ParseError> {
    parse_yaml_document(&without_mark(&file.text, "##\n"), document, &Route::default().then(PathStep::Document(index)))
}

fn is_json_by_name(file: &SourceFile) -> bool {
    file.name.to_ascii_lowercase().ends_with(".json")
}

fn looks_like_json(text: &str) -> bool {
    after_comments(text).starts_with(['{', '['])
}

/// The text after blanks and JSON comments.
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
    fn the_content_determines_the_notation() {
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
    fn a_byte_order_mark_moves_no_places() {
        for (text, name) in [("\u{FEFF}{\"a\": 7}", "a.json"), ("\u{FEFF}a: 7\nb: 8\n", "a.yaml")] {
            let (_, node) = parse(&SourceFile::new(name, text)).unwrap();
            let span = node.get("a").unwrap().place.span;
            assert_eq!(text.get(span.start..span.end), Some("7"));
        }
    }
}
