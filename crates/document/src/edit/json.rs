//! Edits of JSON.

use jsonc_parser::cst::{CstContainerNode, CstInputValue, CstLeafNode, CstNode, CstRootNode};
use serde_json::Value as Json;

use super::{
    change::Change,
    error::EditError,
    text::{put, read},
};
use crate::{
    json::JSON_WITH_COMMENTS,
    node::{Entry, Node},
    place::PathStep,
    span::Span,
};

/// Makes changes in a JSON text, in its concrete syntax tree.
pub(super) fn edit(text: &str, changes: &[(Vec<PathStep>, Change)]) -> Result<String, EditError> {
    let root = CstRootNode::parse(text, &JSON_WITH_COMMENTS).map_err(|e| EditError::Notation(e.to_string()))?;
    for (steps, change) in changes {
        make(&root, steps, change).ok_or_else(|| EditError::no_such_place(steps))?;
    }
    Ok(root.to_string())
}

fn make(root: &CstRootNode, steps: &[PathStep], change: &Change) -> Option<()> {
    let Some((last, before)) = steps.split_last() else {
        return match change {
            Change::Set(value) => {
                root.set_value(input(value));
                Some(())
            }
            Change::Append(value) => root.array_value().map(|array| drop(array.append(input(value)))),
            Change::Remove => None,
        };
    };
    let parent = before.iter().try_fold(root.value()?, |node, step| child(&node, step))?;
    match (last, change) {
        (PathStep::Key(key), Change::Set(value)) => {
            let object = parent.as_object()?;
            match object.get(key) {
                Some(property) => property.set_value(input(value)),
                None => drop(object.append(key, input(value))),
            }
        }
        (PathStep::Key(key), Change::Remove) => parent.as_object()?.get(key)?.remove(),
        (PathStep::Index(_), Change::Set(value)) => replace(child(&parent, last)?, value)?,
        (PathStep::Index(_), Change::Remove) => child(&parent, last)?.remove(),
        (_, Change::Append(value)) => drop(child(&parent, last)?.as_array()?.append(input(value))),
        (PathStep::Embedded | PathStep::Document(_), _) => return None,
    }
    Some(())
}

fn child(node: &CstNode, step: &PathStep) -> Option<CstNode> {
    match step {
        PathStep::Key(key) => node.as_object()?.get(key)?.value(),
        PathStep::Index(index) => node.as_array()?.elements().into_iter().nth(*index),
        PathStep::Embedded | PathStep::Document(_) => None,
    }
}

fn replace(node: CstNode, value: &Json) -> Option<()> {
    let value = input(value);
    let replaced = match node {
        CstNode::Leaf(CstLeafNode::BooleanLit(old)) => old.replace_with(value),
        CstNode::Leaf(CstLeafNode::NullKeyword(old)) => old.replace_with(value),
        CstNode::Leaf(CstLeafNode::NumberLit(old)) => old.replace_with(value),
        CstNode::Leaf(CstLeafNode::StringLit(old)) => old.replace_with(value),
        CstNode::Container(CstContainerNode::Array(old)) => old.replace_with(value),
        CstNode::Container(CstContainerNode::Object(old)) => old.replace_with(value),
        CstNode::Leaf(_) | CstNode::Container(_) => None,
    };
    replaced.map(drop)
}

fn input(value: &Json) -> CstInputValue {
    match value {
        Json::Null => CstInputValue::Null,
        Json::Bool(value) => CstInputValue::Bool(*value),
        Json::Number(number) => CstInputValue::Number(number.to_string()),
        Json::String(text) => CstInputValue::String(text.clone()),
        Json::Array(items) => CstInputValue::Array(items.iter().map(input).collect()),
        Json::Object(map) => {
            CstInputValue::Object(map.iter().map(|(key, value)| (key.clone(), input(value))).collect())
        }
    }
}

/// Makes changes in a JSON text of one line. The result has no line breaks either.
pub(super) fn edit_line(text: &str, changes: &[(Vec<PathStep>, Change)]) -> Result<String, EditError> {
    changes.iter().try_fold(text.to_owned(), |text, (steps, change)| {
        let (_, node) = read(&text)?;
        make_in_line(&text, &node, steps, change).ok_or_else(|| EditError::no_such_place(steps))
    })
}

fn make_in_line(text: &str, root: &Node, steps: &[PathStep], change: &Change) -> Option<String> {
    let blank = if text.contains("\": ") { " " } else { "" };
    match (change, root.at(steps)) {
        (Change::Set(value), Some(node)) => put(text, node.place.span, &value.to_string()).ok(),
        (Change::Set(value), None) => {
            let (PathStep::Key(key), before) = steps.split_last()? else { return None };
            let pair = format!("{}:{blank}{value}", Json::from(key.as_str()));
            let map = root.at(before)?;
            add(text, map, map.entries().last().map(|entry| entry.node.place.span), &pair, blank)
        }
        (Change::Append(value), Some(list)) => {
            add(text, list, list.items().last().map(|item| item.place.span), &value.to_string(), blank)
        }
        (Change::Remove, Some(_)) => remove(text, root, steps),
        (Change::Append(_) | Change::Remove, None) => None,
    }
}

/// Adds to the end of a list or map. `last` is its last item or entry.
fn add(text: &str, owner: &Node, last: Option<Span>, part: &str, blank: &str) -> Option<String> {
    if let Some(last) = last {
        put(text, Span::new(last.end, last.end), &format!(",{blank}{part}")).ok()
    } else {
        let start = owner.place.span.start + 1;
        put(text, Span::new(start, start), part).ok()
    }
}

/// Removes an item or entry with the comma before it; the first one with the comma after it.
fn remove(text: &str, root: &Node, steps: &[PathStep]) -> Option<String> {
    let (last, before) = steps.split_last()?;
    let owner = root.at(before)?;
    let (index, parts) = match last {
        PathStep::Key(key) => {
            let whole = |entry: &Entry| Span::new(entry.key_span.start, entry.node.place.span.end);
            let index = owner.entries().iter().position(|entry| entry.key == *key)?;
            (index, owner.entries().iter().map(whole).collect::<Vec<_>>())
        }
        PathStep::Index(index) => (*index, owner.items().iter().map(|item| item.place.span).collect()),
        PathStep::Embedded | PathStep::Document(_) => return None,
    };
    let own = *parts.get(index)?;
    let span = match (index.checked_sub(1).and_then(|before| parts.get(before)), parts.get(index + 1)) {
        (Some(before), _) => Span::new(before.end, own.end),
        (None, Some(next)) => Span::new(own.start, next.start),
        (None, None) => own,
    };
    put(text, span, "").ok()
}
