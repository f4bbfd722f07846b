//! Lists without duplicates, and sets.

use std::collections::BTreeSet;

use document::{Node, Span, Value};

use crate::{
    unification::of_one_type,
    values::{as_number, is_unknown_somewhere, sorted, unknown},
};

/// The items of a list without duplicates. An item that may be one becomes an unknown item, which stands for any
/// number of items; because it may be equal to a later item, such an item is also at the end.
pub(crate) fn distinct(items: Vec<Node>, span: Span) -> Vec<Node> {
    if is_single(&items) {
        return items;
    }
    let (mut keys, mut kept, mut is_sure) = (BTreeSet::new(), Vec::new(), true);
    for item in of_one_type(items) {
        if is_unknown_somewhere(&item) {
            if is_sure {
                kept.push(unknown(span));
            }
            is_sure = false;
        } else if keys.insert(key(&item)) {
            kept.push(item);
        }
    }
    if !is_sure {
        kept.push(unknown(span));
    }
    kept
}

/// The items of a set. Terraform reads strings and numbers in their order. The order of others is not known: there are
/// unknown items, which stand for any number of items, before and after them.
pub(crate) fn set(items: Vec<Node>, span: Span) -> Vec<Node> {
    if is_single(&items) {
        return items;
    }
    let (unsure, mut items): (Vec<Node>, Vec<Node>) = distinct(items, span).into_iter().partition(is_unknown_somewhere);
    let is_sorted = sort(&mut items) || is_single(&items);
    if unsure.is_empty() && is_sorted {
        return items;
    }
    items.insert(0, unknown(span));
    items.push(unknown(span));
    items
}

/// Whether it is certain that there is at most one item.
fn is_single(items: &[Node]) -> bool {
    match items {
        [] => true,
        [only] => !only.is_unknown(),
        _ => false,
    }
}

/// Sorts strings or numbers, and returns whether the items are that.
fn sort(items: &mut [Node]) -> bool {
    if items.iter().all(|item| item.text().is_some()) {
        items.sort_by(|a, b| a.text().cmp(&b.text()));
        return true;
    }
    let are_numbers = items.iter().all(|item| matches!(item.value, Value::Number(_)) && as_number(item).is_some());
    if are_numbers {
        items.sort_by(|a, b| as_number(a).unwrap_or_default().total_cmp(&as_number(b).unwrap_or_default()));
    }
    are_numbers
}

/// A text that equal values, and no others, have.
fn key(value: &Node) -> String {
    match &value.value {
        Value::Null | Value::Unknown => "null".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Number(spelled) => as_number(value).map_or_else(|| spelled.clone(), |number| number.to_string()),
        Value::Text(text) => format!("{text:?}"),
        Value::List(items) => format!("[{}]", items.iter().map(key).collect::<Vec<_>>().join(",")),
        Value::Map(_) => {
            let entries = sorted(value).into_iter().map(|entry| format!("{:?}:{}", entry.key, key(&entry.node)));
            format!("{{{}}}", entries.collect::<Vec<_>>().join(","))
        }
    }
}
