//! Terraform: the output of `terraform show -json` for a plan or a state. Source:
//! <https://developer.hashicorp.com/terraform/internals/json-format>

mod planned;
mod references;

use std::sync::Arc;

use self::{
    planned::{Planned, ROLE, resources},
    references::{References, Targets},
};
use super::{
    gathered::Gathered,
    terraform_app_mesh,
    terraform_attributes::{definition_node, role_node, service_node},
};
use crate::definition::{Dialect, IamRole, ModuleCall, PolicyDocument, ServiceUse, TaskDefinition, service_use};
use document::{InputProblem, Node, ParseError, SourceFile, Value, embedded_json};

const DEFINITION: &str = "aws_ecs_task_definition";

/// Whether a file is the output of `terraform show -json`.
pub(super) fn is_shown(node: &Node) -> bool {
    let parts = ["terraform_version", "planned_values", "values", "resource_changes"];
    node.get("format_version").is_some() && parts.iter().any(|part| node.get(part).is_some())
}

/// Reads every task definition, the services that run it, and the resources of App Mesh.
pub(super) fn read_shown(file: &Arc<SourceFile>, node: &Node, gathered: &mut Gathered) {
    let references = References::of(node);
    let all = resources(node);
    let roles = Roles::of(file, &references, &all);
    let mut read: Vec<(&Planned<'_>, TaskDefinition)> = Vec::new();
    for resource in all.iter().filter(|resource| resource.kind == DEFINITION) {
        let definition = definition(file, resource, &references, &mut gathered.problems);
        let definition = definition.map(|definition| TaskDefinition {
            declared_role: roles.role(resource, "task_role_arn"),
            declared_execution_role: roles.role(resource, "execution_role_arn"),
            ..definition
        });
        read.extend(definition.map(|definition| (resource, definition)));
    }
    let definitions = Targets::of(DEFINITION, read.iter().map(|(resource, _)| *resource));
    let mut uses: Vec<(usize, ServiceUse)> = Vec::new();
    for service in all.iter().filter(|resource| resource.kind == "aws_ecs_service") {
        let Some(index) = references.target_of(service, "task_definition", &definitions) else { continue };
        let node = service_node(&service.values, &service.place);
        let (service, mismatches) =
            service_use(file.clone(), service.address.to_owned(), &node, Dialect::TerraformPlan);
        uses.extend(service.map(|service| (index, service)));
        gathered.problems.extend(mismatches.iter().map(|mismatch| mismatch.problem(file, "")));
    }
    for (index, service) in uses {
        if let Some((_, definition)) = read.get_mut(index) {
            definition.services.push(service);
        }
    }
    gathered.material.definitions.extend(read.into_iter().map(|(_, definition)| definition));
    let app_mesh = all.iter().filter_map(|resource| {
        let Planned { kind, address, values, place, .. } = resource;
        terraform_app_mesh::read(file, kind, address, values, place.span, true)
    });
    gathered.material.resources.extend(app_mesh);
}

/// The roles of a plan or state.
struct Roles<'p> {
    file: &'p Arc<SourceFile>,
    references: &'p References<'p>,
    all: Vec<&'p Planned<'p>>,
    targets: Targets<'p>,
}

impl<'p> Roles<'p> {
    fn of(file: &'p Arc<SourceFile>, references: &'p References<'p>, all: &'p [Planned<'p>]) -> Self {
        let all: Vec<&Planned<'_>> = all.iter().filter(|resource| resource.kind == ROLE).collect();
        Self { file, references, targets: Targets::of(ROLE, all.iter().copied()), all }
    }

    /// The role that an attribute of a definition names. Its policies are not known: others than the plan's may be attached to it.
    fn role(&self, owner: &Planned<'_>, attribute: &str) -> Option<IamRole> {
        let role = self.all.get(self.references.target_of(owner, attribute, &self.targets)?)?;
        let trust = role.values.get("assume_role_policy").cloned();
        let trust = trust.map(|node| PolicyDocument::new(self.file, node));
        let node = role_node(&role.values, &role.place);
        let is_named = self.references.is_by_name(owner, attribute);
        IamRole::read(Arc::clone(self.file), &node, Dialect::TerraformPlan, trust, None, is_named)
    }
}

fn definition(
    file: &Arc<SourceFile>,
    resource: &Planned<'_>,
    references: &References<'_>,
    problems: &mut Vec<InputProblem>,
) -> Option<TaskDefinition> {
    let containers = containers(file, resource).unwrap_or_else(|error| {
        problems.push(InputProblem::at(file, error.span, format!("{}: {}", resource.address, error.reason)));
        Node { value: Value::Unknown, place: resource.place.clone() }
    });
    let is_set = |attribute: &str| references.is_set(resource.address, attribute);
    let node = definition_node(&resource.values, &resource.place, containers, &is_set);
    let (read, mismatches) =
        TaskDefinition::read(file.clone(), resource.address.to_owned(), &node, Dialect::TerraformPlan);
    problems.extend(mismatches.iter().map(|mismatch| mismatch.problem(file, resource.address)));
    let call = resource.module.map(|module| {
        let (file, span) = (Arc::clone(file), resource.place.span);
        Arc::new(ModuleCall { module: module.to_owned(), file, span })
    });
    Some(TaskDefinition { call, block: references.block(resource.address), ..read? })
}

/// The containers, which are JSON in a string. A missing string is unknown, because a task definition must have
/// containers.
fn containers(file: &SourceFile, resource: &Planned<'_>) -> Result<Node, ParseError> {
    match resource.values.get("container_definitions") {
        None => Ok(Node { value: Value::Unknown, place: resource.place.clone() }),
        Some(node) if matches!(node.value, Value::Unknown) => Ok(node.clone()),
        Some(node) => embedded_json(&file.text, node)
            .map_err(|error| ParseError::new(error.span, format!("container_definitions: {}", error.reason))),
    }
}
