//! Values of expressions: what they are, and where they are from.

use crate::document::{Entry, HOLE, Node, Place, Span, Value};

/// The key that stands for entries of a map that are not known.
pub(super) const OPEN_KEY: &str = "\u{FDD0}";

/// A value without a route for edits.
pub(super) fn node(value: Value, span: Span) -> Node {
    Node { value, place: Place::fixed(span) }
}

pub(super) fn unknown(span: Span) -> Node {
    node(Value::Unknown, span)
}

pub(super) fn text(text: impl Into<String>, span: Span) -> Node {
    node(Value::Text(text.into()), span)
}

pub(super) fn entry(key: impl Into<String>, node: Node) -> Entry {
    Entry { key: key.into(), key_span: node.place.span, node }
}

/// A map at `span`.
pub(super) fn map(entries: Vec<Entry>, span: Span) -> Node {
    node(Value::Map(entries), span)
}

/// A list at `span`.
pub(super) fn list(items: Vec<Node>, span: Span) -> Node {
    node(Value::List(items), span)
}

/// What a copy of the value costs: it grows with its size.
pub(super) fn cost(value: &Node) -> usize {
    let own = match &value.value {
        Value::Text(text) => 1 + text.len() / 32,
        _ => 1,
    };
    own + value.children().into_iter().map(cost).sum::<usize>()
}

/// Whether a map may have entries that are not known.
pub(super) fn is_open(value: &Node) -> bool {
    value.entries().iter().any(|entry| entry.key == OPEN_KEY)
}

/// Whether a single value, or a part of a string, is not known.
pub(super) fn is_uncertain(value: &Node) -> bool {
    match &value.value {
        Value::Unknown => true,
        Value::Text(text) => text.contains(HOLE),
        _ => false,
    }
}

/// Whether a part of the value is not known.
pub(super) fn is_unknown_somewhere(value: &Node) -> bool {
    is_uncertain(value) || is_open(value) || value.children().into_iter().any(is_unknown_somewhere)
}

/// The value with unknown instead of maps that may have unknown entries: no rule may take a key for absent.
pub(super) fn closed(mut value: Node) -> Node {
    close(&mut value);
    value
}

fn close(value: &mut Node) {
    if is_open(value) {
        value.value = Value::Unknown;
    }
    value.children_mut().into_iter().for_each(close);
}

/// A string, number or boolean as a string: Terraform converts them. `None` for other values.
pub(super) fn as_text(value: &Node) -> Option<String> {
    match &value.value {
        Value::Text(text) | Value::Number(text) => Some(text.clone()),
        Value::Bool(value) => Some(value.to_string()),
        Value::Unknown => Some(HOLE.to_string()),
        Value::Null | Value::List(_) | Value::Map(_) => None,
    }
}

/// A number, or a string that is one.
pub(super) fn as_number(value: &Node) -> Option<f64> {
    match &value.value {
        Value::Number(text) | Value::Text(text) => text.parse().ok().filter(|number: &f64| number.is_finite()),
        _ => None,
    }
}

/// A boolean, or a string that is one.
pub(super) fn as_bool(value: &Node) -> Option<bool> {
    match &value.value {
        Value::Bool(value) => Some(*value),
        Value::Text(text) => text.parse().ok(),
        _ => None,
    }
}

/// A number in a source. Terraform spells `1.0` as `1` where it is a part of a string.
pub(super) fn literal(value: &hcl_edit::Number) -> Value {
    match value.as_f64().filter(|_| value.is_f64()) {
        Some(float) => number(float),
        None => Value::Number(value.to_string()),
    }
}

/// A number as Terraform spells it.
pub(super) fn number(value: f64) -> Value {
    Value::Number(value.to_string())
}

/// How deep lists and maps are nested.
pub(super) fn depth(value: &Node) -> usize {
    match &value.value {
        Value::List(_) | Value::Map(_) => 1 + value.children().into_iter().map(depth).max().unwrap_or_default(),
        _ => 0,
    }
}
