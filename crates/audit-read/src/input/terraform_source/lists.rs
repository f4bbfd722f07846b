//! Functions of lists and sets, and those that choose one of their arguments.

use super::{
    access::indexed,
    equality::equal,
    one_type::of_one_type,
    outcome::Outcome,
    sets::{distinct, set},
    values::{as_bool, as_number, as_text, is_open, is_unknown_somewhere, list, node, number},
};
use crate::document::{Entry, HOLE, Node, Span, Value};

/// Terraform refuses a longer `range`. Source:
/// <https://developer.hashicorp.com/terraform/language/functions/range>
const MAX_RANGE: usize = 1024;

/// The result of a function of lists, if `name` is one.
pub(super) fn call(name: &str, arguments: &[Node], span: Span) -> Outcome {
    match name {
        "concat" => concat(arguments, span).into(),
        "flatten" => flatten(arguments, span).into(),
        "coalesce" => {
            coalesce(&of_one_type(arguments.to_vec()), |value| as_text(value).is_some_and(|text| text.is_empty()))
        }
        "coalescelist" => coalesce(arguments, |value| value.items().is_empty()),
        "element" | "length" | "contains" | "one" | "anytrue" | "alltrue" | "compact" | "distinct" | "toset"
        | "tolist" | "tomap" | "reverse" | "sort" | "slice" | "range" | "setunion" => {
            if arguments.iter().any(Node::is_unknown) {
                return Outcome::Unknown;
            }
            of_known(name, arguments, span).into()
        }
        _ => Outcome::NoSuchFunction,
    }
}

fn of_known(name: &str, arguments: &[Node], span: Span) -> Option<Outcome> {
    match (name, arguments) {
        ("element", [list, index]) => element(list, index, span),
        ("length", [value]) => length(value),
        ("contains", [list, wanted]) => contains(list, wanted),
        ("one", [value]) => one(value),
        ("anytrue", [value]) => any(value, true),
        ("alltrue", [value]) => any(value, false),
        ("compact", [value]) => compact(value, span),
        ("tolist" | "tomap" | "toset", [Node { value: Value::Null, .. }]) => Some(Outcome::Value(Value::Null)),
        ("distinct", [Node { value: Value::List(items), .. }]) => {
            Some(Outcome::Node(list(distinct(items.clone(), span), span)))
        }
        ("toset", [Node { value: Value::List(items), .. }]) => {
            Some(Outcome::Node(list(set(items.clone(), span), span)))
        }
        ("tolist", [Node { value: Value::List(items), place }]) => {
            Some(Outcome::Node(Node { value: Value::List(of_one_type(items.clone())), place: place.clone() }))
        }
        ("tomap", [Node { value: Value::Map(entries), place }]) => {
            Some(Outcome::Node(Node { value: Value::Map(map_of_one_type(entries.clone())), place: place.clone() }))
        }
        ("setunion", [_, ..]) => {
            let items = arguments.iter().flat_map(|list| list.items().to_vec()).collect();
            Some(Outcome::Node(list(set(items, span), span)))
        }
        _ if arguments.iter().any(is_unknown_somewhere) => Some(Outcome::Unknown),
        ("range", _) => Some(Outcome::Node(list(range(arguments, span)?, span))),
        ("reverse" | "sort" | "slice", [value, rest @ ..]) => ordered(name, value.items(), rest, span),
        _ => None,
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

fn flatten(arguments: &[Node], span: Span) -> Option<Outcome> {
    fn collect(value: &Node, out: &mut Vec<Node>) {
        match &value.value {
            Value::List(items) => items.iter().for_each(|item| collect(item, out)),
            _ => out.push(value.clone()),
        }
    }
    let [value] = arguments else { return None };
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

/// The index wraps around.
fn element(list: &Node, index: &Node, span: Span) -> Option<Outcome> {
    let items = list.items();
    if items.iter().any(Node::is_unknown) {
        return Some(Outcome::Unknown);
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to be a small index")]
    let index = as_number(index).filter(|index| (0.0..1e9).contains(index))? as usize;
    let wrapped = index.checked_rem(items.len())?;
    #[expect(clippy::cast_precision_loss, reason = "lists are shorter than 2^52")]
    let key = node(number(wrapped as f64), span);
    indexed(list, &key, span).map(Outcome::Node)
}

fn length(value: &Node) -> Option<Outcome> {
    let length = match &value.value {
        Value::Text(text) if value.text().is_some() => text.chars().count(),
        Value::Text(_) => return Some(Outcome::Unknown),
        Value::List(items) if items.iter().any(Node::is_unknown) => {
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
        Value::List(items) if items.iter().any(Node::is_unknown) => Some(Outcome::Unknown),
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

/// A string that may be empty becomes an unknown item, which stands for any number of items.
fn compact(value: &Node, span: Span) -> Option<Outcome> {
    let Value::List(items) = &value.value else { return None };
    let mut kept = Vec::new();
    for item in items.iter().filter(|item| !matches!(item.value, Value::Null)) {
        let text = as_text(item)?;
        if text.is_empty() {
            continue;
        }
        let is_unsure = text.chars().all(|char| char == HOLE);
        let value = if is_unsure { Value::Unknown } else { Value::Text(text) };
        kept.push(Node { value, place: item.place.clone() });
    }
    Some(Outcome::Node(list(kept, span)))
}

/// The entries of a map, whose values have one type.
pub(super) fn map_of_one_type(entries: Vec<Entry>) -> Vec<Entry> {
    let values = of_one_type(entries.iter().map(|entry| entry.node.clone()).collect());
    entries.into_iter().zip(values).map(|(entry, node)| Entry { node, ..entry }).collect()
}

fn ordered(name: &str, items: &[Node], rest: &[Node], span: Span) -> Option<Outcome> {
    let mut items = items.to_vec();
    match (name, rest) {
        ("reverse", []) => items.reverse(),
        ("sort", []) => {
            for item in &mut items {
                item.value = Value::Text(as_text(item)?);
            }
            items.sort_by_key(as_text);
        }
        ("slice", [from, to]) => {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a slice out of range is refused"
            )]
            let index = |value: &Node| as_number(value).map(|index| index as usize);
            items = items.get(index(from)?..index(to)?)?.to_vec();
        }
        _ => return None,
    }
    Some(Outcome::Node(list(items, span)))
}

/// Without a step, it is 1, or -1 if the end is below the start.
fn range(arguments: &[Node], span: Span) -> Option<Vec<Node>> {
    let numbers: Vec<f64> = arguments.iter().map(as_number).collect::<Option<_>>()?;
    let (start, end, step) = match numbers.as_slice() {
        [end] => (0.0, *end, if *end < 0.0 { -1.0 } else { 1.0 }),
        [start, end] => (*start, *end, if end < start { -1.0 } else { 1.0 }),
        [start, end, step] if *step > 0.0 && end >= start || *step < 0.0 && end <= start => (*start, *end, *step),
        _ => return None,
    };
    let mut items = Vec::new();
    let mut value = start;
    while if step > 0.0 { value < end } else { value > end } {
        if items.len() >= MAX_RANGE {
            return None;
        }
        items.push(node(number(value), span));
        value += step;
    }
    Some(items)
}
