//! YAML, with the place of every value. CloudFormation's short forms (`!Ref x`) become their long ones (`Ref: x`).

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use saphyr_parser::{Event, Parser, ScalarStyle, Span as Mark, Tag};

use crate::{
    error::{MAX_DEPTH, ParseError},
    node::{Entry, Node, Value},
    place::{PathStep, Place, Route},
    span::Span,
    text_parts::TextParts,
};

/// The most values that aliases may expand to: enough for any template, and a limit for malicious files.
const MAX_NODES: usize = 300_000;

/// Reads a YAML text that is one document.
///
/// # Errors
/// It is not YAML or several documents, a map has a key that is not a scalar, it is nested too deeply, or its aliases
/// expand to too many values.
pub fn parse_yaml(text: &str) -> Result<Node, ParseError> {
    parse_document(text, &Route::default())
}

/// The same. `route` leads to the document.
fn parse_document(text: &str, route: &Route) -> Result<Node, ParseError> {
    let mut reader = YamlReader::new(text);
    match reader.document(route)? {
        Some(node) => {
            reader.end()?;
            Ok(node)
        }
        None => Err(ParseError::new(Span::default(), "not YAML: the text is empty")),
    }
}

struct YamlReader<'t> {
    text: &'t str,
    parser: Parser<'t, saphyr_parser::StrInput<'t>>,
    /// The parser counts characters, places count bytes. Empty if every character is one byte.
    bytes: Vec<usize>,
    anchors: BTreeMap<usize, Node>,
    nodes: usize,
}

impl<'t> YamlReader<'t> {
    fn new(text: &'t str) -> Self {
        let starts = text.char_indices().map(|(byte, _)| byte);
        let bytes = if text.is_ascii() { Vec::new() } else { starts.collect() };
        Self { text, parser: Parser::new_from_str(text), bytes, anchors: BTreeMap::new(), nodes: 0 }
    }

    fn document(&mut self, route: &Route) -> Result<Option<Node>, ParseError> {
        loop {
            let (event, mark) = self.next()?;
            match event {
                Event::StreamEnd => return Ok(None),
                Event::StreamStart | Event::DocumentStart(_) | Event::DocumentEnd | Event::Nothing => {}
                event => return self.node(event, mark, route.clone(), 0).map(Some),
            }
        }
    }

    /// A text with several documents is refused, because the others would be ignored.
    fn end(&mut self) -> Result<(), ParseError> {
        loop {
            match self.next()? {
                (Event::StreamEnd, _) => return Ok(()),
                (Event::DocumentStart(_), mark) => {
                    let reason = "several YAML documents where one is expected";
                    return Err(ParseError::new(self.span(mark), reason));
                }
                _ => {}
            }
        }
    }

    fn next(&mut self) -> Result<(Event<'t>, Mark), ParseError> {
        match self.parser.next_event() {
            Some(Ok(event)) => Ok(event),
            Some(Err(error)) => {
                let at = self.byte(error.marker().index());
                Err(ParseError::new(Span::new(at, at), format!("not YAML: {}", error.info())))
            }
            None => {
                let end = self.text.len();
                Err(ParseError::new(Span::new(end, end), "not YAML: the text ends too early"))
            }
        }
    }

    fn node(&mut self, event: Event<'t>, mark: Mark, route: Route, depth: usize) -> Result<Node, ParseError> {
        let start = self.span(mark);
        if depth > MAX_DEPTH {
            return Err(ParseError::new(start, format!("nested more than {MAX_DEPTH} levels deep")));
        }
        self.nodes += 1;
        let (value, span, anchor, tag) = match event {
            Event::Alias(anchor) => return self.alias(anchor, start),
            Event::Scalar(text, style, anchor, tag) => {
                let span = self.scalar_span(mark, style);
                let is_core = tag.as_ref().is_some_and(|tag| tag.is_yaml_core_schema() && tag.suffix == "str");
                let value = scalar(text.into_owned(), style, is_core || tag.as_deref().is_some_and(is_function));
                (value, span, anchor, tag)
            }
            Event::SequenceStart(anchor, tag) => {
                let (items, end) = self.items(&route, depth)?;
                (Value::List(items), Span::new(self.first_dash(start.start), end), anchor, tag)
            }
            Event::MappingStart(anchor, tag) => {
                let (entries, end) = self.entries(&route, depth)?;
                (Value::Map(entries), Span::new(start.start, end), anchor, tag)
            }
            _ => return Err(ParseError::new(start, "not YAML: a value is missing")),
        };
        let node = Node { value, place: Place { span, route: Some(route), parts: None } };
        let node = match tag.as_deref().filter(|tag| is_function(tag)) {
            Some(tag) => self.long_form(tag, node),
            None => node,
        };
        if anchor > 0 {
            let mut original = node.clone();
            if let Value::Text(text) = &original.value {
                original.place.parts = TextParts::of_scalar(self.text, span, text).map(Arc::new);
            }
            self.anchors.insert(anchor, original);
        }
        Ok(node)
    }

