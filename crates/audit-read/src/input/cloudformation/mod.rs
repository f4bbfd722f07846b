//! CloudFormation and SAM templates. Source:
//! <https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-ecs-taskdefinition.html>
//!
//! Intrinsic functions are computed from literals and the defaults of parameters. All other values are unknown.

mod app_mesh;
mod functions;
mod resource;
mod scope;
#[cfg(test)]
mod tests;
mod text;

use std::sync::Arc;

use self::{
    resource::{TemplateResource, collect, construct, is_synthesised},
    scope::{Scopes, Template},
};
use super::gathered::Gathered;
use crate::{
    app_mesh::Resource,
    definition::{Dialect, IamRole, PolicyDocument, TaskDefinition, grants_no_lookup, service_use},
};
use document::{Entry, InputProblem, Node, SourceFile, Value};

/// Whether a file is a template: by its format version or transform, or by the types of its resources.
pub(super) fn is_template(node: &Node) -> bool {
    let has_type = |entry: &Entry| entry.node.get("Type").and_then(Node::text).is_some_and(|kind| kind.contains("::"));
    node.get("AWSTemplateFormatVersion").is_some() || node.entries_of("Resources").iter().any(has_type)
}

/// Reads every task definition, the services that run it, and the resources of App Mesh.
pub(super) fn read_template(file: &Arc<SourceFile>, node: &Node, gathered: &mut Gathered) {
    let template = Template::of(node);
    let mut scopes = Scopes::new(&template);
    let is_synthesised = is_synthesised(node);
    let mut resources = Vec::new();
    collect(node.entries_of("Resources"), is_synthesised, &mut resources);
    let mut definitions = Vec::new();
    for resource in resources.iter().filter(|resource| resource.kind == "AWS::ECS::TaskDefinition") {
        let properties = resource.resolved(scopes.of(resource.condition()));
        // The result of a macro for the whole template is unknown.
        if matches!(properties.value, Value::Unknown) {
            continue;
        }
        let (definition, mismatches) =
            TaskDefinition::read(file.clone(), resource.id.to_owned(), &properties, Dialect::CloudFormation);
        gathered.problems.extend(mismatches.iter().map(|mismatch| mismatch.problem(file, resource.id)));
        let Some(definition) = definition else { continue };
        let own = node.entries_of("Resources").iter().find(|entry| entry.key == resource.id);
        let above = if definitions.is_empty() { node.entries() } else { &[] };
        let repeated = above.iter().chain(own).filter_map(Entry::repeated);
        let repeated_keys = repeated.chain(resource.node.repeated_keys()).collect();
        let construct = construct(resource.node);
        let created_by = resource.condition().is_none().then(|| file.name.clone());
        definitions.push(TaskDefinition { construct, is_synthesised, created_by, repeated_keys, ..definition });
    }
    for definition in &mut definitions {
        definition.declared_role = role(file, node, &definition.address, &resources, &mut scopes);
    }
    for service in resources.iter().filter(|resource| resource.kind == "AWS::ECS::Service") {
        let scope = scopes.of(service.condition());
        let target = service.properties.get("TaskDefinition").and_then(|node| scope.resource_of(node));
        let Some(definition) = definitions.iter_mut().find(|definition| Some(&*definition.address) == target) else {
            continue;
        };
        let properties = service.resolved(scope);
        let name = construct(service.node).unwrap_or_else(|| service.id.to_owned());
        let (service, mismatches) = service_use(file.clone(), name, &properties, Dialect::CloudFormation);
        definition.services.extend(service);
        gathered.problems.extend(mismatches.iter().map(|mismatch| mismatch.problem(file, "")));
    }
    let read = |resource: &TemplateResource<'_>| app_mesh::read(file, resource, scopes.of(resource.condition()));
    let mesh_resources: Vec<Resource> = resources.iter().filter_map(read).collect();
    if template.is_exhausted() {
        gathered.problems.push(InputProblem::of(&file.name, "its functions produce too much text"));
        return;
    }
    gathered.material.definitions.append(&mut definitions);
    gathered.material.resources.all.extend(mesh_resources);
    gathered.material.resources.has_nested_stacks |= has_nested_stacks(node);
}

