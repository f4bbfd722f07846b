//! Blocks of a module as what they declare: a task definition, a service, a resource of App Mesh.

use std::sync::Arc;

use document::{HOLE, InputProblem, Node, ParseError, Place, Value, embedded_json};
use terraform::{
    Attribute, Block, Instance, Module, Reader,
    values::{closed, unknown},
};

use super::{
    roles::Roles,
    targets::{Target, target},
};
use crate::{
    app_mesh::{Presence, Resource},
    definition::{Dialect, ModuleCall, ServiceUse, TaskDefinition, service_use},
    input::{
        terraform_app_mesh,
        terraform_attributes::{definition_node, service_node},
    },
};

/// The instances of a resource of App Mesh.
pub(super) fn app_mesh(module: &Module<'_>, block: &Block) -> Vec<Resource> {
    let file = module.directory().file(block.file);
    let names = ["name", "mesh_name", "mesh_owner", "virtual_router_name", "virtual_gateway_name"];
    // One of another region is in another mesh of the same name.
    let has_instances =
        ["count", "for_each", "provider", "region"].iter().any(|name| block.body.attribute(name).is_some());
    let read = |instance: &Instance| {
        let values = module.reader(block, instance).values(&names, &["spec"]);
        let (kind, address) = (block.label(0)?, address(module, block, instance));
        let resource = terraform_app_mesh::read(&file, kind, &address, &values, block.name_span(), false)?;
        let presence = if has_instances { Presence::Conditional } else { resource.presence };
        Some(Resource { presence, ..resource })
    };
    module.instances(block).iter().filter_map(read).collect()
}

/// What was read, and the problems with values that count as unknown.
pub(super) type Read<T> = (Option<T>, Vec<InputProblem>);

/// Reads an instance of a task definition.
pub(super) fn definition(
    module: &Module<'_>,
    block: &Block,
    instance: &Instance,
    roles: &Roles,
) -> Read<TaskDefinition> {
    let file = module.directory().file(block.file);
    // A HashiCorp module makes one definition, which is known by the address of its call.
    let address = if module.is_provided() { module.address().to_owned() } else { address(module, block, instance) };
    let reader = module.reader(block, instance);
    let mut problems = Vec::new();
    let containers = containers(module, reader).unwrap_or_else(|error| {
        problems.push(InputProblem::at(&file, error.span, format!("{address}: {}", error.reason)));
        unknown(error.span)
    });
    let names = [
        "family",
        "network_mode",
        "cpu",
        "memory",
        "pid_mode",
        "ipc_mode",
        "task_role_arn",
        "execution_role_arn",
        "requires_compatibilities",
        "tags",
    ];
    let values = reader.values(&names, &["volume", "proxy_configuration", "runtime_platform"]);
    let values = module.tagged(values);
    let place = Place::fixed(block.name_span());
    let is_set = |attribute: &str| Some(block.body.attribute(attribute).is_some());
    let node = definition_node(&values, &place, containers, &is_set);
    let (read, mismatches) = TaskDefinition::read(file.clone(), address.clone(), &node, Dialect::Terraform);
    problems.extend(mismatches.iter().map(|mismatch| mismatch.problem(&file, &address)));
    let role = |name| block.body.attribute(name).and_then(|attribute| roles.role(module, attribute));
    let (declared_role, declared_execution_role) = (role("task_role_arn"), role("execution_role_arn"));
    let created_by = (!module.is_repeated(block)).then(|| module.root_path().to_string_lossy().into_owned());
    let call = module.call().map(|call| {
        Arc::new(ModuleCall { module: call.module.clone(), file: Arc::clone(&call.file), span: call.span })
    });
    let read = read.map(|read| TaskDefinition { call, created_by, declared_role, declared_execution_role, ..read });
    (read, problems)
}

/// Reads an instance of a service.
pub(super) fn service(module: &Module<'_>, block: &Block, instance: &Instance) -> Read<ServiceUse> {
    let reader = module.reader(block, instance);
    let blocks = [
        "capacity_provider_strategy",
        "deployment_configuration",
        "deployment_controller",
        "load_balancer",
        "network_configuration",
        "ordered_placement_strategy",
        "placement_constraints",
    ];
    let names = [
        "name",
        "cluster",
        "propagate_tags",
        "launch_type",
        "scheduling_strategy",
        "enable_execute_command",
        "iam_role",
        "platform_version",
        "deployment_minimum_healthy_percent",
        "deployment_maximum_percent",
        "tags",
    ];
    let values = reader.values(&names, &blocks);
    let values = module.tagged(values);
    let node = service_node(&values, &Place::fixed(block.name_span()));
    let file = module.directory().file(block.file);
    let (service, mismatches) = service_use(file.clone(), address(module, block, instance), &node, Dialect::Terraform);
    let service = service.map(|service| service.with_target_types(target_types(module, block)));
    (service, mismatches.iter().map(|mismatch| mismatch.problem(&file, "")).collect())
}

/// The type of the targets of each load balancer of a service, whose target groups the module declares.
fn target_types(module: &Module<'_>, service: &Block) -> Vec<Option<String>> {
    let of_balancer = |balancer: &Block| {
        let arn = balancer.body.attribute("target_group_arn")?;
        let Target::Resource(name) = target(module, arn, "aws_lb_target_group")? else { return None };
        let is_it =
            |block: &&Block| block.label(0) == Some("aws_lb_target_group") && block.label(1) == Some(name.as_str());
        let group = module.directory().resources.iter().find(is_it)?;
        match group.body.attribute("target_type") {
            None => Some("instance".to_owned()),
            Some(kind) => kind.expression.literal().map(str::to_owned),
        }
    };
    service.body.blocks("load_balancer").map(of_balancer).collect()
}

/// The address of an instance: `module.web.aws_ecs_task_definition.this[0]`.
fn address(module: &Module<'_>, block: &Block, instance: &Instance) -> String {
    let labels: Vec<&str> = block.labels.iter().map(|label| label.text.as_str()).collect();
    module.address_of(&format!("{}{}", labels.join("."), instance.suffix))
}

/// The containers. Edits reach those that are written as the argument of `jsonencode`.
fn containers(module: &Module<'_>, reader: Reader<'_>) -> Result<Node, ParseError> {
    let Some(attribute) = reader.block().body.attribute("container_definitions") else {
        return Ok(reader.unknown("it has no container_definitions"));
    };
    if let Some(argument) = attribute.expression.encoded() {
        return Ok(closed(reader.value(&Attribute { expression: argument, ..attribute.clone() })));
    }
    let value = reader.value(attribute);
    if matches!(value.value, Value::List(_)) && !module.is_provided() {
        let reason = "container_definitions: a list where JSON in a string is expected; write jsonencode([…])";
        return Err(ParseError::new(value.place.span, reason));
    }
    let Value::Text(text) = &value.value else { return Ok(value) };
    let file = module.directory().file(reader.block().file);
    let route = value.place.route.clone().filter(|_| attribute.expression.is_json());
    match embedded_json(&file.text, &Node { place: Place { route, ..value.place.clone() }, ..value.clone() }) {
        Ok(containers) => Ok(containers),
        // An unknown part may be more than a value.
        Err(_) if text.contains(HOLE) => Ok(unknown(value.place.span)),
        Err(error) => Err(ParseError::new(error.span, format!("container_definitions: {}", error.reason))),
    }
}
