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

/// The value without routes for edits: something else may use it as well.
pub(super) fn pinned(mut value: Node) -> Node {
    value.place.route = None;
    match &mut value.value {
        Value::List(items) => items.iter_mut().for_each(|item| *item = pinned(std::mem::replace(item, hollow()))),
        Value::Map(entries) => {
            for entry in entries {
                entry.node = pinned(std::mem::replace(&mut entry.node, hollow()));
            }
        }
        _ => {}
    }
    value
}

fn hollow() -> Node {
    Node { value: Value::Null, place: Place::default() }
}

/// The value with the place where it is used, instead of places in another file.
pub(super) fn placed(value: &Node, span: Span) -> Node {
    let at = match &value.value {
        Value::List(items) => Value::List(items.iter().map(|item| placed(item, span)).collect()),
        Value::Map(entries) => Value::Map(
            entries
                .iter()
                .map(|entry| Entry { key: entry.key.clone(), key_span: span, node: placed(&entry.node, span) })
                .collect(),
        ),
        other => other.clone(),
    };
    node(at, span)
}

/// What a copy of the value costs: it grows with its size.
pub(super) fn cost(value: &Node) -> usize {
    match &value.value {
        Value::List(items) => 1 + items.iter().map(cost).sum::<usize>(),
        Value::Map(entries) => 1 + entries.iter().map(|entry| cost(&entry.node)).sum::<usize>(),
        Value::Text(text) => 1 + text.len() / 32,
        _ => 1,
    }
}

/// Whether a map may have entries that are not known.
pub(super) fn is_open(value: &Node) -> bool {
    value.entries().iter().any(|entry| entry.key == OPEN_KEY)
}

/// Whether a part of the value is not known.
pub(super) fn is_unknown_somewhere(value: &Node) -> bool {
    match &value.value {
        Value::Unknown => true,
        Value::Text(text) => text.contains(HOLE),
        Value::List(items) => items.iter().any(is_unknown_somewhere),
        Value::Map(entries) => is_open(value) || entries.iter().any(|entry| is_unknown_somewhere(&entry.node)),
        _ => false,
    }
}

/// The value with unknown instead of maps that may have unknown entries: no rule may take a key for absent.
pub(super) fn closed(mut value: Node) -> Node {
    if is_open(&value) {
        value.value = Value::Unknown;
    }
    match &mut value.value {
        Value::List(items) => items.iter_mut().for_each(|item| *item = closed(std::mem::replace(item, hollow()))),
        Value::Map(entries) => {
            for entry in entries {
                entry.node = closed(std::mem::replace(&mut entry.node, hollow()));
            }
        }
        _ => {}
    }
    value
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

/// A number as Terraform spells it.
pub(super) fn number(value: f64) -> Value {
    Value::Number(value.to_string())
}

/// Whether two values are equal; `None` if that is not known.
pub(super) fn equal(one: &Node, other: &Node) -> Option<bool> {
    match (&one.value, &other.value) {
        (Value::Unknown, _) | (_, Value::Unknown) => None,
        (Value::Null, Value::Null) => Some(true),
        (Value::Bool(a), Value::Bool(b)) => Some(a == b),
        (Value::Number(_), Value::Number(_)) => Some(as_number(one) == as_number(other)),
        (Value::Text(a), Value::Text(b)) => equal_texts(a, b),
        (Value::List(a), Value::List(b)) => {
            let is_unsure = a.iter().chain(b).any(|item| matches!(item.value, Value::Unknown));
            if a.len() != b.len() {
                return if is_unsure { None } else { Some(false) };
            }
            all(a.iter().zip(b).map(|(a, b)| equal(a, b)))
        }
        (Value::Map(a), Value::Map(b)) => {
            if is_open(one) || is_open(other) {
                return None;
            }
            if a.len() != b.len() {
                return Some(false);
            }
            all(a.iter().map(|entry| match b.iter().find(|other| other.key == entry.key) {
                Some(other) => equal(&entry.node, &other.node),
                None => Some(false),
            }))
        }
        _ => Some(false),
    }
}

/// Strings with an unknown part differ for certain if their known ends do.
fn equal_texts(one: &str, other: &str) -> Option<bool> {
    match (one.contains(HOLE), other.contains(HOLE)) {
        (false, false) => Some(one == other),
        (true, true) => None,
        (true, false) => possible(one, other),
        (false, true) => possible(other, one),
    }
}

fn possible(pattern: &str, text: &str) -> Option<bool> {
    let (head, tail) = (pattern.split(HOLE).next()?, pattern.rsplit(HOLE).next()?);
    let may_be = text.strip_prefix(head).is_some_and(|rest| rest.ends_with(tail));
    if may_be { None } else { Some(false) }
}

fn all(parts: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    let mut is_sure = true;
    for part in parts {
        match part {
            Some(false) => return Some(false),
            Some(true) => {}
            None => is_sure = false,
        }
    }
    is_sure.then_some(true)
}

/// How deep lists and maps are nested.
pub(super) fn depth(value: &Node) -> usize {
    let inner = match &value.value {
        Value::List(items) => items.iter().map(depth).max(),
        Value::Map(entries) => entries.iter().map(|entry| depth(&entry.node)).max(),
        _ => return 0,
    };
    1 + inner.unwrap_or_default()
}
