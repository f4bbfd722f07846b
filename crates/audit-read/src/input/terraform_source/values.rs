//! Values of expressions: what they are, what is in them, whether they are equal, and conversions that need no type.

use std::collections::BTreeSet;

use document::{Entry, HOLE, Node, Place, Span, Value};

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
    Entry::new(key, node.place.span, node)
}

/// A map at `span`.
pub(super) fn map(entries: Vec<Entry>, span: Span) -> Node {
    node(Value::Map(entries), span)
}

/// A list at `span`.
pub(super) fn list(items: Vec<Node>, span: Span) -> Node {
    node(Value::List(items), span)
}

/// What a copy of the value costs: it grows with its size.
pub(super) fn cost(value: &Node) -> usize {
    let own = match &value.value {
        Value::Text(text) => 1 + text.len() / 32,
        _ => 1,
    };
    own + value.children().into_iter().map(cost).sum::<usize>()
}

/// Whether a map may have entries that are not known.
pub(super) fn is_open(value: &Node) -> bool {
    value.entries().iter().any(|entry| entry.key == OPEN_KEY)
}

/// Whether a single value, or a part of a string, is not known.
pub(super) fn is_uncertain(value: &Node) -> bool {
    match &value.value {
        Value::Unknown => true,
        Value::Text(text) => text.contains(HOLE),
        _ => false,
    }
}

/// Whether a part of the value is not known.
pub(super) fn is_unknown_somewhere(value: &Node) -> bool {
    is_uncertain(value) || is_open(value) || value.children().into_iter().any(is_unknown_somewhere)
}

/// The value with unknown instead of maps that may have unknown entries: no rule may take a key for absent.
pub(super) fn closed(mut value: Node) -> Node {
    close(&mut value);
    value
}

fn close(value: &mut Node) {
    if is_open(value) {
        value.value = Value::Unknown;
    }
    value.children_mut().into_iter().for_each(close);
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

/// A scalar as a `string`, `number` or `bool`. `None` for a value that Terraform refuses to convert, and for other types.
pub(super) fn as_type(value: &Node, kind: &str) -> Option<Value> {
    match kind {
        "string" => value.as_text().map(Value::Text),
        "number" | "bool" if is_uncertain(value) => Some(Value::Unknown),
        "number" => as_number(value).map(number),
        "bool" => as_bool(value).map(Value::Bool),
        _ => None,
    }
}

/// A number in a source. Terraform spells `1.0` as `1` where it is a part of a string.
pub(super) fn literal(value: &hcl_edit::Number) -> Value {
    match value.as_f64().filter(|_| value.is_f64()) {
        Some(float) => number(float),
        None => Value::Number(value.to_string()),
    }
}

/// A number as Terraform spells it.
pub(super) fn number(value: f64) -> Value {
    Value::Number(value.to_string())
}

/// How deep lists and maps are nested.
pub(super) fn depth(value: &Node) -> usize {
    match &value.value {
        Value::List(_) | Value::Map(_) => 1 + value.children().into_iter().map(depth).max().unwrap_or_default(),
        _ => 0,
    }
}

/// The value of a key, or the item at an index.
pub(super) fn indexed(value: &Node, key: &Node, span: Span) -> Option<Node> {
    match (&value.value, &key.value) {
        (_, Value::Unknown) | (Value::Unknown, _) => Some(unknown(span)),
        (Value::Map(_), _) => member(value, &key.as_text()?, span),
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
            None if is_open(value) => Some(unknown(span)),
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

/// Whether two values are equal; `None` if that is not known.
pub(super) fn equal(one: &Node, other: &Node) -> Option<bool> {
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

/// The entries in the order of their keys, in which Terraform reads maps.
pub(super) fn sorted(value: &Node) -> Vec<&Entry> {
    let mut entries: Vec<&Entry> = value.entries().iter().collect();
    entries.sort_by(|a, b| a.key.cmp(&b.key));
    entries
}

/// The items of a list, or the values of a map, with one type: next to a string, numbers and booleans become strings.
/// Those that may become strings are unknown.
pub(super) fn of_one_type(mut values: Vec<Node>) -> Vec<Node> {
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
pub(super) fn map_of_one_type(entries: Vec<Entry>) -> Vec<Entry> {
    let values = of_one_type(entries.iter().map(|entry| entry.node.clone()).collect());
    entries.into_iter().zip(values).map(|(entry, node)| Entry { node, ..entry }).collect()
}

/// The result of a conditional expression, which gets one type with the result that is not chosen. `other` is that
/// result; `None` if Terraform refuses it, which it ignores.
pub(super) fn of_type_with(chosen: Node, other: impl FnOnce() -> Option<Node>) -> Node {
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
