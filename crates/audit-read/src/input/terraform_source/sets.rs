//! Items without duplicates: sets and `distinct`.

use std::collections::BTreeSet;

use super::{
    maps::sorted,
    one_type::of_one_type,
    values::{as_number, is_unknown_somewhere, unknown},
};
use crate::document::{Node, Span, Value};

/// The items of a list without duplicates. An item that may be one becomes an unknown item, which stands for any
/// number of items; because it may be equal to a later item, such an item is also at the end.
pub(super) fn distinct(items: Vec<Node>, span: Span) -> Vec<Node> {
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
pub(super) fn set(items: Vec<Node>, span: Span) -> Vec<Node> {
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
    let mut out = String::new();
    write_key(value, &mut out);
    out
}

fn write_key(value: &Node, out: &mut String) {
    match &value.value {
        Value::Null | Value::Unknown => out.push_str("null"),
        Value::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Value::Number(spelled) => match as_number(value) {
            Some(number) => out.push_str(&number.to_string()),
            None => out.push_str(spelled),
        },
        Value::Text(text) => out.push_str(&quoted(text)),
        Value::List(items) => {
            out.push('[');
            for item in items {
                write_key(item, out);
                out.push(',');
            }
            out.push(']');
        }
        Value::Map(_) => {
            out.push('{');
            for entry in sorted(value) {
                out.push_str(&quoted(&entry.key));
                out.push(':');
                write_key(&entry.node, out);
                out.push(',');
            }
            out.push('}');
        }
    }
}

fn quoted(text: &str) -> String {
    format!("{text:?}")
}
