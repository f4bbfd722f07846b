//! ECS's own JSON: the input of `register-task-definition` and the output of `describe-task-definition`.

use std::sync::Arc;

use crate::{
    definition::{Dialect, Mismatch, TaskDefinition},
    document::{Entry, Node, Value},
    source::SourceFile,
};

/// Whether a file contains a task definition.
pub(super) fn is_ecs_definition(node: &Node) -> bool {
    node.get("containerDefinitions").is_some()
        || node.get("taskDefinition").is_some_and(|inner| inner.get("containerDefinitions").is_some())
}

/// Reads a task definition, with or without the outer `taskDefinition` of `describe-task-definition`, which prints the
/// tags next to it.
///
/// # Errors
/// A value has another type than in ECS's API.
pub fn ecs_definition(file: Arc<SourceFile>, node: &Node) -> Result<TaskDefinition, Mismatch> {
    match node.get("taskDefinition") {
        Some(inner) => {
            let mut inner = inner.clone();
            let tags = node.entries().iter().find(|entry| entry.key == "tags");
            if let (Value::Map(entries), Some(tags)) = (&mut inner.value, tags) {
                entries.retain(|entry: &Entry| entry.key != "tags");
                entries.push(tags.clone());
            }
            TaskDefinition::read(file, address(&inner), &inner, Dialect::Ecs)
        }
        None => TaskDefinition::read(file, address(node), node, Dialect::Ecs),
    }
}

fn address(node: &Node) -> String {
    node.get("taskDefinitionArn").and_then(Node::text).unwrap_or_default().to_owned()
}
