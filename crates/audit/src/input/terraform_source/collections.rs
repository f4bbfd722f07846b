//! Functions of lists and maps.

use super::{
    access::{indexed, member},
    encoding::json_decoded,
    outcome::Outcome,
    values::{
        OPEN_KEY, as_bool, as_number, as_text, entry, equal, is_open, is_unknown_somewhere, list, map, number, text,
        unknown,
    },
};
use crate::document::{Entry, HOLE, Node, Span, Value};

/// The longest list that `range` makes.
const MAX_RANGE: usize = 10_000;

/// The result of a function of collections, if `name` is one.
pub(super) fn call(name: &str, arguments: &[Node], span: Span) -> Outcome {
    let known = || arguments.iter().all(|argument| !matches!(argument.value, Value::Unknown));
    match (name, arguments) {
        ("nonsensitive" | "tolist" | "tomap", [value]) => Outcome::Node(value.clone()),
        ("merge", maps) => merged(maps, span).map(Outcome::Node).into(),
        ("concat", lists) => concat(lists, span).into(),
        ("flatten", [value]) => flatten(value, span).into(),
        ("coalesce", values) => coalesce(values, |value| as_text(value).is_some_and(|text| text.is_empty())),
        ("coalescelist", values) => coalesce(values, |value| value.items().is_empty()),
        ("try" | "can" | "sensitive" | "jsonencode", _) => Outcome::Invalid,
        (_, [_, ..]) if !known() && is_function(name) => Outcome::Unknown,
        ("jsondecode", [value]) => match value.text() {
            Some(json) => json_decoded(json, span).map(Outcome::Node).into(),
            None => Outcome::Unknown,
        },
        ("lookup", [map, key]) => as_text(key).and_then(|key| member(map, &key, span)).map(Outcome::Node).into(),
        ("lookup", [map, key, default]) => lookup(map, key, default, span).into(),
        ("element", [list, index]) => element(list, index, span).into(),
        ("length", [value]) => length(value).into(),
        ("keys", [value]) => keys(value, span).into(),
        ("values", [value]) => values(value, span).into(),
        ("contains", [list, wanted]) => contains(list, wanted).into(),
        ("one", [value]) => one(value).into(),
        ("anytrue", [value]) => any(value, true).into(),
        ("alltrue", [value]) => any(value, false).into(),
        ("compact", [value]) => compact(value, span).into(),
        ("distinct" | "toset", [value]) => distinct(value, span).into(),
        ("reverse" | "sort" | "slice" | "zipmap" | "range" | "setunion", _) => ordered(name, arguments, span).into(),
        _ if is_function(name) => Outcome::Invalid,
        _ => Outcome::NoSuchFunction,
    }
}

fn is_function(name: &str) -> bool {
    const NAMES: [&str; 21] = [
        "jsondecode",
        "lookup",
        "element",
        "length",
        "keys",
        "values",
        "contains",
        "one",
        "anytrue",
        "alltrue",
        "compact",
        "distinct",
        "toset",
        "reverse",
        "sort",
        "slice",
        "zipmap",
        "range",
        "setunion",
        "flatten",
        "nonsensitive",
    ];
    NAMES.contains(&name)
}

/// Later maps take precedence. After a map that is not known, values of earlier maps are not known either.
pub(super) fn merged(maps: &[Node], span: Span) -> Option<Node> {
    let mut entries: Vec<Entry> = Vec::new();
    for value in maps {
        match &value.value {
            Value::Null => {}
            Value::Map(own) => {
                if is_open(value) {
                    forget(&mut entries);
                }
                for new in own {
                    entries.retain(|old| old.key != new.key);
                    entries.push(new.clone());
                }
            }
            Value::Unknown => {
                forget(&mut entries);
                entries.retain(|old| old.key != OPEN_KEY);
                entries.push(entry(OPEN_KEY, unknown(value.place.span)));
            }
            _ => return None,
        }
    }
    Some(map(entries, span))
}

fn forget(entries: &mut [Entry]) {
    for entry in entries {
        entry.node.value = Value::Unknown;
    }
}

