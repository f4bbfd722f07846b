//! CloudFormation and SAM templates. Source:
//! <https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-ecs-taskdefinition.html>
//!
//! Intrinsic functions are computed from literals and the defaults of parameters. All other values are unknown.

mod app_mesh;
mod functions;
mod identities;
mod resource;
mod roles;
mod scope;
mod targets;
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
    definition::{Dialect, TaskDefinition, service_use},
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
        let mut role = |key| roles::role(file, node, (&definition.address, key), &resources, &mut scopes);
        (definition.declared_role, definition.declared_execution_role) =
            (role("TaskRoleArn"), role("ExecutionRoleArn"));
    }
    for declared in resources.iter().filter(|resource| resource.kind == "AWS::ECS::Service") {
        let service = declared;
        let scope = scopes.of(service.condition());
        let target = service.properties.get("TaskDefinition").and_then(|node| scope.resource_of(node));
        let Some(definition) = definitions.iter_mut().find(|definition| Some(&*definition.address) == target) else {
            continue;
        };
        let properties = service.resolved(scope);
        let name = construct(service.node).unwrap_or_else(|| service.id.to_owned());
        let (service, mismatches) = service_use(file.clone(), name, &properties, Dialect::CloudFormation);
        let types = targets::target_types(declared, &resources, &mut scopes);
        definition.services.extend(service.map(|service| service.with_target_types(types)));
        gathered.problems.extend(mismatches.iter().map(|mismatch| mismatch.problem(file, "")));
    }
    let read = |resource: &TemplateResource<'_>| app_mesh::read(file, resource, scopes.of(resource.condition()));
    let mesh_resources: Vec<Resource> = resources.iter().filter_map(read).collect();
    if template.is_exhausted() {
        gathered.problems.push(InputProblem::of(&file.name, "its functions produce too much text"));
        return;
    }
    gathered.material.definitions.append(&mut definitions);
    gathered.material.resources.extend(mesh_resources);
    gathered.material.resources.has_nested_stacks |= has_nested_stacks(node);
}

/// The types of nested stacks. Modules have names of their own:
/// <https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/modules.html>
const NESTED: [&str; 3] =
    ["AWS::CloudFormation::Stack", "AWS::CloudFormation::StackSet", "AWS::Serverless::Application"];

/// Whether a template creates stacks or modules, whose resources are declared elsewhere.
fn has_nested_stacks(template: &Node) -> bool {
    let mut kinds = template.entries_of("Resources").iter().filter_map(|entry| entry.node.get("Type")?.text());
    kinds.any(|kind| NESTED.contains(&kind) || kind.ends_with("::MODULE"))
}
