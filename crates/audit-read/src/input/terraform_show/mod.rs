//! Terraform: the output of `terraform show -json` for a plan or a state. Source:
//! <https://developer.hashicorp.com/terraform/internals/json-format>

mod app_mesh;
mod attributes;
mod references;

use std::{collections::BTreeMap, sync::Arc};

pub(super) use self::attributes::{definition_node, role_node, service_node};
use self::references::{Definitions, References};
use super::Gathered;
use crate::definition::{Dialect, ModuleCall, ServiceUse, TaskDefinition, service_use};
use document::{Entry, InputProblem, Node, ParseError, Place, SourceFile, Value, embedded_json};

/// Whether a file is the output of `terraform show -json`.
pub(super) fn is_shown(node: &Node) -> bool {
    let parts = ["terraform_version", "planned_values", "values", "resource_changes"];
    node.get("format_version").is_some() && parts.iter().any(|part| node.get(part).is_some())
}

/// Reads every task definition, the services that run it, and the resources of App Mesh.
pub(super) fn read_shown(file: &Arc<SourceFile>, node: &Node, gathered: &mut Gathered) {
    let references = References::of(node);
    let all = resources(node);
    let mut read: Vec<(&Planned<'_>, TaskDefinition)> = Vec::new();
    for resource in all.iter().filter(|resource| resource.kind == "aws_ecs_task_definition") {
        match definition(file, resource, &references) {
            Ok(definition) => read.push((resource, definition)),
            Err(problem) => gathered.problems.push(problem),
        }
    }
    let definitions = Definitions::of(read.iter().map(|(resource, _)| *resource));
    let mut uses: Vec<(usize, ServiceUse)> = Vec::new();
    for service in all.iter().filter(|resource| resource.kind == "aws_ecs_service") {
        let Some(index) = references.definition_of(service, &definitions) else { continue };
        let node = service_node(&service.values, &service.place);
        match service_use(file.clone(), service.address.to_owned(), &node, Dialect::Ecs) {
            Ok(service) => uses.push((index, service)),
            Err(mismatch) => gathered.problems.push(mismatch.problem(file, "")),
        }
    }
    for (index, service) in uses {
        if let Some((_, definition)) = read.get_mut(index) {
            definition.services.push(service);
        }
    }
    gathered.material.definitions.extend(read.into_iter().map(|(_, definition)| definition));
    gathered.material.resources.all.extend(all.iter().filter_map(|resource| app_mesh::read(file, resource)));
}

fn definition(
    file: &Arc<SourceFile>,
    resource: &Planned<'_>,
    references: &References<'_>,
) -> Result<TaskDefinition, InputProblem> {
    let containers = containers(file, resource)
        .map_err(|error| InputProblem::at(file, error.span, format!("{}: {}", resource.address, error.reason)))?;
    let is_set = |attribute: &str| references.is_set(resource.address, attribute);
    let node = definition_node(&resource.values, &resource.place, containers, &is_set);
    let read = TaskDefinition::read(file.clone(), resource.address.to_owned(), &node, Dialect::Ecs)
        .map_err(|mismatch| mismatch.problem(file, resource.address))?;
    let call = resource.module.map(|module| {
        let (file, span) = (Arc::clone(file), resource.place.span);
        Arc::new(ModuleCall { module: module.to_owned(), file, span })
    });
    Ok(TaskDefinition { call, block: references.block(resource.address), ..read })
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

/// A resource after the plan is applied.
struct Planned<'n> {
    /// Its address: `module.web["a"].aws_ecs_service.this[0]`.
    address: &'n str,
    /// The address of its module; `None` for the root module.
    module: Option<&'n str>,
    /// Its type: `aws_ecs_service`.
    kind: &'n str,
    /// Its attributes. No edit reaches them: the file is generated.
    values: Node,
    /// The place of its address.
    place: Place,
}

/// The prefixes of the types that are read.
const TYPES: [&str; 2] = ["aws_ecs_", "aws_appmesh_"];

/// All resources of ECS and App Mesh, in the order of the file, without data sources.
fn resources(shown: &Node) -> Vec<Planned<'_>> {
    let planned = shown.get("planned_values").or_else(|| shown.get("values"));
    let Some(root) = planned.and_then(|values| values.get("root_module")) else { return Vec::new() };
    let mut out = Vec::new();
    collect(root, &unknown_attributes(shown), &mut out);
    out
}

fn collect<'n>(module: &'n Node, unknown: &BTreeMap<&str, &Node>, out: &mut Vec<Planned<'n>>) {
    let own = module.get("address").and_then(Node::text);
    for resource in module.items_of("resources") {
        let text = |key: &str| resource.get(key).and_then(Node::text);
        let (Some(address), Some(kind), Some(values)) = (text("address"), text("type"), resource.get("values")) else {
            continue;
        };
        if text("mode") == Some("data") || !TYPES.iter().any(|prefix| kind.starts_with(prefix)) {
            continue;
        }
        let place = resource.get("address").map(|node| Place::fixed(node.place.span)).unwrap_or_default();
        out.push(Planned {
            address,
            module: own,
            kind,
            values: overlaid(values, unknown.get(address).copied()),
            place,
        });
    }
    for child in module.items_of("child_modules") {
        collect(child, unknown, out);
    }
}

/// The attributes that are known only after the plan is applied, by address.
fn unknown_attributes(shown: &Node) -> BTreeMap<&str, &Node> {
    let changes = shown.items_of("resource_changes");
    // A replaced object that is still to be destroyed has the same address.
    let current = changes.iter().filter(|change| change.get("deposed").is_none());
    current
        .filter_map(|change| Some((change.get("address")?.text()?, change.get("change")?.get("after_unknown")?)))
        .collect()
}

/// The value without routes for edits. Parts that are `true` in `unknown` become unknown.
fn overlaid(value: &Node, unknown: Option<&Node>) -> Node {
    let place = Place::fixed(value.place.span);
    if let Some(Node { value: Value::Bool(true), .. }) = unknown {
        return Node { value: Value::Unknown, place };
    }
    let value = match &value.value {
        Value::Map(entries) => Value::Map(overlaid_map(entries, unknown, &place)),
        Value::List(items) => {
            let unknown = unknown.map(Node::items).unwrap_or_default();
            Value::List(items.iter().enumerate().map(|(index, item)| overlaid(item, unknown.get(index))).collect())
        }
        other => other.clone(),
    };
    Node { value, place }
}

fn overlaid_map(entries: &[Entry], unknown: Option<&Node>, owner: &Place) -> Vec<Entry> {
    let known = entries.iter().map(|entry| {
        let node = overlaid(&entry.node, unknown.and_then(|unknown| unknown.get(&entry.key)));
        Entry::new(&*entry.key, entry.key_span, node)
    });
    let mut all: Vec<Entry> = known.collect();
    let added = unknown
        .map(Node::entries)
        .unwrap_or_default()
        .iter()
        .filter(|added| is_unknown_somewhere(&added.node) && entries.iter().all(|entry| entry.key != added.key));
    all.extend(
        added.map(|added| Entry::new(&*added.key, owner.span, Node { value: Value::Unknown, place: owner.clone() })),
    );
    all
}

fn is_unknown_somewhere(marks: &Node) -> bool {
    match &marks.value {
        Value::Bool(is_unknown) => *is_unknown,
        Value::List(items) => items.iter().any(is_unknown_somewhere),
        Value::Map(entries) => entries.iter().any(|entry| is_unknown_somewhere(&entry.node)),
        _ => false,
    }
}
