//! Functions of maps.

use std::collections::BTreeSet;

use super::{
    access::member,
    outcome::Outcome,
    values::{OPEN_KEY, as_text, entry, is_open, is_unknown_somewhere, list, map, text, unknown},
};
use crate::document::{Entry, Node, Span, Value};

/// The result of a function of maps, if `name` is one.
pub(super) fn call(name: &str, arguments: &[Node], span: Span) -> Outcome {
    match name {
        "merge" => merged(arguments, span).map(Outcome::Node).into(),
        "lookup" => lookup(arguments, span).into(),
        "keys" | "values" | "zipmap" if arguments.iter().any(Node::is_unknown) => Outcome::Unknown,
        "keys" => keys(arguments, span).into(),
        "values" => values(arguments, span).into(),
        "zipmap" => zipmap(arguments, span).into(),
        _ => Outcome::NoSuchFunction,
    }
}

/// Later maps take precedence. After a map that is not known, values of earlier maps are not known either.
pub(super) fn merged(maps: &[Node], span: Span) -> Option<Node> {
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
pub(super) fn last_of_each_key(mut entries: Vec<Entry>) -> Vec<Entry> {
    let mut keys = BTreeSet::new();
    let mut is_last: Vec<bool> = entries.iter().rev().map(|entry| keys.insert(entry.key.clone())).collect();
    entries.retain(|_| is_last.pop().unwrap_or_default());
    entries
}

fn lookup(arguments: &[Node], span: Span) -> Option<Outcome> {
    let (map, key, default) = match arguments {
        [map, key] => (map, key, None),
        [map, key, default] => (map, key, Some(default)),
        _ => return None,
    };
    if !matches!(map.value, Value::Map(_) | Value::Unknown) {
        return None;
    }
    member(map, &as_text(key)?, span).or_else(|| default.cloned()).map(Outcome::Node)
}

/// The entries in the order of their keys, in which Terraform reads maps.
pub(super) fn sorted(value: &Node) -> Vec<&Entry> {
    let mut entries: Vec<&Entry> = value.entries().iter().collect();
    entries.sort_by(|a, b| a.key.cmp(&b.key));
    entries
}

/// The argument of a function of one map; `Some(None)` if some of its entries are not known.
#[expect(clippy::option_option, reason = "unknown is not the same as invalid")]
fn only_map(arguments: &[Node]) -> Option<Option<&Node>> {
    match arguments {
        [map @ Node { value: Value::Map(_), .. }] => Some((!is_open(map)).then_some(map)),
        _ => None,
    }
}

fn keys(arguments: &[Node], span: Span) -> Option<Outcome> {
    let Some(map) = only_map(arguments)? else { return Some(Outcome::Unknown) };
    let keys = sorted(map).into_iter().map(|entry| text(&*entry.key, entry.key_span));
    Some(Outcome::Node(list(keys.collect(), span)))
}

fn values(arguments: &[Node], span: Span) -> Option<Outcome> {
    let Some(map) = only_map(arguments)? else { return Some(Outcome::Unknown) };
    Some(Outcome::Node(list(sorted(map).into_iter().map(|entry| entry.node.clone()).collect(), span)))
}

fn zipmap(arguments: &[Node], span: Span) -> Option<Outcome> {
    let [keys, values] = arguments else { return None };
    if is_unknown_somewhere(keys) || values.items().iter().any(Node::is_unknown) {
        return Some(Outcome::Unknown);
    }
    let pairs = keys.items().iter().zip(values.items());
    let entries = pairs.map(|(key, value)| Some(entry(as_text(key)?, value.clone())));
    Some(Outcome::Node(map(entries.collect::<Option<_>>()?, span)))
}
