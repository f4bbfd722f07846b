//! Values of expressions: what they are, and what is in them.

use std::collections::BTreeSet;

use document::{Entry, HOLE, Node, Place, Span, Value};

/// The key that stands for entries of a map that are not known.
pub(crate) const OPEN_KEY: &str = "\u{FDD0}";

/// A value without a route for edits.
pub fn node(value: Value, span: Span) -> Node {
    Node { value, place: Place::fixed(span) }
}

/// A value that is not known.
pub fn unknown(span: Span) -> Node {
    node(Value::Unknown, span)
}

/// A string at `span`.
pub fn text(text: impl Into<String>, span: Span) -> Node {
    node(Value::Text(text.into()), span)
}

/// An entry whose key has the place of its value.
pub fn entry(key: impl Into<String>, node: Node) -> Entry {
    Entry::new(key, node.place.span, node)
}

/// A map at `span`.
pub fn map(entries: Vec<Entry>, span: Span) -> Node {
    node(Value::Map(entries), span)
}

/// A list at `span`.
pub(crate) fn list(items: Vec<Node>, span: Span) -> Node {
    node(Value::List(items), span)
}

/// What a copy of the value costs: it grows with its size.
pub(crate) fn cost(value: &Node) -> usize {
    let own = match &value.value {
        Value::Text(text) => 1 + text.len() / 32,
        _ => 1,
    };
    own + value.children().into_iter().map(cost).sum::<usize>()
}

/// Whether a map may have entries that are not known.
pub(crate) fn is_open(value: &Node) -> bool {
    value.entries().iter().any(|entry| entry.key == OPEN_KEY)
}

/// Whether a single value, or a part of a string, is not known.
pub(crate) fn is_uncertain(value: &Node) -> bool {
    match &value.value {
        Value::Unknown => true,
        Value::Text(text) => text.contains(HOLE),
        _ => false,
    }
}

/// Whether a part of the value is not known.
pub(crate) fn is_unknown_somewhere(value: &Node) -> bool {
    is_uncertain(value) || is_open(value) || value.children().into_iter().any(is_unknown_somewhere)
}

/// The value with unknown instead of maps that may have unknown entries: no rule may take a key for absent.
pub fn closed(mut value: Node) -> Node {
    close(&mut value);
    value
}

fn close(value: &mut Node) {
    if is_open(value) {
        value.value = Value::Unknown;
    }
    value.children_mut().into_iter().for_each(close);
}

/// A number, or a string that is one.
pub(crate) fn as_number(value: &Node) -> Option<f64> {
    match &value.value {
        Value::Number(text) | Value::Text(text) => text.parse().ok().filter(|number: &f64| number.is_finite()),
        _ => None,
    }
}

/// A boolean, or a string that is one.
pub(crate) fn as_bool(value: &Node) -> Option<bool> {
    match &value.value {
        Value::Bool(value) => Some(*value),
        Value::Text(text) => text.parse().ok(),
        _ => None,
    }
}

/// A scalar as a `string`, `number` or `bool`. `None` for a value that Terraform refuses to convert, and for other types.
pub(crate) fn as_type(value: &Node, kind: &str) -> Option<Value> {
    match kind {
        "string" => value.as_text().map(Value::Text),
        "number" | "bool" if is_uncertain(value) => Some(Value::Unknown),
        "number" => as_number(value).map(number),
        "bool" => as_bool(value).map(Value::Bool),
        _ => None,
    }
}

/// A number in a source. Terraform spells `1.0` as `1` where it is a part of a string.
pub(crate) fn literal(value: &hcl_edit::Number) -> Value {
    match value.as_f64().filter(|_| value.is_f64()) {
        Some(float) => number(float),
        None => Value::Number(value.to_string()),
    }
}

/// A number as Terraform spells it.
pub(crate) fn number(value: f64) -> Value {
    Value::Number(value.to_string())
}

/// How deep lists and maps are nested.
pub(crate) fn depth(value: &Node) -> usize {
    match &value.value {
        Value::List(_) | Value::Map(_) => 1 + value.children().into_iter().map(depth).max().unwrap_or_default(),
        _ => 0,
    }
}