/// The task role of a definition, if the template declares it.
fn role(
    file: &Arc<SourceFile>,
    template: &Node,
    definition: &str,
    resources: &[TemplateResource<'_>],
    scopes: &mut Scopes<'_, '_>,
) -> Option<IamRole> {
    let definition = resources.iter().find(|resource| resource.id == definition)?;
    let scope = scopes.of(definition.condition());
    let wanted = scope.resource_of(definition.properties.get("TaskRoleArn")?)?;
    let role = resources.iter().find(|resource| resource.id == wanted && resource.kind == "AWS::IAM::Role")?;
    let properties = role.resolved(scopes.of(role.condition()));
    let policies =
        if is_given_away(role.id, template, resources) { None } else { policies(role, &properties, resources, scopes) };
    let with_file = |node: Node| PolicyDocument { file: Arc::clone(file), node };
    let policies = policies.map(|documents| documents.into_iter().map(with_file).collect());
    IamRole::read(file.clone(), &properties, Dialect::CloudFormation, policies)
}

/// The documents of a role's policies; `None` if one of them is not in the template.
fn policies(
    role: &TemplateResource<'_>,
    properties: &Node,
    resources: &[TemplateResource<'_>],
    scopes: &mut Scopes<'_, '_>,
) -> Option<Vec<Node>> {
    let list = |node: &Node, key: &str| match node.get(key) {
        None => Some(Vec::new()),
        Some(Node { value: Value::List(items), .. }) => Some(items.clone()),
        Some(_) => None,
    };
    let document = |policy: &Node| policy.get("PolicyDocument").cloned();
    let mut found = list(properties, "Policies")?.iter().map(document).collect::<Option<Vec<_>>>()?;
    let mut managed = list(role.properties, "ManagedPolicyArns")?;
    managed.retain(|arn| !grants_no_lookup(arn));
    for policy in resources.iter().filter(|resource| POLICIES.contains(&resource.kind)) {
        let scope = scopes.of(policy.condition());
        let attached = managed.len();
        managed.retain(|arn| scope.resource_of(arn) != Some(policy.id));
        let name = policy.properties.get("RoleName").cloned();
        let roles: Vec<Node> = list(policy.properties, "Roles")?.into_iter().chain(name).collect();
        let roles = roles.iter().map(|role| scope.resource_of(role)).collect::<Option<Vec<_>>>()?;
        if attached > managed.len() || roles.contains(&role.id) {
            found.push(document(&policy.resolved(scope))?);
        }
    }
    managed.is_empty().then_some(found)
}

/// Whether something else than a policy or a task definition may give a role more policies: another resource that has its
/// name or ARN, an output, or a macro.
fn is_given_away(role: &str, template: &Node, resources: &[TemplateResource<'_>]) -> bool {
    let is_foreign = |transform: &Node| transform.text().is_none_or(|name| !name.starts_with("AWS::"));
    let users = ["AWS::ECS::TaskDefinition", "AWS::IAM::InstanceProfile"];
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

/// The types of nested stacks. Modules have names of their own:
/// <https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/modules.html>
const NESTED: [&str; 3] =
    ["AWS::CloudFormation::Stack", "AWS::CloudFormation::StackSet", "AWS::Serverless::Application"];

/// Whether a template creates stacks or modules, whose resources are declared elsewhere.
fn has_nested_stacks(template: &Node) -> bool {
    let mut kinds = template.entries_of("Resources").iter().filter_map(|entry| entry.node.get("Type")?.text());
    kinds.any(|kind| NESTED.contains(&kind) || kind.ends_with("::MODULE"))
}
