//! Edits, and the same edits on the value of a text, to compare with the edited text.

use serde_json::Value as Json;

use crate::place::{PathStep, Route};

/// A change at one place of a file.
#[derive(Debug, Clone)]
pub struct Edit {
    /// The route to the value; for a new key, to where it will be.
    pub route: Route,
    pub change: Change,
}

/// A change of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Sets the value, or adds it if there is none.
    Set(Json),
    /// Adds an item to the end of the list.
    Append(Json),
    /// Removes the value, and its key.
    Remove,
}

/// The value at the end of `steps`.
pub(super) fn at<'v>(value: &'v Json, steps: &[PathStep]) -> Option<&'v Json> {
    steps.iter().try_fold(value, |value, step| match step {
        PathStep::Key(key) => value.get(key),
        PathStep::Index(index) => value.get(index),
        PathStep::Embedded | PathStep::Document(_) => None,
    })
}

fn at_mut<'v>(value: &'v mut Json, steps: &[PathStep]) -> Option<&'v mut Json> {
    steps.iter().try_fold(value, |value, step| match step {
        PathStep::Key(key) => value.get_mut(key),
        PathStep::Index(index) => value.get_mut(index),
        PathStep::Embedded | PathStep::Document(_) => None,
    })
}

/// Changes the value at the end of `steps`. `None` if there is no such value.
pub(super) fn make(value: &mut Json, steps: &[PathStep], change: &Change) -> Option<()> {
    match (change, steps.split_last()) {
        (Change::Append(item), _) => at_mut(value, steps)?.as_array_mut()?.push(item.clone()),
        (Change::Set(new), Some((PathStep::Key(key), owner))) => {
            at_mut(value, owner)?.as_object_mut()?.insert(key.clone(), new.clone());
        }
        (Change::Set(new), _) => *at_mut(value, steps)? = new.clone(),
        (Change::Remove, Some((last, owner))) => match (at_mut(value, owner)?, last) {
            (Json::Object(entries), PathStep::Key(key)) => drop(entries.remove(key)?),
            (Json::Array(items), PathStep::Index(index)) if *index < items.len() => drop(items.remove(*index)),
            _ => return None,
        },
        (Change::Remove, None) => return None,
    }
    Some(())
}

/// Changes with the same result as `change` that write only the differences.
pub(super) fn in_items(root: &Json, steps: &[PathStep], change: &Change) -> Vec<(Vec<PathStep>, Change)> {
    let mut out = Vec::new();
    match (change, at(root, steps)) {
        (Change::Set(new), Some(old)) => write_over(old, steps, new, &mut out),
        _ => out.push((steps.to_vec(), change.clone())),
    }
    out
}

fn write_over(old: &Json, steps: &[PathStep], new: &Json, out: &mut Vec<(Vec<PathStep>, Change)>) {
    let then = |step: PathStep| [steps, &[step]].concat();
    match (old, new) {
        _ if old == new => {}
        (Json::Array(old), Json::Array(new)) if !old.is_empty() && old.len() <= new.len() => {
            for (index, (old, new)) in old.iter().zip(new).enumerate() {
                write_over(old, &then(PathStep::Index(index)), new, out);
            }
            out.extend(new.iter().skip(old.len()).map(|new| (steps.to_vec(), Change::Append(new.clone()))));
        }
        (Json::Object(old), Json::Object(new)) if old.keys().all(|key| new.contains_key(key)) => {
            for (key, new) in new {
                let step = then(PathStep::Key(key.clone()));
                match old.get(key) {
                    Some(old) => write_over(old, &step, new, out),
                    None => out.push((step, Change::Set(new.clone()))),
                }
            }
        }
        _ => out.push((steps.to_vec(), Change::Set(new.clone()))),
    }
}
