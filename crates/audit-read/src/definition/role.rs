//! IAM roles, and what their policies allow. Source:
//! <https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_grammar.html>

use std::sync::Arc;

use super::{
    dialect::Dialect,
    field::{Field, List, Text},
    reader::read_map,
    tag::Tag,
};
use document::{Node, Place, Route, SourceFile, Value, parse_json};

/// An IAM role of the input. Source: <https://docs.aws.amazon.com/IAM/latest/APIReference/API_CreateRole.html>
#[derive(Debug, Clone)]
pub struct IamRole {
    /// The file that it is from.
    pub file: Arc<SourceFile>,
    /// Absent means `/`.
    pub path: Field<Text>,
    pub tags: List<Tag>,
    /// The actions that its policies allow, with wildcards, if all of them are in the input.
    pub allowed: Option<Vec<String>>,
    /// The bytes that findings point at.
    pub place: Place,
}

impl IamRole {
    /// Reads a role with the documents of its policies, if all of them are in the input. `None` if a value has another type
    /// than in IAM's API.
    pub(crate) fn read(
        file: Arc<SourceFile>,
        node: &Node,
        dialect: Dialect,
        policies: Option<Vec<Node>>,
    ) -> Option<Self> {
        let allowed = policies.and_then(|documents| allowed(&documents));
        let (role, mismatches) = read_map(node, dialect, String::new(), |reader| Self {
            file,
            path: reader.text("path"),
            tags: reader.maps("tags", Tag::read),
            allowed,
            place: reader.place(),
        });
        role.filter(|_| mismatches.is_empty())
    }
}

/// AWS's managed policies that tasks usually have, and that do not allow to look up instances or tasks.
const MANAGED: [&str; 3] = ["AmazonECSTaskExecutionRolePolicy", "AWSXRayDaemonWriteAccess", "AWSAppMeshEnvoyAccess"];

/// The actions that policy documents allow, with wildcards; `None` if not all of them are known. Their keys are spelled as in
/// IAM, or as in Terraform's data source.
fn allowed(documents: &[Node]) -> Option<Vec<String>> {
    documents.iter().try_fold(Vec::new(), |mut actions, document| {
        let document = match &document.value {
            Value::Text(text) => parse_json(text, &Route::default()).ok()?,
            _ => document.clone(),
        };
        let child = |node: &Node, names: [&str; 2]| names.iter().find_map(|name| node.get(name)).cloned();
        for statement in listed(&child(&document, ["Statement", "statement"])?)? {
            match child(statement, ["Effect", "effect"]) {
                Some(effect) if effect.text()? == "Deny" => {}
                _ => {
                    for action in listed(&child(statement, ["Action", "actions"])?)? {
                        actions.push(action.text()?.to_owned());
                    }
                }
            }
        }
        Some(actions)
    })
}

/// The items of a list, or the only one; `None` if it is unknown.
fn listed(node: &Node) -> Option<&[Node]> {
    match &node.value {
        Value::List(items) => Some(items),
        Value::Unknown => None,
        _ => Some(std::slice::from_ref(node)),
    }
}

/// Whether an ARN names a managed policy that does not allow to look up instances or tasks.
pub(crate) fn grants_no_lookup(arn: &Node) -> bool {
    arn.text().and_then(|arn| arn.rsplit('/').next()).is_some_and(|name| MANAGED.contains(&name))
}
