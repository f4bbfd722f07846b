//! Task definitions and services that the sources declare as resources.

use hcl_edit::expr::Expression as Native;

use super::{
    blocks::{Reader, texts},
    frame::Frame,
    instance::Instance,
    module::Module,
    syntax::{Attribute, Block, Expression},
    values::{closed, unknown},
};
use crate::{
    definition::{Dialect, ServiceUse, TaskDefinition, service_use},
    document::{HOLE, Node, ParseError, Place, Value, embedded_json},
    input::{
        InputProblem,
        terraform::{definition_node, service_node},
    },
};

const TEXTS: [&str; 4] = ["family", "network_mode", "task_role_arn", "execution_role_arn"];

/// Reads an instance of a task definition.
pub(super) fn definition(
    module: &Module<'_>,
    block: &Block,
    instance: &Instance,
) -> Result<TaskDefinition, InputProblem> {
    let file = module.directory.file(block.file);
    let address = address(module, block, instance);
    let reader = Reader { module, block, instance, depth: 0 };
    let containers = containers(&reader)
        .map_err(|error| InputProblem::at(&file, error.span, format!("{address}: {}", error.reason)))?;
    let names = [TEXTS.as_slice(), &["requires_compatibilities", "tags"]].concat();
    let mut values = reader.values(&names, &["volume", "proxy_configuration"]);
    texts(&mut values, &TEXTS);
    without_route(&mut values, "tags");
    let values = module.tagged(values);
    let place = Place::fixed(block.name_span());
    let is_set = |attribute: &str| Some(block.body.attribute(attribute).is_some());
    let node = definition_node(&values, &place, containers, &is_set);
    TaskDefinition::read(file.clone(), address.clone(), &node, Dialect::Terraform)
        .map_err(|mismatch| InputProblem::mismatch(&file, &address, &mismatch))
}

/// Edits of a map as a whole are not possible: ECS has a list instead.
fn without_route(values: &mut Node, name: &str) {
    let Value::Map(entries) = &mut values.value else { return };
    entries.iter_mut().filter(|entry| entry.key == name).for_each(|entry| entry.node.place.route = None);
}

/// Reads an instance of a service.
pub(super) fn service(module: &Module<'_>, block: &Block, instance: &Instance) -> Result<ServiceUse, InputProblem> {
    let reader = Reader { module, block, instance, depth: 0 };
    let mut values = reader.values(&["name", "propagate_tags", "launch_type", "tags"], &["capacity_provider_strategy"]);
    texts(&mut values, &["name", "propagate_tags", "launch_type"]);
    let values = module.tagged(values);
    let node = service_node(&values, &Place::fixed(block.name_span()));
    let file = module.directory.file(block.file);
    service_use(address(module, block, instance), &node, Dialect::Terraform)
        .map_err(|mismatch| InputProblem::mismatch(&file, "", &mismatch))
}

/// The address of an instance: `module.web.aws_ecs_task_definition.this[0]`.
fn address(module: &Module<'_>, block: &Block, instance: &Instance) -> String {
    let labels: Vec<&str> = block.labels.iter().map(|label| label.text.as_str()).collect();
    module.address_of(&format!("{}{}", labels.join("."), instance.suffix))
}

/// The containers. Edits reach those that are written as the argument of `jsonencode`.
fn containers(reader: &Reader<'_, '_>) -> Result<Node, ParseError> {
    let Some(attribute) = reader.block.body.attribute("container_definitions") else {
        let span = reader.block.name_span();
        return Ok(reader.module.unknown(Frame::of(reader.block.file), span, "it has no container_definitions"));
    };
    if let Some(argument) = encoded(&attribute.expression) {
        let argument = Attribute { expression: Expression::Native(Box::new(argument.clone())), ..attribute.clone() };
        return Ok(closed(reader.value(&argument)));
    }
    let value = reader.value(attribute);
    let Value::Text(text) = &value.value else { return Ok(value) };
    let file = reader.module.directory.file(reader.block.file);
    let route = value.place.route.clone().filter(|_| matches!(attribute.expression, Expression::Json(_)));
    match embedded_json(&file.text, &Node { place: Place { route, ..value.place.clone() }, ..value.clone() }) {
        Ok(containers) => Ok(containers),
        // An unknown part may be more than a value.
        Err(_) if text.contains(HOLE) => Ok(unknown(value.place.span)),
        Err(error) => Err(ParseError::new(error.span, format!("container_definitions: {}", error.reason))),
    }
}

/// The argument of `jsonencode`.
fn encoded(expression: &Expression) -> Option<&Native> {
    let Expression::Native(native) = expression else { return None };
    let mut native: &Native = native;
    while let Native::Parenthesis(parenthesis) = native {
        native = parenthesis.inner();
    }
    let call = native.as_func_call().filter(|call| call.name.name.as_str() == "jsonencode")?;
    call.args.get(0)
}
