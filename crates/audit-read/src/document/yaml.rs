//! YAML, with the place of every value. CloudFormation's short forms (`!Ref x`) become their long ones (`Ref: x`).

use std::collections::{BTreeMap, BTreeSet};

use saphyr_parser::{Event, Parser, ScalarStyle, Span as Mark, Tag};

use super::{Entry, MAX_DEPTH, Node, ParseError, Place, Route, Span, Step, Value, yaml_scalar::scalar};

/// The most values that aliases may expand to: enough for any template, and a limit for malicious files.
const MAX_NODES: usize = 300_000;

/// Reads a YAML text that is one document.
///
/// # Errors
/// It is not YAML or several documents, a map has two equal keys or one that is not a scalar, it is nested too deeply,
/// or its aliases expand to too many values.
pub fn parse_yaml(text: &str) -> Result<Node, ParseError> {
    parse_document(text, &Route::default())
}

/// The same. `route` leads to the document.
pub(super) fn parse_document(text: &str, route: &Route) -> Result<Node, ParseError> {
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
                let is_block = matches!(style, ScalarStyle::Literal | ScalarStyle::Folded);
                let start = if is_block { self.with_header(start) } else { start };
                let is_core = tag.as_ref().is_some_and(|tag| tag.is_yaml_core_schema() && tag.suffix == "str");
                let value = scalar(text.into_owned(), style, is_core || tag.as_deref().is_some_and(is_function));
                (value, start, anchor, tag)
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
            self.anchors.insert(anchor, node.clone());
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
            items.push(self.node(event, mark, route.then(Step::Index(index)), depth + 1)?);
        }
    }

    fn entries(&mut self, route: &Route, depth: usize) -> Result<(Vec<Entry>, usize), ParseError> {
        let mut entries: Vec<Entry> = Vec::new();
        let mut seen = BTreeSet::new();
        loop {
            let (event, mark) = self.next()?;
            let key_span = self.span(mark);
            let key = match event {
                Event::MappingEnd => {
                    let end = entries.last().map_or(0, |entry| entry.node.place.span.end.max(entry.key_span.end));
                    return Ok((merged(entries), end.max(self.bracket(mark, '}'))));
                }
                Event::Scalar(key, ..) => key.into_owned(),
                _ => return Err(ParseError::new(key_span, "a key that is not a plain value")),
            };
            if !seen.insert(key.clone()) {
                return Err(ParseError::new(key_span, format!("the key {key:?} is twice in one map")));
            }
            let (event, mark) = self.next()?;
            let node = self.node(event, mark, route.then(Step::Key(key.clone())), depth + 1)?;
            entries.push(Entry { key, key_span, node });
        }
    }

    /// An alias becomes a copy whose place is the alias itself. Edits do not reach it: they would change the original.
    fn alias(&mut self, anchor: usize, span: Span) -> Result<Node, ParseError> {
        let Some(original) = self.anchors.get(&anchor) else {
            return Err(ParseError::new(span, "an alias of itself"));
        };
        let mut copy = original.clone();
        self.nodes += pin(&mut copy, span);
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
        Node { value: Value::Map(vec![Entry { key, key_span: place.span, node }]), place }
    }

    /// The start of a list. For a list that is indented as far as its key, the parser reports the start of its first
    /// item.
    fn first_dash(&self, start: usize) -> usize {
        let (before, after) = self.text.split_at_checked(start).unwrap_or((self.text, ""));
        let is_dash = after.starts_with(['[', '-', '!', '&']);
        let above = before.trim_end_matches([' ', '\n', '\r', '\t']);
        above.strip_suffix('-').filter(|_| !is_dash).map_or(start, str::len)
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

/// Merges `<<: *other`: adds the keys that the map does not have. Source: <https://yaml.org/type/merge.html>
fn merged(mut entries: Vec<Entry>) -> Vec<Entry> {
    let Some(index) = entries.iter().position(|entry| entry.key == "<<") else { return entries };
    let others = entries.remove(index).node;
    let others = if others.items().is_empty() { vec![others] } else { others.items().to_vec() };
    let mut known_keys: BTreeSet<String> = entries.iter().map(|entry| entry.key.clone()).collect();
    let added = others.iter().flat_map(Node::entries).filter(|entry| known_keys.insert(entry.key.clone()));
    entries.extend(added.cloned());
    entries
}

/// Gives all values of a copy the place of the alias. Returns their number.
fn pin(node: &mut Node, span: Span) -> usize {
    node.place = Place::fixed(span);
    match &mut node.value {
        Value::List(items) => 1 + items.iter_mut().map(|item| pin(item, span)).sum::<usize>(),
        Value::Map(entries) => {
            let pinned = entries.iter_mut().map(|entry| {
                entry.key_span = span;
                pin(&mut entry.node, span)
            });
            1 + pinned.sum::<usize>()
        }
        _ => 1,
    }
}

/// Whether a tag is CloudFormation's: `!Ref`, `!Sub`, `!GetAtt`…
fn is_function(tag: &Tag) -> bool {
    tag.handle == "!" && !tag.suffix.is_empty()
}

#[cfg(test)]
mod tests;
