//! IAM roles, and what their policies allow. Source:
//! <https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_grammar.html>

use std::sync::Arc;

use super::{
    bare_variable::BareVariable,
    dialect::Dialect,
    field::{Field, List, Text},
    reader::read_map,
    tag::Tag,
};
use document::{Entry, HOLE, Node, Place, SourceFile, Span, Value, embedded_json};

/// An IAM role of the input. Source: <https://docs.aws.amazon.com/IAM/latest/APIReference/API_CreateRole.html>
#[derive(Debug, Clone)]
pub struct IamRole {
    /// The file that it is from.
    pub file: Arc<SourceFile>,
    pub name: Field<Text>,
    /// Absent means `/`.
    pub path: Field<Text>,
    pub tags: List<Tag>,
    /// Texts with a variable that a lost `Fn::Sub` does not replace, in a template.
    pub bare_variables: Vec<BareVariable>,
    /// The statements of its trust policy, if all of them are known: who may assume it.
    pub trust: Option<Vec<Statement>>,
    /// The statements of its policies, if all of them are in the input.
    pub statements: Option<Vec<Statement>>,
    /// The parts of its trust policy and policies that the input has and that are known.
    pub documents: Vec<PolicyDocument>,
    /// Whether the definition refers to it by its name, and not by its ARN.
    pub is_named: bool,
    /// The bytes that findings point at.
    pub place: Place,
}

impl IamRole {
    /// Reads a role with the document of its trust policy, if it is known, and with its policies, if all of them are in
    /// the input. `None` if a value has another type than in IAM's API.
    pub(crate) fn read(
        file: Arc<SourceFile>,
        node: &Node,
        dialect: Dialect,
        trust: Option<PolicyDocument>,
        policies: Option<Vec<PolicyDocument>>,
        is_named: bool,
    ) -> Option<Self> {
        let trust = trust.and_then(PolicyDocument::parsed);
        // IAM refuses a trust policy without statements: the file is an excerpt, and the policies are not shown either.
        let is_excerpt =
            trust.as_ref().is_some_and(|trust| trust.node.children().is_empty() && !trust.node.is_unknown());
        let policies = policies
            .filter(|_| !is_excerpt)
            .and_then(|documents| documents.into_iter().map(PolicyDocument::parsed).collect::<Option<Vec<_>>>());
        let (role, mismatches) = read_map(node, dialect, String::new(), |reader| Self {
            file,
            name: reader.text("roleName"),
            path: reader.text("path"),
            tags: reader.maps("tags", Tag::read),
            bare_variables: if dialect.is_lenient() { BareVariable::in_role(node) } else { Vec::new() },
            trust: trust.as_ref().and_then(|document| statements(std::slice::from_ref(document))),
            statements: policies.as_deref().and_then(statements),
            documents: trust.into_iter().chain(policies.into_iter().flatten()).collect(),
            is_named,
            place: reader.place(),
        });
        role.filter(|_| mismatches.is_empty())
    }
}

/// AWS's managed policies that tasks usually have, and what they allow for all resources. Source:
/// <https://docs.aws.amazon.com/aws-managed-policy/latest/reference/AmazonECSTaskExecutionRolePolicy.html>
const MANAGED: [(&str, &[&str]); 5] = [
    (
        "service-role/AmazonECSTaskExecutionRolePolicy",
        &[
            "ecr:GetAuthorizationToken",
            "ecr:BatchCheckLayerAvailability",
            "ecr:GetDownloadUrlForLayer",
            "ecr:BatchGetImage",
            "logs:CreateLogStream",
            "logs:PutLogEvents",
        ],
    ),
    ("AWSXRayDaemonWriteAccess", &["xray:*"]),
    ("AWSAppMeshEnvoyAccess", &["appmesh:StreamAggregatedResources"]),
    ("AWSAppMeshReadOnly", &["appmesh:Describe*", "appmesh:List*"]),
    ("CloudWatchLogsFullAccess", &["logs:*"]),
];

/// The document of a policy, and the file that it is from.
#[derive(Debug, Clone)]
pub struct PolicyDocument {
    pub file: Arc<SourceFile>,
    /// Its keys are spelled as in IAM, or as in Terraform's data source.
    pub node: Node,
    /// The ARN, if it is one of AWS's managed policies, which has another path.
    pub managed_elsewhere: Option<&'static str>,
}

impl PolicyDocument {
    pub(crate) fn new(file: &Arc<SourceFile>, node: Node) -> Self {
        Self { file: Arc::clone(file), node, managed_elsewhere: None }
    }

