//! CloudFormation and SAM templates. Source:
//! <https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-ecs-taskdefinition.html>
//!
//! Intrinsic functions are computed as far as literals and the defaults of parameters allow. All other values are
//! unknown.

mod conditions;
mod functions;
mod resolve;
mod scope;
mod substitute;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use self::scope::{Scope, Scopes, Template};
use super::problem::InputProblem;
use crate::{
    Material,
    definition::{Dialect, TaskDefinition, service_use},
    document::{Entry, Node, Span, Value},
    source::SourceFile,
};

/// Whether a file is a template: by its format version or transform, or by the types of its resources.
pub(super) fn is_template(node: &Node) -> bool {
    let has_type = |entry: &Entry| entry.node.get("Type").and_then(Node::text).is_some_and(|kind| kind.contains("::"));
    node.get("AWSTemplateFormatVersion").is_some()
        || node.get("Resources").is_some_and(|resources| resources.entries().iter().any(has_type))
}

/// Reads every task definition, and the services that run it.
pub(super) fn read_template(
    file: &Arc<SourceFile>,
    node: &Node,
    material: &mut Material,
    problems: &mut Vec<InputProblem>,
) {
    let template = Template::of(node);
    let mut scopes = Scopes::new(&template);
    let mut resources = Vec::new();
    collect(node.get("Resources").map(Node::entries).unwrap_or_default(), &mut resources);
    let mut definitions = Vec::new();
    for resource in resources.iter().filter(|resource| resource.kind == "AWS::ECS::TaskDefinition") {
        let properties = resource.resolved(scopes.of(resource.condition()));
        // The result of a macro for the whole template is unknown.
        if matches!(properties.value, Value::Unknown) {
            continue;
        }
        match TaskDefinition::read(file.clone(), resource.id.to_owned(), &properties, Dialect::CloudFormation) {
            Ok(definition) => definitions.push(definition),
            Err(mismatch) => problems.push(InputProblem::mismatch(file, resource.id, &mismatch)),
        }
    }
    for service in resources.iter().filter(|resource| resource.kind == "AWS::ECS::Service") {
        let scope = scopes.of(service.condition());
        let target = service.properties.get("TaskDefinition").and_then(|node| scope.resource_of(node));
        let Some(definition) = definitions.iter_mut().find(|definition| Some(&*definition.address) == target) else {
            continue;
        };
        let properties = service.resolved(scope);
        match service_use(service.id.to_owned(), &properties, Dialect::CloudFormation) {
            Ok(service) => definition.services.push(service),
            Err(mismatch) => problems.push(InputProblem::mismatch(file, "", &mismatch)),
        }
    }
    if template.is_exhausted() {
        problems.push(InputProblem::of(&file.name, "its functions produce too much text"));
        return;
    }
    material.definitions.append(&mut definitions);
}

/// A resource of a template.
struct TemplateResource<'n> {
    id: &'n str,
    id_span: Span,
    kind: &'n str,
    node: &'n Node,
    properties: &'n Node,
}

impl<'n> TemplateResource<'n> {
    /// The condition under which it is created.
    fn condition(&self) -> Option<&'n str> {
        self.node.get("Condition").and_then(Node::text)
    }

    /// Its properties. Together, they have the place of its logical ID.
    fn resolved(&self, scope: &Scope<'_, '_>) -> Node {
        let mut properties = scope.resolve(self.properties);
        if matches!(properties.value, Value::Map(_)) {
            properties.place.span = self.id_span;
        }
        properties
    }
}

/// The resources, including those of `Fn::ForEach`: one of each loop, with an unknown loop variable.
fn collect<'n>(entries: &'n [Entry], out: &mut Vec<TemplateResource<'n>>) {
    for Entry { key, key_span, node } in entries {
        if key.starts_with("Fn::ForEach::") {
            collect(node.items().get(2).map(Node::entries).unwrap_or_default(), out);
        } else if let (Some(kind), Some(properties)) = (node.get("Type").and_then(Node::text), node.get("Properties")) {
            out.push(TemplateResource { id: key, id_span: *key_span, kind, node, properties });
        }
    }
}