/// The value of a key, or the item at an index.
pub(crate) fn indexed(value: &Node, key: &Node, span: Span) -> Option<Node> {
    match (&value.value, &key.value) {
        (_, Value::Unknown) | (Value::Unknown, _) => Some(unknown(span)),
        (Value::Map(_), _) => member(value, &key.as_text()?, span),
        (Value::List(_), _) => {
            let index = as_number(key).filter(|index| index.fract() == 0.0 && (0.0..1e9).contains(index))?;
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a whole number below 1e9")]
            item(value, index as usize, span)
        }
        _ => None,
    }
}

/// The value of a key; unknown if it may be among entries that are not known.
pub(crate) fn member(value: &Node, key: &str, span: Span) -> Option<Node> {
    if key.contains(HOLE) {
        return Some(unknown(span));
    }
    match &value.value {
        Value::Map(entries) => match entries.iter().find(|entry| entry.key == key) {
            Some(entry) => Some(entry.node.clone()),
            None if is_open(value) => Some(unknown(span)),
            None => None,
        },
        Value::Unknown => Some(unknown(span)),
        _ => None,
    }
}

/// The item at an index; unknown if the list may have other items before it.
pub(crate) fn item(value: &Node, index: usize, span: Span) -> Option<Node> {
    let items = value.items();
    let before = items.get(..index).unwrap_or(items);
    if before.iter().any(Node::is_unknown) {
        return Some(unknown(span));
    }
    items.get(index).cloned()
}

/// Later maps take precedence. After a map that is not known, values of earlier maps are not known either.
pub(crate) fn merged(maps: &[Node], span: Span) -> Option<Node> {
    let last_open = maps.iter().rposition(|map| map.is_unknown() || is_open(map)).unwrap_or_default();
    let mut entries: Vec<Entry> = Vec::new();
    for (index, value) in maps.iter().enumerate() {
        match &value.value {
            Value::Null => {}
            Value::Map(own) => {
                let first = entries.len();
                entries.extend(own.iter().cloned());
                if index < last_open {
                    entries.iter_mut().skip(first).for_each(|entry| entry.node.value = Value::Unknown);
                }
            }
            Value::Unknown => entries.push(entry(OPEN_KEY, unknown(value.place.span))),
            _ => return None,
        }
    }
    Some(map(last_of_each_key(entries), span))
}

/// The entries without those that a later one with the same key replaces.
pub(crate) fn last_of_each_key(mut entries: Vec<Entry>) -> Vec<Entry> {
    let mut keys = BTreeSet::new();
    let mut is_last: Vec<bool> = entries.iter().rev().map(|entry| keys.insert(entry.key.clone())).collect();
    entries.retain(|_| is_last.pop().unwrap_or_default());
    entries
}

/// The entries in the order of their keys, in which Terraform reads maps.
pub(crate) fn sorted(value: &Node) -> Vec<&Entry> {
    let mut entries: Vec<&Entry> = value.entries().iter().collect();
    entries.sort_by(|a, b| a.key.cmp(&b.key));
    entries
}

/// What evaluation comes to, if that is not a value of its own.
pub(crate) enum Outcome<T> {
    /// Terraform would refuse it.
    Refused,
    /// Only a plan or the state knows it.
    Unknown,
    Value(T),
}

impl<T> Outcome<T> {
    /// The value, if it is known.
    pub(crate) fn known(self) -> Option<T> {
        match self {
            Self::Value(value) => Some(value),
            Self::Refused | Self::Unknown => None,
        }
    }
}

/// The keys and values of a collection.
pub(crate) fn pairs(collection: &Node) -> Outcome<Vec<(Node, Node)>> {
    let span = collection.place.span;
    match &collection.value {
        Value::Unknown => Outcome::Unknown,
        Value::List(items) => {
            #[expect(clippy::cast_precision_loss, reason = "lists are shorter than 2^52")]
            let key = |index: usize| node(number(index as f64), span);
            Outcome::Value(items.iter().enumerate().map(|(index, item)| (key(index), item.clone())).collect())
        }
        Value::Map(_) if is_open(collection) => Outcome::Unknown,
        Value::Map(_) => {
            let pair = |entry: &Entry| (text(&*entry.key, entry.key_span), entry.node.clone());
            Outcome::Value(sorted(collection).into_iter().map(pair).collect())
        }
        _ => Outcome::Refused,
    }
}