/// A list that is not known becomes an unknown item, which stands for any number of items.
fn concat(lists: &[Node], span: Span) -> Option<Outcome> {
    let mut items = Vec::new();
    for list in lists {
        match &list.value {
            Value::List(own) => items.extend(own.iter().cloned()),
            Value::Unknown => items.push(list.clone()),
            _ => return None,
        }
    }
    Some(Outcome::Node(list(items, span)))
}

fn flatten(value: &Node, span: Span) -> Option<Outcome> {
    fn collect(value: &Node, out: &mut Vec<Node>) {
        match &value.value {
            Value::List(items) => items.iter().for_each(|item| collect(item, out)),
            _ => out.push(value.clone()),
        }
    }
    match &value.value {
        Value::List(_) => {
            let mut items = Vec::new();
            collect(value, &mut items);
            Some(Outcome::Node(list(items, span)))
        }
        Value::Unknown => Some(Outcome::Unknown),
        _ => None,
    }
}

fn coalesce(values: &[Node], is_empty: impl Fn(&Node) -> bool) -> Outcome {
    let first = values.iter().find(|value| !matches!(value.value, Value::Null) && !is_empty(value));
    match first {
        Some(Node { value: Value::Unknown, .. }) => Outcome::Unknown,
        // It may be empty, and then it is another one.
        Some(Node { value: Value::Text(text), .. }) if *text == HOLE.to_string() => Outcome::Unknown,
        Some(value) => Outcome::Node(value.clone()),
        None => Outcome::Invalid,
    }
}

fn lookup(map: &Node, key: &Node, default: &Node, span: Span) -> Option<Outcome> {
    let Value::Map(_) = map.value else { return None };
    Some(Outcome::Node(member(map, &as_text(key)?, span).unwrap_or_else(|| default.clone())))
}

