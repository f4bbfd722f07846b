//! The same edits on the tree of a text, to compare with the edited text.

use serde_json::Value as Json;

use crate::finding::Change;
use audit_read::document::{Entry, Node, Place, Span, Step, Value};

/// The value at the end of `steps`.
pub(super) fn at<'n>(node: &'n Node, steps: &[Step]) -> Option<&'n Node> {
    steps.iter().try_fold(node, |node, step| match step {
        Step::Key(key) => node.entries().iter().find(|entry| entry.key == *key).map(|entry| &entry.node),
        Step::Index(index) => node.items().get(*index),
        Step::Embedded | Step::Document(_) => None,
    })
}

/// The value at the end of `steps`, to be changed.
pub(super) fn at_mut<'n>(node: &'n mut Node, steps: &[Step]) -> Option<&'n mut Node> {
    steps.iter().try_fold(node, child)
}

/// Changes the value at the end of `steps`. `None` if there is no such value.
pub(super) fn change(node: &mut Node, steps: &[Step], change: &Change) -> Option<()> {
    let Some((last, before)) = steps.split_last() else {
        return match change {
            Change::Set(value) => {
                *node = of_json(value);
                Some(())
            }
            Change::Append(value) => append(node, value),
            Change::Remove => None,
        };
    };
    let parent = at_mut(node, before)?;
    match change {
        Change::Append(value) => append(child(parent, last)?, value),
        Change::Set(value) => set(parent, last, value),
        Change::Remove => remove(parent, last),
    }
}

fn child<'n>(node: &'n mut Node, step: &Step) -> Option<&'n mut Node> {
    match (&mut node.value, step) {
        (Value::Map(entries), Step::Key(key)) => {
            entries.iter_mut().find(|entry| entry.key == *key).map(|entry| &mut entry.node)
        }
        (Value::List(items), Step::Index(index)) => items.get_mut(*index),
        _ => None,
    }
}

fn append(node: &mut Node, value: &Json) -> Option<()> {
    let Value::List(items) = &mut node.value else { return None };
    items.push(of_json(value));
    Some(())
}

fn set(parent: &mut Node, step: &Step, value: &Json) -> Option<()> {
    if let Some(there) = child(parent, step) {
        *there = of_json(value);
        return Some(());
    }
    let (Value::Map(entries), Step::Key(key)) = (&mut parent.value, step) else { return None };
    entries.push(Entry { key: key.clone(), key_span: Span::default(), node: of_json(value) });
    Some(())
}

fn remove(parent: &mut Node, step: &Step) -> Option<()> {
    match (&mut parent.value, step) {
        (Value::Map(entries), Step::Key(key)) => {
            let index = entries.iter().position(|entry| entry.key == *key)?;
            entries.remove(index);
        }
        (Value::List(items), Step::Index(index)) if *index < items.len() => drop(items.remove(*index)),
        _ => return None,
    }
    Some(())
}

/// Changes with the same result as `change` that write only the differences.
pub(super) fn in_items(root: &Node, steps: &[Step], change: &Change) -> Vec<(Vec<Step>, Change)> {
    let mut out = Vec::new();
    match (change, at(root, steps)) {
        (Change::Set(value), Some(node)) => write_over(node, steps, value, &mut out),
        _ => out.push((steps.to_vec(), change.clone())),
    }
    out
}

fn write_over(node: &Node, steps: &[Step], value: &Json, out: &mut Vec<(Vec<Step>, Change)>) {
    let then = |step: Step| [steps, &[step]].concat();
    match (&node.value, value) {
        _ if is_same(node, &of_json(value)) => {}
        (Value::List(old), Json::Array(new)) if !old.is_empty() && old.len() <= new.len() => {
            for (index, (old, new)) in old.iter().zip(new).enumerate() {
                write_over(old, &then(Step::Index(index)), new, out);
            }
            out.extend(new.iter().skip(old.len()).map(|new| (steps.to_vec(), Change::Append(new.clone()))));
        }
        (Value::Map(old), Json::Object(new)) if old.iter().all(|entry| new.contains_key(&entry.key)) => {
            for (key, new) in new {
                let step = then(Step::Key(key.clone()));
                match old.iter().find(|entry| entry.key == *key) {
                    Some(entry) => write_over(&entry.node, &step, new, out),
                    None => out.push((step, Change::Set(new.clone()))),
                }
            }
        }
        _ => out.push((steps.to_vec(), Change::Set(value.clone()))),
    }
}

fn of_json(json: &Json) -> Node {
    placeless(match json {
        Json::Null => Value::Null,
        Json::Bool(value) => Value::Bool(*value),
        Json::Number(number) => Value::Number(number.to_string()),
        Json::String(text) => Value::Text(text.clone()),
        Json::Array(items) => Value::List(items.iter().map(of_json).collect()),
        Json::Object(map) => Value::Map(
            map.iter()
                .map(|(key, value)| Entry { key: key.clone(), key_span: Span::default(), node: of_json(value) })
                .collect(),
        ),
    })
}

/// A node without a place in a file.
fn placeless(value: Value) -> Node {
    Node { value, place: Place::default() }
}

/// Whether two trees have the same values, regardless of their places and of the order in maps.
pub(super) fn is_same(one: &Node, other: &Node) -> bool {
    match (&one.value, &other.value) {
        (Value::Null, Value::Null) | (Value::Unknown, Value::Unknown) => true,
        (Value::Bool(a), Value::Bool(b)) => a == b,
        (Value::Number(a), Value::Number(b)) | (Value::Text(a), Value::Text(b)) => a == b,
        (Value::List(a), Value::List(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_same(a, b)),
        (Value::Map(a), Value::Map(b)) => {
            let has_equal =
                |entry: &Entry| b.iter().any(|other| other.key == entry.key && is_same(&entry.node, &other.node));
            a.len() == b.len() && a.iter().all(has_equal)
        }
        _ => false,
    }
}
