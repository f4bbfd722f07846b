//! CloudFormation and SAM templates. Source:
//! <https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-ecs-taskdefinition.html>
//!
//! Intrinsic functions are computed as far as literals and the defaults of parameters allow. All other values are
//! unknown.

mod app_mesh;
mod cdk;
mod conditions;
mod functions;
mod mesh_values;
mod resolve;
mod resource;
mod scope;
mod substitute;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use self::{
    resource::{TemplateResource, has_nested_stacks, resources},
    scope::{Scopes, Template},
};
use super::problem::InputProblem;
use crate::{
    Material,
    app_mesh::Resource,
    definition::{Dialect, TaskDefinition, service_use},
    document::{Entry, Node, Value},
    source::SourceFile,
};

/// Whether a file is a template: by its format version or transform, or by the types of its resources.
pub(super) fn is_template(node: &Node) -> bool {
    let has_type = |entry: &Entry| entry.node.get("Type").and_then(Node::text).is_some_and(|kind| kind.contains("::"));
    node.get("AWSTemplateFormatVersion").is_some()
        || node.get("Resources").is_some_and(|resources| resources.entries().iter().any(has_type))
}

/// Reads every task definition, the services that run it, and the resources of App Mesh.
pub(super) fn read_template(
    file: &Arc<SourceFile>,
    node: &Node,
    material: &mut Material,
    problems: &mut Vec<InputProblem>,
) {
    let template = Template::of(node);
    let mut scopes = Scopes::new(&template);
    let is_synthesised = cdk::is_synthesised(node);
    let resources = resources(node, is_synthesised);
    let mut definitions = Vec::new();
    for resource in resources.iter().filter(|resource| resource.kind == "AWS::ECS::TaskDefinition") {
        let properties = resource.resolved(scopes.of(resource.condition()));
        // The result of a macro for the whole template is unknown.
        if matches!(properties.value, Value::Unknown) {
            continue;
        }
        match TaskDefinition::read(file.clone(), resource.id.to_owned(), &properties, Dialect::CloudFormation) {
            Ok(definition) => definitions.push(TaskDefinition {
                is_synthesised,
                construct: cdk::construct(resource.node),
                ..definition
            }),
            Err(mismatch) => problems.push(InputProblem::mismatch(file, resource.id, &mismatch)),
        }
    }
    for service in resources.iter().filter(|resource| resource.kind == "AWS::ECS::Service") {
        let scope = scopes.of(service.condition());
        let target = service.property("TaskDefinition").and_then(|node| scope.resource_of(node));
        let Some(definition) = definitions.iter_mut().find(|definition| Some(&*definition.address) == target) else {
            continue;
        };
        let properties = service.resolved(scope);
        let name = cdk::construct(service.node).unwrap_or_else(|| service.id.to_owned());
        match service_use(name, &properties, Dialect::CloudFormation) {
            Ok(service) => definition.services.push(service),
            Err(mismatch) => problems.push(InputProblem::mismatch(file, "", &mismatch)),
        }
    }
    let read = |resource: &TemplateResource<'_>| app_mesh::read(file, resource, scopes.of(resource.condition()));
    let mesh_resources: Vec<Resource> = resources.iter().filter_map(read).collect();
    if template.is_exhausted() {
        problems.push(InputProblem::of(&file.name, "its functions produce too much text"));
        return;
    }
    material.definitions.append(&mut definitions);
    material.resources.all.extend(mesh_resources);
    material.resources.has_nested_stacks |= has_nested_stacks(node);
}