    fn items(&mut self, route: &Route, depth: usize) -> Result<(Vec<Node>, usize), ParseError> {
        let mut items = Vec::new();
        loop {
            let (event, mark) = self.next()?;
            if matches!(event, Event::SequenceEnd) {
                let end = items.last().map_or(0, |item: &Node| item.place.span.end);
                return Ok((items, end.max(self.bracket(mark, ']'))));
            }
            let index = items.len();
            items.push(self.node(event, mark, route.then(PathStep::Index(index)), depth + 1)?);
        }
    }

    fn entries(&mut self, route: &Route, depth: usize) -> Result<(Vec<Entry>, usize), ParseError> {
        let mut entries: Vec<Entry> = Vec::new();
        loop {
            let (event, mark) = self.next()?;
            let mut key_span = self.span(mark);
            let key = match event {
                Event::MappingEnd => {
                    let end = entries.last().map_or(0, |entry| entry.node.place.span.end.max(entry.key_span.end));
                    return Ok((merged(Entry::last_of_each_key(entries)), end.max(self.bracket(mark, '}'))));
                }
                Event::Scalar(key, style, ..) => {
                    key_span = self.scalar_span(mark, style);
                    key.into_owned()
                }
                _ => return Err(ParseError::new(key_span, "a key that is not a plain value")),
            };
            let (event, mark) = self.next()?;
            let node = self.node(event, mark, route.then(PathStep::Key(key.clone())), depth + 1)?;
            entries.push(Entry::new(key, key_span, node));
        }
    }

    /// An alias becomes a copy whose place is the alias itself. What is in it keeps its place: one mistake is in one place.
    /// Edits reach neither: they would change the original for others.
    fn alias(&mut self, anchor: usize, span: Span) -> Result<Node, ParseError> {
        let Some(original) = self.anchors.get(&anchor) else {
            return Err(ParseError::new(span, "an alias of itself"));
        };
        let mut copy = original.clone();
        copy.remove_routes();
        copy.place.span = span;
        self.nodes += size(&copy);
        if self.nodes > MAX_NODES {
            return Err(ParseError::new(span, format!("aliases expand to more than {MAX_NODES} values")));
        }
        Ok(copy)
    }

    /// `!Sub x` is `Fn::Sub: x`. Source:
    /// <https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/intrinsic-function-reference.html>
    fn long_form(&self, tag: &Tag, node: Node) -> Node {
        let key = match tag.suffix.as_str() {
            name @ ("Ref" | "Condition") => name.to_owned(),
            name => format!("Fn::{name}"),
        };
        let mut place = node.place.clone();
        let before = self.text.get(..place.span.start).unwrap_or_default().trim_end();
        if let Some(without_tag) = before.strip_suffix(&format!("!{}", tag.suffix)) {
            place.span.start = without_tag.len();
        }
        Node { value: Value::Map(vec![Entry::new(key, place.span, node)]), place }
    }

    /// The start of a list. If a list has the indentation of its key, the parser reports the start of its first item.
    fn first_dash(&self, start: usize) -> usize {
        let (before, after) = self.text.split_at_checked(start).unwrap_or((self.text, ""));
        let is_dash = after.starts_with(['[', '-', '!', '&']);
        let above = before.trim_end_matches([' ', '\n', '\r', '\t']);
        above.strip_suffix('-').filter(|_| !is_dash).map_or(start, str::len)
    }

    /// The bytes of a scalar. The parser leaves out the header of one in block style, and adds the blanks and the comment
    /// behind a quoted one.
    fn scalar_span(&self, mark: Mark, style: ScalarStyle) -> Span {
        let span = self.span(mark);
        let quote = match style {
            ScalarStyle::Plain => return span,
            ScalarStyle::Literal | ScalarStyle::Folded => return self.with_header(span),
            ScalarStyle::SingleQuoted => '\'',
            ScalarStyle::DoubleQuoted => '"',
        };
        let text = self.text.get(span.start..span.end).unwrap_or_default();
        let mut characters = text.char_indices().skip_while(|(_, c)| *c != quote).skip(1).peekable();
        while let Some((at, c)) = characters.next() {
            let is_escape = if quote == '"' {
                c == '\\'
            } else {
                c == quote && characters.peek().is_some_and(|(_, next)| *next == quote)
            };
            if is_escape {
                characters.next();
            } else if c == quote {
                return Span::new(span.start, span.start + at + 1);
            }
        }
        span
    }

