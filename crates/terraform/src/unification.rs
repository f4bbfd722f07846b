//! Values that get one type, as the items of a list do.

use document::{Entry, Node, Value};

use crate::values::{sorted, unknown};

/// The items of a list, or the values of a map, with one type: next to a string, numbers and booleans become strings.
/// Those that may become strings are unknown.
pub(crate) fn of_one_type(mut values: Vec<Node>) -> Vec<Node> {
    if are_of_one_type(&values.iter().collect::<Vec<_>>()) {
        return values;
    }
    let has_text = values.iter().any(|value| matches!(value.value, Value::Text(_)));
    for value in &mut values {
        match value.as_text() {
            Some(text) if has_text && !value.is_unknown() => value.value = Value::Text(text),
            _ => forget(value),
        }
    }
    values
}

/// The entries of a map, whose values have one type.
pub(crate) fn map_of_one_type(entries: Vec<Entry>) -> Vec<Entry> {
    let values = of_one_type(entries.iter().map(|entry| entry.node.clone()).collect());
    entries.into_iter().zip(values).map(|(entry, node)| Entry { node, ..entry }).collect()
}

/// The result of a conditional expression, which gets one type with the result that is not chosen. `other` is that
/// result; `None` if Terraform refuses it, which it ignores.
pub(crate) fn of_type_with(chosen: Node, other: impl FnOnce() -> Option<Node>) -> Node {
    if is_settled(&chosen) {
        return chosen;
    }
    let Some(other) = other() else { return chosen };
    let is_kept = match (&chosen.value, &other.value) {
        (_, Value::Null) => true,
        (Value::List(_), Value::List(_)) | (Value::Map(_), Value::Map(_)) => {
            let of_both: Vec<&Node> = chosen.children().into_iter().chain(other.children()).collect();
            is_same_type(&chosen, &other) || are_of_one_type(&of_both)
        }
        _ => false,
    };
    if is_kept {
        return chosen;
    }
    let span = chosen.place.span;
    of_one_type(vec![chosen, other]).into_iter().next().unwrap_or_else(|| unknown(span))
}

fn are_of_one_type(values: &[&Node]) -> bool {
    let mut given = values.iter().filter(|value| !matches!(value.value, Value::Null));
    given.next().is_none_or(|first| given.all(|other| is_same_type(first, other)))
}

/// Whether no number and no boolean of two values becomes a string if they get one type.
fn is_same_type(one: &Node, other: &Node) -> bool {
    match (&one.value, &other.value) {
        (Value::Number(_), Value::Number(_)) | (Value::Bool(_), Value::Bool(_)) => true,
        (Value::List(a), Value::List(b)) if a.len() == b.len() => a.iter().zip(b).all(|(a, b)| is_same_type(a, b)),
        (Value::Map(a), Value::Map(b)) if a.len() == b.len() => {
            let mut pairs = sorted(one).into_iter().zip(sorted(other));
            pairs.all(|(a, b)| a.key == b.key && is_same_type(&a.node, &b.node)) || is_settled(one) && is_settled(other)
        }
        _ => is_settled(one) && is_settled(other),
    }
}

/// Whether a value has no numbers and no booleans: of the known values, those alone change if the type does.
fn is_settled(value: &Node) -> bool {
    !matches!(value.value, Value::Number(_) | Value::Bool(_)) && value.children().into_iter().all(is_settled)
}

fn forget(value: &mut Node) {
    if matches!(value.value, Value::Number(_) | Value::Bool(_)) {
        value.value = Value::Unknown;
    }
    value.children_mut().into_iter().for_each(forget);
}
