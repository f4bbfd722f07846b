//! Whether values are equal.

use document::{HOLE, Node, Value};

use crate::values::{as_number, is_open, sorted};

/// Whether two values are equal; `None` if that is not known.
pub(crate) fn equal(one: &Node, other: &Node) -> Option<bool> {
    match (&one.value, &other.value) {
        (Value::Unknown, _) | (_, Value::Unknown) => None,
        (Value::Null, Value::Null) => Some(true),
        (Value::Bool(a), Value::Bool(b)) => Some(a == b),
        (Value::Number(_), Value::Number(_)) => Some(as_number(one) == as_number(other)),
        (Value::Text(a), Value::Text(b)) => equal_texts(a, b),
        (Value::List(a), Value::List(b)) => {
            // An unknown item stands for any number of items.
            if a.iter().chain(b).any(Node::is_unknown) {
                return None;
            }
            if a.len() != b.len() {
                return Some(false);
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
            let pairs = sorted(one).into_iter().zip(sorted(other));
            all(pairs.map(|(a, b)| if a.key == b.key { equal(&a.node, &b.node) } else { Some(false) }))
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
    let parts: Vec<Option<bool>> = parts.collect();
    if parts.contains(&Some(false)) { Some(false) } else { (!parts.contains(&None)).then_some(true) }
}
