//! IAM roles, and what their policies allow. Source:
//! <https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_grammar.html>

use std::sync::Arc;

use super::{
    dialect::Dialect,
    field::{Field, List, Text},
    reader::read_map,
    tag::Tag,
};
use document::{HOLE, Node, Place, SourceFile, Span, Value, embedded_json};

/// An IAM role of the input. Source: <https://docs.aws.amazon.com/IAM/latest/APIReference/API_CreateRole.html>
#[derive(Debug, Clone)]
pub struct IamRole {
    /// The file that it is from.
    pub file: Arc<SourceFile>,
    /// Absent means `/`.
    pub path: Field<Text>,
    pub tags: List<Tag>,
    /// The statements of its policies, if all of them are in the input.
    pub statements: Option<Vec<Statement>>,
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
        policies: Option<Vec<PolicyDocument>>,
    ) -> Option<Self> {
        let statements = policies.and_then(|documents| statements(&documents));
        let (role, mismatches) = read_map(node, dialect, String::new(), |reader| Self {
            file,
            path: reader.text("path"),
            tags: reader.maps("tags", Tag::read),
            statements,
            place: reader.place(),
        });
        role.filter(|_| mismatches.is_empty())
    }
}

/// AWS's managed policies that tasks usually have, and that do not allow to look up instances or tasks.
const MANAGED: [&str; 3] = ["AmazonECSTaskExecutionRolePolicy", "AWSXRayDaemonWriteAccess", "AWSAppMeshEnvoyAccess"];

/// The document of a policy, and the file that it is from.
#[derive(Debug)]
pub(crate) struct PolicyDocument {
    pub(crate) file: Arc<SourceFile>,
    pub(crate) node: Node,
}

/// A statement of a policy.
#[derive(Debug, Clone)]
pub struct Statement {
    /// The file that it is from.
    pub file: Arc<SourceFile>,
    /// Whether it allows its actions, and does not deny them.
    pub is_allowing: bool,
    /// With wildcards.
    pub actions: Vec<String>,
    /// With wildcards; `None` for one that is not known. Empty if they are written as exceptions.
    pub resources: Vec<Option<String>>,
    /// The condition, if it has one: its keys and strings, as far as they are known.
    pub condition: Option<String>,
    /// The bytes of the resources.
    pub span: Span,
}

impl Statement {
    /// Reads a statement. `None` if its effect or one of its actions is not known.
    fn read(document: &PolicyDocument, statement: &Node) -> Option<Self> {
        let child = |names: [&str; 2]| names.iter().find_map(|name| statement.get(name));
        let actions = listed(child(["Action", "actions"])?)?;
        let resources = child(["Resource", "resources"]);
        let condition =
            child(["Condition", "condition"]).filter(|node| !node.children().is_empty() || node.is_unknown());
        let place = resources.map_or(&statement.place, |node| &node.place);
        // Terraform's data source allows without an effect.
        let is_allowing = match child(["Effect", "effect"]).map(Node::text) {
            None | Some(Some("Allow")) => true,
            Some(Some("Deny")) => false,
            Some(_) => return None,
        };
        Some(Self {
            file: Arc::clone(&document.file),
            is_allowing,
            actions: actions.iter().map(|action| action.text().map(str::to_owned)).collect::<Option<_>>()?,
            resources: match resources.map(|node| (listed(node), node)) {
                Some((Some(items), _)) => items.iter().map(known).collect(),
                Some((None, _)) => vec![None],
                None => Vec::new(),
            },
            condition: condition.map(shown),
            span: place.span,
        })
    }
}

/// A string without unknown parts.
fn known(node: &Node) -> Option<String> {
    node.text().filter(|text| !text.contains(HOLE)).map(str::to_owned)
}

/// The keys and strings of a value, joined.
fn shown(node: &Node) -> String {
    let inside = node.entries().iter().map(|entry| format!("{} {}", entry.key, shown(&entry.node)));
    let items = node.items().iter().map(shown);
    node.text().map(str::to_owned).into_iter().chain(inside).chain(items).collect::<Vec<_>>().join(" ")
}

/// The statements of policy documents; `None` if not all of them are known. Their keys are spelled as in IAM, or as in
/// Terraform's data source.
fn statements(documents: &[PolicyDocument]) -> Option<Vec<Statement>> {
    documents.iter().try_fold(Vec::new(), |mut all, document| {
        let node = match &document.node.value {
            Value::Text(_) => embedded_json(&document.file.text, &document.node).ok()?,
            _ => document.node.clone(),
        };
        let statements = ["Statement", "statement"].iter().find_map(|name| node.get(name))?;
        for statement in listed(statements)? {
            all.push(Statement::read(document, statement)?);
        }
        Some(all)
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
