//! Functions of lists and sets, and those that choose one of their arguments.

use super::{
    access::indexed,
    equality::equal,
    outcome::Outcome,
    values::{as_bool, as_number, as_text, is_open, is_unknown_somewhere, list, node, number, unknown},
};
use crate::document::{HOLE, Node, Span, Value};

/// The longest list that `range` makes.
const MAX_RANGE: usize = 10_000;

/// The result of a function of lists, if `name` is one.
pub(super) fn call(name: &str, arguments: &[Node], span: Span) -> Outcome {
    match name {
        "concat" => concat(arguments, span).into(),
        "flatten" => flatten(arguments, span).into(),
        "coalesce" => coalesce(arguments, |value| as_text(value).is_some_and(|text| text.is_empty())),
        "coalescelist" => coalesce(arguments, |value| value.items().is_empty()),
        "element" | "length" | "contains" | "one" | "anytrue" | "alltrue" | "compact" | "distinct" | "toset"
        | "reverse" | "sort" | "slice" | "range" | "setunion" => {
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
        ("distinct", [value]) => distinct(value, span),
        ("toset", [value]) => set(value.items(), span),
        ("setunion", [_, ..]) => {
            set(&arguments.iter().flat_map(|list| list.items().to_vec()).collect::<Vec<_>>(), span)
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

/// A set of strings is in their order, in which Terraform reads it.
fn set(items: &[Node], span: Span) -> Option<Outcome> {
    let mut items = items.to_vec();
    if items.iter().all(|item| item.text().is_some()) {
        items.sort_by_key(as_text);
    }
    distinct(&list(items, span), span)
}

fn ordered(name: &str, items: &[Node], rest: &[Node], span: Span) -> Option<Outcome> {
    let mut items = items.to_vec();
    match (name, rest) {
        ("reverse", []) => items.reverse(),
        ("sort", []) => items.sort_by_key(as_text),
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
        items.push(node(number(value), span));
        value += step;
    }
    Some(items)
}
