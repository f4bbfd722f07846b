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
    definition::{Dialect, TaskDefinition, Undeclared, forget_excerpts, service_use},
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
    let mut resources = Vec::new();
    collect(node.entries_of("Resources"), is_synthesised(node), &mut resources);
    if !template.is_completed {
        gathered.problems.extend(node.entries_of("Resources").iter().filter_map(|entry| unread(file, entry)));
    }
    let mut reading = Reading::of(file, node, &template, &resources);
    let mut definitions = reading.definitions();
    reading.services(&mut definitions);
    let mut mesh_resources = reading.mesh_resources();
    let Reading { mut undeclared, problems, .. } = reading;
    gathered.problems.extend(problems);
    let of_definitions = definitions.iter_mut().map(|definition| &mut definition.undeclared);
    let of_mesh = mesh_resources.iter_mut().map(|resource| &mut resource.undeclared);
    forget_excerpts(of_definitions.chain(of_mesh).chain([&mut undeclared]));
    if template.is_exhausted() {
        gathered.problems.push(InputProblem::of(&file.name, "its functions produce too much text"));
        return;
    }
    gathered.material.definitions.append(&mut definitions);
    gathered.material.resources.extend(mesh_resources);
    gathered.material.resources.has_nested_stacks |= has_nested_stacks(node);
    gathered.material.undeclared.append(&mut undeclared);
}

/// A template that is being read.
struct Reading<'t, 'n> {
    file: &'t Arc<SourceFile>,
    node: &'n Node,
    template: &'t Template<'n>,
    resources: &'t [TemplateResource<'n>],
    scopes: Scopes<'t, 'n>,
    /// What could not be read.
    problems: Vec<InputProblem>,
    /// Undeclared references of no definition and no resource of App Mesh.
    undeclared: Vec<Undeclared>,
}

impl<'t, 'n> Reading<'t, 'n> {
    fn of(
        file: &'t Arc<SourceFile>,
        node: &'n Node,
        template: &'t Template<'n>,
        resources: &'t [TemplateResource<'n>],
    ) -> Self {
        let scopes = Scopes::new(template);
        Self { file, node, template, resources, scopes, problems: Vec::new(), undeclared: Vec::new() }
    }

    /// The resources of a type.
    fn of_type(&self, kind: &'static str) -> impl Iterator<Item = &'t TemplateResource<'n>> + use<'t, 'n> {
        self.resources.iter().filter(move |resource| resource.kind == kind)
    }

    /// The task definitions, with their roles.
    fn definitions(&mut self) -> Vec<TaskDefinition> {
        let template = self.template;
        let mut definitions = Vec::new();
        for resource in self.of_type("AWS::ECS::TaskDefinition") {
            let is_first = definitions.is_empty();
            match template.with_undeclared(|| self.definition(resource, is_first)) {
                (Some(definition), undeclared) => definitions.push(TaskDefinition { undeclared, ..definition }),
                (None, undeclared) => self.undeclared.extend(undeclared),
            }
        }
        definitions
    }

    fn definition(&mut self, resource: &TemplateResource<'_>, is_first: bool) -> Option<TaskDefinition> {
        let (file, id) = (self.file, resource.id);
        let properties = resource.resolved(self.scopes.of(resource.condition()));
        // The result of a macro for the whole template is unknown.
        if matches!(properties.value, Value::Unknown) {
            return None;
        }
        let (definition, mismatches) =
            TaskDefinition::read(file.clone(), id.to_owned(), &properties, Dialect::CloudFormation);
        self.problems.extend(mismatches.iter().map(|mismatch| mismatch.problem(file, id)));
        let mut definition = definition?;
        let own = self.node.entries_of("Resources").iter().find(|entry| entry.key == id);
        let above = if is_first { self.node.entries() } else { &[] };
        let repeated = above.iter().chain(own).filter_map(Entry::repeated);
        let mut role = |key| roles::role(file, self.node, (id, key), self.resources, &mut self.scopes);
        let (mut declared_role, mut declared_execution_role) = (role("TaskRoleArn"), role("ExecutionRoleArn"));
        let declares = |name: &str| self.template.declares(name);
        let of_roles =
            declared_role.iter_mut().chain(&mut declared_execution_role).map(|role| &mut role.bare_variables);
        for bare in of_roles.chain([&mut definition.bare_variables]) {
            let candidates = bare.iter().filter(|_| !self.template.is_completed);
            *bare = candidates.filter_map(|one| one.lost(&file.text, &declares)).collect();
        }
        Some(TaskDefinition {
            construct: construct(resource.node),
            is_synthesised: resource.is_synthesised,
            created_by: resource.condition().is_none().then(|| file.name.clone()),
            repeated_keys: repeated.chain(resource.node.repeated_keys()).collect(),
            declared_role,
            declared_execution_role,
            ..definition
        })
    }

    /// Adds the services to the definitions that they run.
    fn services(&mut self, definitions: &mut [TaskDefinition]) {
        let template = self.template;
        for resource in self.of_type("AWS::ECS::Service") {
            match template.with_undeclared(|| self.service(resource, definitions)) {
                (Some(definition), undeclared) => definition.undeclared.extend(undeclared),
                (None, undeclared) => self.undeclared.extend(undeclared),
            }
        }
    }

    /// Adds a service to the definition that it runs, which is returned.
    fn service<'d>(
        &mut self,
        resource: &TemplateResource<'_>,
        definitions: &'d mut [TaskDefinition],
    ) -> Option<&'d mut TaskDefinition> {
        let scope = self.scopes.of(resource.condition());
        let reference = resource.properties.get("TaskDefinition");
        let target = reference.and_then(|node| scope.resource_of(node));
        let run = definitions.iter_mut().find(|definition| Some(&*definition.address) == target);
        let Some(definition) = run else {
            // A service of no definition is not read, but its definition may be missing.
            reference.inspect(|node| drop(scope.resolve(node)));
            return None;
        };
        let properties = resource.resolved(scope);
        let name = construct(resource.node).unwrap_or_else(|| resource.id.to_owned());
        let (service, mismatches) = service_use(self.file.clone(), name, &properties, Dialect::CloudFormation);
        let types = targets::target_types(resource, self.resources, &mut self.scopes);
        definition.services.extend(service.map(|service| service.with_target_types(types)));
        self.problems.extend(mismatches.iter().map(|mismatch| mismatch.problem(self.file, "")));
        Some(definition)
    }

    fn mesh_resources(&mut self) -> Vec<Resource> {
        let mut found = Vec::new();
        for resource in self.resources.iter().filter(|resource| app_mesh::kind(resource.kind).is_some()) {
            let read = || app_mesh::read(self.file, resource, self.scopes.of(resource.condition()));
            let (read, undeclared) = self.template.with_undeclared(read);
            found.extend(read.map(|read| Resource { undeclared, ..read }));
        }
        found
    }
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