    /// The bytes of a string in block style: from its `|` or `>`, which the parser leaves out, to its last line.
    fn with_header(&self, content: Span) -> Span {
        let (before, after) = self.text.split_at_checked(content.start).unwrap_or((self.text, ""));
        let above = before.trim_end();
        let line = above.rfind('\n').map_or(0, |newline| newline + 1);
        let is_header = |at: &usize| {
            let (rest, is_apart) = (above.get(*at..).unwrap_or_default(), above.get(..*at).unwrap_or_default());
            let rest =
                rest.get(1..).unwrap_or_default().trim_start_matches(|c: char| c.is_ascii_digit() || "+-".contains(c));
            is_apart.ends_with([' ', '\t', '\n']) && (rest.is_empty() || rest.trim_start().starts_with('#'))
        };
        let start = above.match_indices(['|', '>']).map(|(at, _)| at).filter(|at| *at >= line).find(is_header);
        let length = after.get(..content.end - content.start).unwrap_or(after).trim_end().len();
        Span::new(start.unwrap_or(content.start), content.start + length)
    }

    /// The end of a list or map in flow style: after its closing bracket; 0 if there is none.
    fn bracket(&self, mark: Mark, bracket: char) -> usize {
        let start = self.span(mark).start;
        let is_there = self.text.get(start..).is_some_and(|rest| rest.starts_with(bracket));
        if is_there { start + bracket.len_utf8() } else { 0 }
    }

    fn span(&self, mark: Mark) -> Span {
        Span::new(self.byte(mark.start.index()), self.byte(mark.end.index()))
    }

    fn byte(&self, character: usize) -> usize {
        let byte = if self.bytes.is_empty() { Some(character) } else { self.bytes.get(character).copied() };
        byte.unwrap_or(self.text.len()).min(self.text.len())
    }
}

/// Merges `<<: *other`: adds the keys that the map does not have, with the place of the alias. Source:
/// <https://yaml.org/type/merge.html>
fn merged(mut entries: Vec<Entry>) -> Vec<Entry> {
    let Some(index) = entries.iter().position(|entry| entry.key == "<<") else { return entries };
    let others = entries.remove(index).node;
    let others = if others.items().is_empty() { vec![others] } else { others.items().to_vec() };
    let mut known_keys: BTreeSet<String> = entries.iter().map(|entry| entry.key.clone()).collect();
    let added = others.iter().flat_map(|other| other.entries().iter().map(|entry| (other.place.span, entry)));
    let added = added.filter(|(_, entry)| known_keys.insert(entry.key.clone())).map(|(place, entry)| {
        let mut entry = entry.clone();
        if entry.key_span.start < place.start || place.end < entry.key_span.end {
            entry.key_span = place;
            entry.node.place.span = place;
            entry.replaced = entry.replaced.map(|_| place);
        }
        entry
    });
    entries.extend(added);
    entries
}

/// The number of values in a value.
fn size(node: &Node) -> usize {
    1 + node.children().into_iter().map(size).sum::<usize>()
}

/// Whether a tag is CloudFormation's: `!Ref`, `!Sub`, `!GetAtt`…
fn is_function(tag: &Tag) -> bool {
    tag.handle == "!" && !tag.suffix.is_empty()
}

/// The value of a scalar in YAML's core schema: <https://yaml.org/spec/1.2.2/#103-core-schema>. `true` may also be
/// written `True`.
fn scalar(text: String, style: ScalarStyle, is_string: bool) -> Value {
    if style != ScalarStyle::Plain || is_string {
        return Value::Text(text);
    }
    match text.as_str() {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        number if is_number(number) => Value::Number(text),
        _ => Value::Text(text),
    }
}

fn is_number(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.')) && text.parse::<f64>().is_ok()
}

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
            has_content |= !is_outside_the_content(line);
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
/// As for [`parse_yaml`].
pub fn parse_yaml_document(text: &str, document: Span, route: &Route) -> Result<Node, ParseError> {
    let part = text.get(document.start..document.end).unwrap_or_default();
    match parse_document(part, route) {
        Ok(mut node) => {
            node.map_spans(&|span| shifted(span, document.start));
            Ok(node)
        }
        Err(error) => Err(ParseError::new(shifted(error.span, document.start), error.reason)),
    }
}

fn is_marker(line: &str, marker: &str) -> bool {
    line.strip_prefix(marker).is_some_and(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace))
}

fn is_outside_the_content(line: &str) -> bool {
    let line = line.trim_start_matches('\u{FEFF}');
    let is_blank = line.trim().is_empty() || line.trim_start().starts_with('#') || line.starts_with('%');
    is_blank || line.trim_end() == "---"
}

