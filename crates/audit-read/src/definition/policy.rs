//! What IAM policies allow. Source:
//! <https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_grammar.html>

use crate::document::{Node, Route, Value, parse_json};

/// AWS's managed policies that tasks usually have, and that do not allow to look up instances or tasks.
const MANAGED: [&str; 3] = ["AmazonECSTaskExecutionRolePolicy", "AWSXRayDaemonWriteAccess", "AWSAppMeshEnvoyAccess"];

/// The actions that policy documents allow, with wildcards; `None` if not all of them are known. Their keys are spelled as in
/// IAM, or as in Terraform's data source.
pub(crate) fn allowed<'n>(mut documents: impl Iterator<Item = &'n Node>) -> Option<Vec<String>> {
    documents.try_fold(Vec::new(), |mut actions, document| {
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

/// Whether the ARN is a managed policy's that does not allow to look up instances or tasks.
pub(crate) fn grants_no_lookup(arn: &Node) -> bool {
    arn.text().and_then(|arn| arn.rsplit('/').next()).is_some_and(|name| MANAGED.contains(&name))
}