/// The index wraps around.
fn element(list: &Node, index: &Node, span: Span) -> Option<Outcome> {
    let items = list.items();
    if items.iter().any(|item| matches!(item.value, Value::Unknown)) {
        return Some(Outcome::Unknown);
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to be a small index")]
    let index = as_number(index).filter(|index| (0.0..1e9).contains(index))? as usize;
    let wrapped = index.checked_rem(items.len())?;
    #[expect(clippy::cast_precision_loss, reason = "lists are shorter than 2^52")]
    let key = super::values::node(number(wrapped as f64), span);
    indexed(list, &key, span).map(Outcome::Node)
}

fn length(value: &Node) -> Option<Outcome> {
    let length = match &value.value {
        Value::Text(text) if value.text().is_some() => text.chars().count(),
        Value::Text(_) => return Some(Outcome::Unknown),
        Value::List(items) if items.iter().any(|item| matches!(item.value, Value::Unknown)) => {
            return Some(Outcome::Unknown);
        }
        Value::Map(_) if is_open(value) => return Some(Outcome::Unknown),
        Value::List(items) => items.len(),
        Value::Map(entries) => entries.len(),
        _ => return None,
    };
    #[expect(clippy::cast_precision_loss, reason = "lists are shorter than 2^52")]
    Some(Outcome::Value(number(length as f64)))
}

/// In the order of their names, as Terraform sorts maps.
fn sorted(value: &Node) -> Option<Vec<&Entry>> {
    let Value::Map(entries) = &value.value else { return None };
    let mut entries: Vec<&Entry> = entries.iter().collect();
    entries.sort_by(|a, b| a.key.cmp(&b.key));
    Some(entries)
}

fn keys(value: &Node, span: Span) -> Option<Outcome> {
    if is_open(value) {
        return Some(Outcome::Unknown);
    }
    let keys = sorted(value)?.into_iter().map(|entry| text(&*entry.key, entry.key_span));
    Some(Outcome::Node(list(keys.collect(), span)))
}

fn values(value: &Node, span: Span) -> Option<Outcome> {
    if is_open(value) {
        return Some(Outcome::Unknown);
    }
    Some(Outcome::Node(list(sorted(value)?.into_iter().map(|entry| entry.node.clone()).collect(), span)))
}

fn contains(list: &Node, wanted: &Node) -> Option<Outcome> {
    let Value::List(items) = &list.value else { return None };
    let found: Vec<Option<bool>> = items.iter().map(|item| equal(item, wanted)).collect();
    if found.contains(&Some(true)) {
        return Some(Outcome::Value(Value::Bool(true)));
    }
    Some(if found.contains(&None) { Outcome::Unknown } else { Outcome::Value(Value::Bool(false)) })
}

fn one(value: &Node) -> Option<Outcome> {
    match &value.value {
        Value::List(items) if items.iter().any(|item| matches!(item.value, Value::Unknown)) => Some(Outcome::Unknown),
        Value::List(items) => match items.as_slice() {
            [] => Some(Outcome::Value(Value::Null)),
            [only] => Some(Outcome::Node(only.clone())),
            _ => None,
        },
        _ => None,
    }
}

/// Whether one of the items is `wanted`: for `alltrue`, whether none is false.
fn any(value: &Node, wanted: bool) -> Option<Outcome> {
    let Value::List(items) = &value.value else { return None };
    let found: Vec<Option<bool>> = items.iter().map(as_bool).collect();
    if found.contains(&Some(wanted)) {
        return Some(Outcome::Value(Value::Bool(wanted)));
    }
    Some(if found.contains(&None) { Outcome::Unknown } else { Outcome::Value(Value::Bool(!wanted)) })
}

fn compact(value: &Node, span: Span) -> Option<Outcome> {
    let Value::List(items) = &value.value else { return None };
    let kept = items.iter().filter(|item| !matches!(item.value, Value::Null) && item.text() != Some(""));
    Some(Outcome::Node(list(kept.cloned().collect(), span)))
}

fn distinct(value: &Node, span: Span) -> Option<Outcome> {
    let Value::List(items) = &value.value else { return None };
    if items.iter().any(is_unknown_somewhere) {
        return Some(Outcome::Node(value.clone()));
    }
    let mut kept: Vec<Node> = Vec::new();
    for item in items {
        if !kept.iter().any(|known| equal(known, item) == Some(true)) {
            kept.push(item.clone());
        }
    }
    Some(Outcome::Node(list(kept, span)))
}

fn ordered(name: &str, arguments: &[Node], span: Span) -> Option<Outcome> {
    let items = arguments.first()?.items();
    if arguments.iter().any(is_unknown_somewhere) {
        return Some(Outcome::Unknown);
    }
    let items = match (name, arguments) {
        ("reverse", [_]) => items.iter().rev().cloned().collect(),
        ("sort", [_]) => {
            let mut items = items.to_vec();
            items.sort_by_key(as_text);
            items
        }
        ("slice", [_, from, to]) => {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a slice out of range is refused"
            )]
            let index = |value: &Node| as_number(value).map(|index| index as usize);
            items.get(index(from)?..index(to)?)?.to_vec()
        }
        ("range", _) => range(arguments, span)?,
        ("setunion", _) => arguments.iter().flat_map(|list| list.items().iter().cloned()).collect(),
        ("zipmap", [keys, values]) => {
            let pairs = keys.items().iter().zip(values.items());
            let entries = pairs.map(|(key, value)| Some(entry(as_text(key)?, value.clone())));
            return Some(Outcome::Node(map(entries.collect::<Option<_>>()?, span)));
        }
        _ => return None,
    };
    Some(Outcome::Node(list(items, span)))
}

fn range(arguments: &[Node], span: Span) -> Option<Vec<Node>> {
    let numbers: Vec<f64> = arguments.iter().map(as_number).collect::<Option<_>>()?;
    let (start, end, step) = match numbers.as_slice() {
        [end] => (0.0, *end, 1.0),
        [start, end] => (*start, *end, 1.0),
        [start, end, step] if *step > 0.0 => (*start, *end, *step),
        _ => return None,
    };
    let mut items = Vec::new();
    let mut value = start;
    while value < end {
        if items.len() >= MAX_RANGE {
            return Some(vec![unknown(span)]);
        }
        items.push(super::values::node(number(value), span));
        value += step;
    }
    Some(items)
}