    /// The document itself, if it is JSON in a text.
    fn parsed(self) -> Option<Self> {
        let node = match &self.node.value {
            Value::Text(_) => embedded_json(&self.file.text, &self.node).ok()?,
            _ => self.node,
        };
        Some(Self { node, ..self })
    }

    /// Its statements; `None` if they are not known.
    pub fn statements(&self) -> Option<&[Node]> {
        listed(["Statement", "statement"].iter().find_map(|name| self.node.get(name))?)
    }

    /// What one of AWS's managed policies that tasks usually have says, at the place of its ARN.
    pub(crate) fn managed(file: &Arc<SourceFile>, arn: &Node) -> Option<Self> {
        let text = arn.as_text()?;
        let name = text.rsplit('/').next()?;
        let (path, actions) = MANAGED.iter().find(|(path, _)| path.rsplit('/').next() == Some(name))?;
        let found = text.split_once(":iam::aws:policy/").map(|(_, path)| path);
        let node = |value| Node { value, place: Place::fixed(arn.place.span) };
        let text = |text: &str| node(Value::Text(text.to_owned()));
        let map = |entries: Vec<(&str, Node)>| {
            let entries = entries.into_iter().map(|(key, value)| Entry::new(key, arn.place.span, value));
            node(Value::Map(entries.collect()))
        };
        let actions = node(Value::List(actions.iter().map(|action| text(action)).collect()));
        let statement = map(vec![("Effect", text("Allow")), ("Action", actions), ("Resource", text("*"))]);
        let managed_elsewhere = found.filter(|found| found != path).map(|_| *path);
        Some(Self { managed_elsewhere, ..Self::new(file, map(vec![("Statement", statement)])) })
    }
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
    /// Whom a trust policy is about: services, accounts, roles; `None` for one that is not known.
    pub principals: Vec<Option<String>>,
    /// With wildcards, and maybe with parts that are not known; `None` for one that is not known at all. Empty if they are
    /// written as exceptions.
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
            principals: principals(statement),
            resources: match resources.map(|node| (listed(node), node)) {
                Some((Some(items), _)) => items.iter().map(partly_known).collect(),
                Some((None, _)) => vec![None],
                None => Vec::new(),
            },
            condition: condition.map(shown),
            span: place.span,
        })
    }
}

/// Whom a statement of a trust policy is about: in IAM a map of kinds or `*`, in Terraform's data source blocks. One who is
/// written as an exception is not known.
fn principals(statement: &Node) -> Vec<Option<String>> {
    if ["NotPrincipal", "not_principals"].iter().any(|key| statement.get(key).is_some()) {
        return vec![None];
    }
    let identifiers = |node: &Node| match listed(node) {
        Some(items) => items.iter().map(known).collect(),
        None => vec![None],
    };
    // Accounts, roles and federated users are never services.
    let of_kind = |kind: Option<&str>, node: &Node| {
        let mut names: Vec<Option<String>> = identifiers(node);
        if let Some(kind @ ("AWS" | "Federated" | "CanonicalUser")) = kind {
            for name in &mut names {
                match name {
                    Some(service) if service.ends_with(".amazonaws.com") => *name = Some(format!("{kind} {service}")),
                    Some(_) => {}
                    None => *name = Some(kind.to_owned()),
                }
            }
        }
        names
    };
    let of_iam = statement.get("Principal").into_iter().flat_map(|principal| match &principal.value {
        Value::Map(entries) => {
            entries.iter().flat_map(|entry| of_kind(Some(entry.key.as_str()), &entry.node)).collect()
        }
        _ => identifiers(principal),
    });
    let of_block = |block: &Node| {
        let kind = block.get("type").and_then(Node::text);
        block.get("identifiers").map_or_else(|| vec![None], |names| of_kind(kind, names))
    };
    let blocks = statement.get("principals").into_iter().flat_map(|blocks| match listed(blocks) {
        Some(blocks) => blocks.iter().flat_map(of_block).collect(),
        None => vec![None],
    });
    of_iam.chain(blocks).collect()
}

/// A string that begins with a known part.
fn partly_known(node: &Node) -> Option<String> {
    node.as_text().filter(|text| !text.is_empty() && !text.starts_with(HOLE))
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

/// The statements of policy documents; `None` if not all of them are known.
fn statements(documents: &[PolicyDocument]) -> Option<Vec<Statement>> {
    documents.iter().try_fold(Vec::new(), |mut all, document| {
        for statement in document.statements()? {
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
