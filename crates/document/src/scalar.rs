//! How a scalar of JSON or YAML spells its string: the place of each part.

use crate::{
    span::Span,
    text_parts::{TextBuilder, TextParts},
};

/// What may be between two lines of a scalar.
const BLANKS: [char; 4] = [' ', '\t', '\r', '\n'];

impl TextParts {
    /// The places of the parts of `text`, the string that the bytes `span` of `source` spell; `None` if they are not certain.
    pub fn of_scalar(source: &str, span: Span, text: &str) -> Option<Self> {
        let literal = without_properties(source.get(span.start..span.end)?);
        let start = span.end - literal.len();
        let mut out = TextBuilder::default();
        if let Some(inner) = literal.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
            write_escaped(&mut out, inner, start + 1, text)?;
        } else if let Some(inner) = literal.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\'')) {
            write_lines(&mut out, inner, start + 1, text, true)?;
        } else {
            // Of a string in block style, the first line has only its `|` or `>`.
            let header = if literal.starts_with(['|', '>']) { literal.find('\n')? } else { 0 };
            write_lines(&mut out, literal.get(header..)?, start + header, text, false)?;
        }
        out.finish().1
    }
}

/// A scalar without its tag and anchor: `!Sub`, `&name`.
fn without_properties(mut literal: &str) -> &str {
    while literal.starts_with(['!', '&']) {
        let end = literal.find(BLANKS).unwrap_or(literal.len());
        literal = literal.get(end..).unwrap_or_default().trim_start_matches(BLANKS);
    }
    literal
}

/// Writes a string in JSON's notation, whose literal begins at `start`. Each escape is a part of its own.
fn write_escaped(out: &mut TextBuilder, literal: &str, start: usize, text: &str) -> Option<()> {
    let (mut left, mut wanted) = (literal, text);
    while let Some(next) = wanted.chars().next() {
        let at = start + literal.len() - left.len();
        let same = left.bytes().zip(wanted.bytes()).take_while(|(own, other)| own == other && *own != b'\\').count();
        let same = wanted.floor_char_boundary(same);
        let length = if same == 0 { next.len_utf8() } else { same };
        let part = wanted.get(..length)?;
        if same == 0 {
            let after = after_one_character(left, next)?;
            out.push(part, Span::new(at, at + left.len() - after.len()));
            left = after;
        } else {
            out.push_verbatim(part, at);
            left = left.get(length..)?;
        }
        wanted = wanted.get(length..)?;
    }
    left.is_empty().then_some(())
}

/// Writes a string whose lines YAML may have joined, and whose literal begins at `start`.
fn write_lines(out: &mut TextBuilder, literal: &str, start: usize, text: &str, is_quoted: bool) -> Option<()> {
    let (mut wanted, mut at) = (text, start);
    for line in literal.split_inclusive('\n') {
        let content = line.trim_matches(BLANKS);
        let rest = wanted.trim_start_matches(BLANKS);
        out.push_unplaced(wanted.get(..wanted.len() - rest.len())?);
        wanted = rest;
        let mut from = at + line.len() - line.trim_start_matches(BLANKS).len();
        // Two quotes are one.
        let pieces: Vec<&str> = if is_quoted { content.split("''").collect() } else { vec![content] };
        for (index, piece) in pieces.into_iter().enumerate() {
            if index > 0 {
                wanted = wanted.strip_prefix('\'')?;
                out.push("'", Span::new(from, from + 2));
                from += 2;
            }
            wanted = wanted.strip_prefix(piece)?;
            out.push_verbatim(piece, from);
            from += piece.len();
        }
        at += line.len();
    }
    out.push_unplaced(wanted);
    wanted.trim_matches(BLANKS).is_empty().then_some(())
}

/// The rest of a JSON string literal after the spelling of `wanted`.
pub(crate) fn after_one_character(literal: &str, wanted: char) -> Option<&str> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Value, parse_json, parse_yaml, place::Route};

    /// What the file has for a part of the string at `a`.
    fn spelled<'s>(source: &'s str, part: &str) -> Option<&'s str> {
        let tree = parse_yaml(source).or_else(|_| parse_json(source, &Route::default())).unwrap();
        let node = tree.get("a").unwrap();
        let node = node.entries().first().map_or(node, |function| &function.node);
        let Value::Text(text) = &node.value else { panic!("{node:?}") };
        let at = text.find(part).unwrap();
        let span = TextParts::of_scalar(source, node.place.span, text)?.span(Span::new(at, at + part.len()))?;
        source.get(span.start..span.end)
    }

    #[test]
    fn each_part_of_a_string_has_its_place_in_every_style() {
        for (source, part, expected) in [
            ("a: |\n  {\n    \"b\": 1,\n\n    \"c\": 2\n  }\nd: 1\n", "\"c\"", "\"c\""),
            ("a: !Sub |- # why\r\n  {\r\n    \"b\": [\r\n  1]}\r\n", "[\n1]", "[\r\n  1]"),
            ("a: >-\n  {\"b\":\n  1,\n  \"é\": 2}\n", "\"é\"", "\"é\""),
            ("a: >\n  {\n    \"b\": 1\n  }\n", "\"b\"", "\"b\""),
            ("a: '{\"b\": \"it''s\", \"c\": 1}'\n", "\"c\"", "\"c\""),
            ("a: '{\"b\": \"it''s\"}'\n", "\"it's\"", "\"it''s\""),
            ("a: !Sub '{\n  \"b\": 1}'\n", "\"b\"", "\"b\""),
            ("a: !Sub \"{\\\"b\\\": 1}\"\n", "\"b\"", "\\\"b\\\""),
            ("a: plain\n  words\n", "words", "words"),
            ("{\"a\": \"\\u00e9\\ud83d\\ude00b\"}", "😀b", "\\ud83d\\ude00b"),
        ] {
            assert_eq!(spelled(source, part), Some(expected), "{source}");
        }
    }

    #[test]
    fn an_uncertain_place_is_none() {
        // The file does not spell this string there.
        assert!(TextParts::of_scalar("a: |\n  b\n  c\n", Span::new(3, 13), "b\nd\n").is_none());
        assert!(TextParts::of_scalar("a: \"\\x41b\"\n", Span::new(3, 10), "Ab").is_none());
        assert!(TextParts::of_scalar("", Span::new(0, 0), "b").is_none());
    }
}