fn shifted(span: Span, by: usize) -> Span {
    Span::new(span.start + by, span.end + by)
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let route = Route::default().then(PathStep::Document(1));
        let node = parse_yaml_document(text, yaml_documents(text)[1], &route).unwrap();
        let place = &node.get("a").unwrap().get("b").unwrap().place;
        assert_eq!(text.get(place.span.start..place.span.end), Some("'ü'"));
        let keys = ["a", "b"].map(|key| PathStep::Key(key.to_owned()));
        assert_eq!(place.route.as_ref().unwrap().steps(), [&[PathStep::Document(1)], &keys[..]].concat());
        let broken = "a: 1\n---\nb: [\n";
        let error = parse_yaml_document(broken, yaml_documents(broken)[1], &route).unwrap_err();
        assert!(error.span.start >= "a: 1\n---\n".len(), "{error:?}");
    }

    #[test]
    fn every_value_has_its_place_in_bytes() {
        let text = "# é\na:\n  - b: 'x'\n    c: 7\n  - [true, ~]\n";
        let node = parse_yaml(text).unwrap();
        let items = node.get("a").unwrap().items();
        let slice = |node: &Node| text.get(node.place.span.start..node.place.span.end).unwrap();
        assert_eq!(slice(items[0].get("b").unwrap()), "'x'");
        assert_eq!(slice(&items[1]), "[true, ~]");
        assert!(matches!(&items[0].get("c").unwrap().value, Value::Number(n) if n == "7"));
        assert!(matches!(items[1].items()[0].value, Value::Bool(true)));
        assert!(matches!(items[1].items()[1].value, Value::Null));
    }

    #[test]
    fn short_forms_become_long_ones() {
        let node = parse_yaml("a: !Sub '${x}'\nb: !If [c, !Ref d, 8]\nc: !Condition e\n").unwrap();
        let sub = node.get("a").unwrap();
        assert_eq!(sub.get("Fn::Sub").unwrap().text(), Some("${x}"));
        assert_eq!((sub.place.span.start, sub.place.span.end), (3, 14));
        let branches = node.get("b").unwrap().get("Fn::If").unwrap().items();
        assert_eq!(branches[1].get("Ref").unwrap().text(), Some("d"));
        assert_eq!(node.get("c").unwrap().get("Condition").unwrap().text(), Some("e"));
    }

    #[test]
    fn aliases_are_copies_without_a_route() {
        let node = parse_yaml("a: &x {b: 1}\nc: *x\n").unwrap();
        assert!(node.get("c").unwrap().get("b").unwrap().place.route.is_none());
    }

    #[test]
    fn a_merge_adds_only_missing_keys() {
        let node = parse_yaml("a: &x {b: 1, c: 2}\nd:\n  <<: *x\n  c: 3\n").unwrap();
        let keys: Vec<&str> = node.get("d").unwrap().entries().iter().map(|entry| entry.key.as_str()).collect();
        assert_eq!(keys, ["c", "b"]);
        assert!(matches!(&node.get("d").unwrap().get("c").unwrap().value, Value::Number(c) if c == "3"));
    }

    #[test]
    fn invalid_yaml_is_refused() {
        for (text, reason) in [
            ("", "empty"),
            ("a: [1, 2", "not YAML"),
            ("? [a]\n: b\n", "not a plain value"),
            ("a: *nothing\n", "not YAML"),
            ("a: &x [*x]\n", "alias of itself"),
        ] {
            let error = parse_yaml(text).unwrap_err();
            assert!(error.reason.contains(reason), "{text}: {error}");
        }
        assert!(parse_yaml(&"[".repeat(10_000)).is_err());
        let line = |n: usize| format!("a{n}: &a{n} [{}]", vec![format!("*a{}", n - 1); 9].join(", "));
        let bomb: Vec<String> = (1..12).map(line).collect();
        let error = parse_yaml(&format!("a0: &a0 [x, x, x, x, x, x, x, x, x]\n{}", bomb.join("\n"))).unwrap_err();
        assert!(error.reason.contains("aliases"), "{error}");
    }

    #[test]
    fn comments_behind_quotes_are_no_part_of_a_value() {
        let text = "'a''b' : \"c\\\" # d\" # e\nf: 'g' # h\n";
        let node = parse_yaml(text).unwrap();
        let slice = |span: Span| text.get(span.start..span.end).unwrap();
        let found: Vec<_> =
            node.entries().iter().map(|entry| (slice(entry.key_span), slice(entry.node.place.span))).collect();
        assert_eq!(found, [("'a''b'", "\"c\\\" # d\""), ("f", "'g'")]);
    }
}
