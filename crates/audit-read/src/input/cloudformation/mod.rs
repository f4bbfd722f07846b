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
mod undeclared;

use std::sync::Arc;

use self::{
    resource::{TemplateResource, collect, construct, is_synthesised},
    scope::{Scopes, Template},
};
use super::gathered::Gathered;
use crate::{
    app_mesh::Resource,
    definition::{Dialect, TaskDefinition, forget_excerpts, service_use},
};
use document::{Entry, InputProblem, Node, SourceFile, Value};

/// Whether a file is a template: by its format version or transform, or by the types of its resources.
pub(super) fn is_template(node: &Node) -> bool {
    let has_type = |entry: &Entry| entry.node.get("Type").and_then(Node::text).is_some_and(|kind| kind.contains("::"));
    node.get("AWSTemplateFormatVersion").is_some() || node.entries_of("Resources").iter().any(has_type)
}

/// Reads every task definition, the services that run it, and the resources of App Mesh.
pub(super) fn read_template(file: &Arc<SourceFile>, node: &Node, gathered: &mut Gathered) {
    let template = Template::of(file, node);
    let mut scopes = Scopes::new(&template);
    let is_synthesised = is_synthesised(node);
    let mut resources = Vec::new();
    collect(node.entries_of("Resources"), is_synthesised, &mut resources);
    if !template.is_completed {
        gathered.problems.extend(node.entries_of("Resources").iter().filter_map(|entry| unread(file, entry)));
    }
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
        let undeclared = template.take_undeclared();
        let own = TaskDefinition { construct, is_synthesised, created_by, repeated_keys, undeclared, ..definition };
        definitions.push(own);
    }
    for definition in &mut definitions {
        let mut role = |key| roles::role(file, node, (&definition.address, key), &resources, &mut scopes);
        (definition.declared_role, definition.declared_execution_role) =
            (role("TaskRoleArn"), role("ExecutionRoleArn"));
        definition.undeclared.extend(template.take_undeclared());
    }
    for declared in resources.iter().filter(|resource| resource.kind == "AWS::ECS::Service") {
        let service = declared;
        let scope = scopes.of(service.condition());
        let target = service.properties.get("TaskDefinition").and_then(|node| scope.resource_of(node));
        let run = definitions.iter().position(|definition| Some(&*definition.address) == target);
        let Some(definition) = definitions.get_mut(run.unwrap_or_default()) else { continue };
        if run.is_none() {
            // A service of no definition is not read, but its definition may be missing.
            service.properties.get("TaskDefinition").inspect(|node| drop(scope.resolve(node)));
            definition.undeclared.extend(template.take_undeclared());
            continue;
        }
        let properties = service.resolved(scope);
        let name = construct(service.node).unwrap_or_else(|| service.id.to_owned());
        let (service, mismatches) = service_use(file.clone(), name, &properties, Dialect::CloudFormation);
        let types = targets::target_types(declared, &resources, &mut scopes);
        definition.services.extend(service.map(|service| service.with_target_types(types)));
        definition.undeclared.extend(template.take_undeclared());
        gathered.problems.extend(mismatches.iter().map(|mismatch| mismatch.problem(file, "")));
    }
    template.take_undeclared();
    let read = |resource: &TemplateResource<'_>| {
        let read = app_mesh::read(file, resource, scopes.of(resource.condition()))?;
        Some(Resource { undeclared: template.take_undeclared(), ..read })
    };
    let mut mesh_resources: Vec<Resource> = resources.iter().filter_map(read).collect();
    let of_mesh = mesh_resources.iter_mut().map(|resource| &mut resource.undeclared);
    forget_excerpts(definitions.iter_mut().map(|definition| &mut definition.undeclared).chain(of_mesh));
    if template.is_exhausted() {
        gathered.problems.push(InputProblem::of(&file.name, "its functions produce too much text"));
        return;
    }
    gathered.material.definitions.append(&mut definitions);
    gathered.material.resources.extend(mesh_resources);
    gathered.material.resources.has_nested_stacks |= has_nested_stacks(node);
}

/// ECS's types that are read.
const READ: [&str; 2] = ["AWS::ECS::TaskDefinition", "AWS::ECS::Service"];

/// A resource that is not read because its type is misspelt, or because it has no properties.
fn unread(file: &SourceFile, Entry { key, key_span, node, .. }: &Entry) -> Option<InputProblem> {
    let kind = node.get("Type")?.text()?;
    let is_of_app_mesh = kind.starts_with("AWS::AppMesh::");
    let is_read = READ.contains(&kind) || app_mesh::kind(kind).is_some();
    let is_near = || READ.iter().any(|own| kind.strip_suffix('s').unwrap_or(kind).eq_ignore_ascii_case(own));
    let has_properties = node.entries().iter().any(|entry| entry.key == "Properties" || entry.key.contains("Fn::"));
    let reason = if is_read && !has_properties && kind != "AWS::AppMesh::Mesh" {
        format!("{key}: it has no Properties")
    } else if !is_read && (is_of_app_mesh || is_near()) {
        format!("{key}: CloudFormation has no type {kind}")
    } else {
        return None;
    };
    Some(InputProblem::at(file, *key_span, reason))
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
