//! The roles of task definitions in a template, and what their policies allow.

use std::sync::Arc;

use super::{resource::TemplateResource, scope::Scopes};
use crate::definition::{Dialect, IamRole, PolicyDocument};
use document::{Node, SourceFile, Value};

/// The role that a property of a definition names, if the template declares it. The definition is named by its logical ID.
pub(super) fn role(
    file: &Arc<SourceFile>,
    template: &Node,
    (definition, property): (&str, &str),
    resources: &[TemplateResource<'_>],
    scopes: &mut Scopes<'_, '_>,
) -> Option<IamRole> {
    let definition = resources.iter().find(|resource| resource.id == definition)?;
    let scope = scopes.of(definition.condition());
    let reference = definition.properties.get(property)?;
    let wanted = scope.resource_of(reference)?;
    let is_named = reference.get("Ref").is_some();
    let role = resources.iter().find(|resource| resource.id == wanted && resource.kind == "AWS::IAM::Role")?;
    let properties = role.resolved(scopes.of(role.condition()));
    let trust = properties.get("AssumeRolePolicyDocument").cloned();
    let trust = trust.map(|node| PolicyDocument::new(file, node));
    let policies = (!is_given_away(role.id, template, resources))
        .then(|| policies(file, role, &properties, resources, scopes))
        .flatten();
    IamRole::read(file.clone(), &properties, Dialect::CloudFormation, trust, policies, is_named)
}

/// The documents of a role's policies; `None` if one of them is not in the template.
fn policies(
    file: &Arc<SourceFile>,
    role: &TemplateResource<'_>,
    properties: &Node,
    resources: &[TemplateResource<'_>],
    scopes: &mut Scopes<'_, '_>,
) -> Option<Vec<PolicyDocument>> {
    let list = |node: &Node, key: &str| match node.get(key) {
        None => Some(Vec::new()),
        Some(Node { value: Value::List(items), .. }) => Some(items.clone()),
        Some(_) => None,
    };
    let document = |policy: &Node| policy.get("PolicyDocument").map(|node| PolicyDocument::new(file, node.clone()));
    let mut found = list(properties, "Policies")?.iter().map(document).collect::<Option<Vec<_>>>()?;
    let mut attached = Vec::new();
    for arn in list(role.properties, "ManagedPolicyArns")? {
        let resolved = scopes.of(role.condition()).resolve(&arn);
        match PolicyDocument::managed(file, &resolved) {
            Some(document) => found.push(document),
            None if matches!(resolved.value, Value::Null) => {}
            None => attached.push(arn),
        }
    }
    for policy in resources.iter().filter(|resource| POLICIES.contains(&resource.kind)) {
        let scope = scopes.of(policy.condition());
        let before = attached.len();
        attached.retain(|arn| scope.resource_of(arn) != Some(policy.id));
        let name = policy.properties.get("RoleName").cloned();
        let roles: Vec<Node> = list(policy.properties, "Roles")?.into_iter().chain(name).collect();
        // A role by its name is another one, unless the names are the same.
        let own_name = properties.get("RoleName");
        let is_own = |named: &Node| match named.text() {
            Some(name) if own_name.is_none_or(|own| own.text().is_some()) => {
                Some(own_name.and_then(Node::text) == Some(name))
            }
            Some(_) => None,
            None => scope.resource_of(named).map(|id| id == role.id),
        };
        let is_of_role = roles.iter().map(is_own).collect::<Option<Vec<_>>>()?.contains(&true);
        if before > attached.len() || is_of_role {
            found.push(document(&policy.resolved(scope))?);
        }
    }
    attached.is_empty().then_some(found)
}

/// Whether something else than a policy or a task definition may give a role more policies: another resource that has its
/// name or ARN, an output, or a macro.
fn is_given_away(role: &str, template: &Node, resources: &[TemplateResource<'_>]) -> bool {
    let is_foreign = |transform: &Node| transform.text().is_none_or(|name| !name.starts_with("AWS::"));
    let users = ["AWS::ECS::TaskDefinition", "AWS::IAM::InstanceProfile", "AWS::IAM::Role"];
    let others = resources.iter().filter(|other| !POLICIES.contains(&other.kind) && !users.contains(&other.kind));
    let transforms =
        template.get("Transform").map(|one| if one.items().is_empty() { vec![one] } else { one.children() });
    transforms.into_iter().flatten().any(is_foreign)
        || template.get("Outputs").is_some_and(|outputs| mentions(outputs, role))
        || others.filter(|other| other.id != role).any(|other| mentions(other.properties, role))
}

/// Whether a text in a value is a logical ID, or refers to its attributes.
fn mentions(node: &Node, id: &str) -> bool {
    let is_id = |text: &str| text.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| word == id);
    matches!(&node.value, Value::Text(text) if is_id(text))
        || node.children().into_iter().any(|child| mentions(child, id))
}

/// The resources with policies. Source:
/// <https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/AWS_IAM.html>
const POLICIES: [&str; 3] = ["AWS::IAM::Policy", "AWS::IAM::RolePolicy", "AWS::IAM::ManagedPolicy"];
