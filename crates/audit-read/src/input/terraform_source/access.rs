//! Items of lists and values of maps.

use super::values::{as_number, as_text, unknown};
use crate::document::{HOLE, Node, Span, Value};

/// The value of a key, or the item at an index.
pub(super) fn indexed(value: &Node, key: &Node, span: Span) -> Option<Node> {
    match (&value.value, &key.value) {
        (_, Value::Unknown) | (Value::Unknown, _) => Some(unknown(span)),
        (Value::Map(_), _) => member(value, &as_text(key)?, span),
        (Value::List(_), _) => {
            let index = as_number(key).filter(|index| index.fract() == 0.0 && (0.0..1e9).contains(index))?;
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a whole number below 1e9")]
            item(value, index as usize, span)
        }
        _ => None,
    }
}

/// The value of a key; unknown if it may be among entries that are not known.
pub(super) fn member(value: &Node, key: &str, span: Span) -> Option<Node> {
    if key.contains(HOLE) {
        return Some(unknown(span));
    }
    match &value.value {
        Value::Map(entries) => match entries.iter().find(|entry| entry.key == key) {
            Some(entry) => Some(entry.node.clone()),
            None if super::values::is_open(value) => Some(unknown(span)),
            None => None,
        },
        Value::Unknown => Some(unknown(span)),
        _ => None,
    }
}

/// The item at an index; unknown if the list may have other items before it.
pub(super) fn item(value: &Node, index: usize, span: Span) -> Option<Node> {
    let items = value.items();
    let before = items.get(..index).unwrap_or(items);
    if before.iter().any(Node::is_unknown) {
        return Some(unknown(span));
    }
    items.get(index).cloned()
}
