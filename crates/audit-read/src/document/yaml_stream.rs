//! The documents of a YAML text. Source: <https://yaml.org/spec/1.2.2/#chapter-9-document-stream-productions>

use super::{Node, ParseError, Route, Span, Value, yaml::parse_document};

/// The bytes of each document. A line that begins with `---` begins a document, and one with `...` ends it, wherever
/// they are: YAML permits neither inside of a value. Comments and blank lines between documents belong to one of them.
pub fn yaml_documents(text: &str) -> Vec<Span> {
    let mut documents = Vec::new();
    let (mut start, mut at, mut has_content) = (0, 0, false);
    for line in text.split_inclusive('\n') {
        if has_content && is_marker(line, "---") {
            documents.push(Span::new(start, at));
            (start, has_content) = (at, false);
        }
        at += line.len();
        if has_content && is_marker(line, "...") {
            documents.push(Span::new(start, at));
            (start, has_content) = (at, false);
        } else {
            has_content |= !is_beside_the_content(line);
        }
    }
    match documents.last_mut().filter(|_| !has_content) {
        Some(last) => last.end = at,
        None => documents.push(Span::new(start, at)),
    }
    documents
}

/// Reads one of the documents of a text. `route` leads to it.
///
/// # Errors
/// As for [`super::parse_yaml`].
pub fn parse_yaml_document(text: &str, document: Span, route: &Route) -> Result<Node, ParseError> {
    let part = text.get(document.start..document.end).unwrap_or_default();
    match parse_document(part, route) {
        Ok(mut node) => {
            shift(&mut node, document.start);
            Ok(node)
        }
        Err(error) => Err(ParseError::new(shifted(error.span, document.start), error.reason)),
    }
}

fn is_marker(line: &str, marker: &str) -> bool {
    line.strip_prefix(marker).is_some_and(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace))
}

fn is_beside_the_content(line: &str) -> bool {
    let line = line.trim_start_matches('\u{FEFF}');
    let is_blank = line.trim().is_empty() || line.trim_start().starts_with('#') || line.starts_with('%');
    is_blank || line.trim_end() == "---"
}

fn shift(node: &mut Node, by: usize) {
    node.place.span = shifted(node.place.span, by);
    match &mut node.value {
        Value::List(items) => items.iter_mut().for_each(|item| shift(item, by)),
        Value::Map(entries) => {
            for entry in entries {
                entry.key_span = shifted(entry.key_span, by);
                shift(&mut entry.node, by);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) | Value::Unknown => {}
    }
}

fn shifted(span: Span, by: usize) -> Span {
    Span::new(span.start + by, span.end + by)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Step;

    fn texts(text: &str) -> Vec<&str> {
        yaml_documents(text).into_iter().map(|span| text.get(span.start..span.end).unwrap()).collect()
    }

    #[test]
    fn documents_begin_and_end_at_their_markers() {
        for (text, expected) in [
            ("a: 1\n", vec!["a: 1\n"]),
            ("# why\n---\na: 1\n", vec!["# why\n---\na: 1\n"]),
            ("a: 1\n---\nb: 2", vec!["a: 1\n", "---\nb: 2"]),
            ("---\na: 1\n--- # two\nb: 2\n---\n# nothing\n", vec!["---\na: 1\n", "--- # two\nb: 2\n---\n# nothing\n"]),
            ("a: 1\n...\n%YAML 1.2\n---\nb: 2\n", vec!["a: 1\n...\n", "%YAML 1.2\n---\nb: 2\n"]),
            ("a: |\n  ---\n  x\nb: '----'\n---x: 1\n", vec!["a: |\n  ---\n  x\nb: '----'\n---x: 1\n"]),
            ("a: 1\r\n---\r\nb: 2\r\n", vec!["a: 1\r\n", "---\r\nb: 2\r\n"]),
            ("", vec![""]),
        ] {
            assert_eq!(texts(text), expected, "{text:?}");
        }
    }

    #[test]
    fn places_are_those_of_the_text() {
        let text = "é: 1\n---\na:\n  b: 'ü'\n";
        let route = Route::default().then(Step::Document(1));
        let node = parse_yaml_document(text, yaml_documents(text)[1], &route).unwrap();
        let place = &node.get("a").unwrap().get("b").unwrap().place;
        assert_eq!(text.get(place.span.start..place.span.end), Some("'ü'"));
        let keys = ["a", "b"].map(|key| Step::Key(key.to_owned()));
        assert_eq!(place.route.as_ref().unwrap().steps(), [&[Step::Document(1)], &keys[..]].concat());
        let broken = "a: 1\n---\nb: [\n";
        let error = parse_yaml_document(broken, yaml_documents(broken)[1], &route).unwrap_err();
        assert!(error.span.start >= "a: 1\n---\n".len(), "{error:?}");
    }
}
