//! Edits of JSON, on its concrete syntax tree.

use jsonc_parser::cst::{CstContainerNode, CstInputValue, CstLeafNode, CstNode, CstRootNode};
use serde_json::Value as Json;

use super::error::EditError;
use crate::finding::Change;
use audit_read::document::{JSON_WITH_COMMENTS, Step};

/// Makes changes in a JSON text.
pub(super) fn edit(text: &str, changes: &[(Vec<Step>, Change)]) -> Result<String, EditError> {
    let root = CstRootNode::parse(text, &JSON_WITH_COMMENTS).map_err(|e| EditError::Notation(e.to_string()))?;
    for (steps, change) in changes {
        make(&root, steps, change).ok_or_else(|| EditError::no_such_place(steps))?;
    }
    Ok(root.to_string())
}

fn make(root: &CstRootNode, steps: &[Step], change: &Change) -> Option<()> {
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
        (Step::Key(key), Change::Set(value)) => {
            let object = parent.as_object()?;
            match object.get(key) {
                Some(property) => property.set_value(input(value)),
                None => drop(object.append(key, input(value))),
            }
        }
        (Step::Key(key), Change::Remove) => parent.as_object()?.get(key)?.remove(),
        (Step::Index(_), Change::Set(value)) => replace(child(&parent, last)?, value)?,
        (Step::Index(_), Change::Remove) => child(&parent, last)?.remove(),
        (_, Change::Append(value)) => drop(child(&parent, last)?.as_array()?.append(input(value))),
        (Step::Embedded | Step::Document(_), _) => return None,
    }
    Some(())
}

fn child(node: &CstNode, step: &Step) -> Option<CstNode> {
    match step {
        Step::Key(key) => node.as_object()?.get(key)?.value(),
        Step::Index(index) => node.as_array()?.elements().into_iter().nth(*index),
        Step::Embedded | Step::Document(_) => None,
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
