//! The task definition and the service of a call.

use serde_json::json;

use super::{
    client, controllers, dataplane,
    inputs::Inputs,
    naming::{namespace, service_name},
    release::{Kind, Release},
};
use crate::{
    definition::{Dialect, Mismatch, ServiceUse, TaskDefinition, service_use},
    document::{HOLE, Node, Place, Value},
    input::{
        terraform::{definition_node, service_node},
        terraform_source::{
            blocks::Reader,
            values::{OPEN_KEY, closed, entry, text, unknown},
        },
    },
};

/// The task definition that a call makes.
pub(in super::super) fn definition(
    reader: &Reader<'_, '_>,
    kind: Kind,
    release: Release,
    address: String,
) -> Result<TaskDefinition, Mismatch> {
    let inputs = Inputs::of(reader, release);
    let containers = match kind {
        Kind::Controller | Kind::AclController => controllers::containers(&inputs, kind),
        Kind::MeshTask if release.minor >= 7 => dataplane::mesh_task(&inputs),
        Kind::GatewayTask if release.minor >= 7 => dataplane::gateway_task(&inputs),
        Kind::MeshTask => client::mesh_task(&inputs),
        Kind::GatewayTask => client::gateway_task(&inputs),
    };
    let values = match kind {
        Kind::Controller | Kind::AclController => controllers::values(&inputs, kind),
        Kind::MeshTask | Kind::GatewayTask => values(&inputs, kind),
    };
    let values = reader.module.tagged(values);
    let place = Place::fixed(inputs.label);
    let node = definition_node(&values, &place, closed(containers), &|_| Some(true));
    TaskDefinition::read(reader.module.directory.file(reader.block.file), address, &node, Dialect::Terraform)
}

/// The service that a call makes besides the task definition; mesh-task makes none.
pub(in super::super) fn service(
    reader: &Reader<'_, '_>,
    kind: Kind,
    release: Release,
    address: String,
) -> Option<Result<ServiceUse, Mismatch>> {
    let inputs = Inputs::of(reader, release);
    let launch_type = inputs.text("launch_type", "FARGATE");
    let values = match kind {
        Kind::MeshTask => return None,
        Kind::GatewayTask => {
            inputs.map([("launch_type", launch_type), ("propagate_tags", inputs.made("TASK_DEFINITION".into()))])
        }
        Kind::Controller | Kind::AclController => inputs.map([("launch_type", launch_type)]),
    };
    Some(service_use(address, &service_node(&values, &Place::fixed(inputs.label)), Dialect::Terraform))
}

/// The arguments of the task definition in mesh-task and gateway-task.
fn values(inputs: &Inputs, kind: Kind) -> Node {
    inputs.map([
        ("family", inputs.text("family", "")),
        ("network_mode", inputs.made("awsvpc".into())),
        ("requires_compatibilities", inputs.or("requires_compatibilities", json!(["EC2", "FARGATE"]))),
        ("task_role_arn", role(inputs, "task_role", "create_task_role")),
        ("execution_role_arn", role(inputs, "execution_role", "create_execution_role")),
        ("volume", volumes(inputs)),
        ("tags", tags(inputs, kind)),
    ])
}

/// The module creates a role unless it gets one.
pub(super) fn role(inputs: &Inputs, name: &str, create: &str) -> Node {
    let created = || text(format!("arn:{HOLE}"), inputs.label);
    let given = inputs.get(name);
    match inputs.get(create).map(|_| inputs.is(create)) {
        None if given.is_none() => created(),
        None | Some(None) => unknown(inputs.label),
        Some(Some(true)) => created(),
        Some(Some(false)) => match given {
            Some(role) => role.get("arn").cloned().unwrap_or_else(|| match &role.value {
                Value::Map(_) => inputs.made(json!(null)),
                _ => unknown(role.place.span),
            }),
            None => inputs.made(json!(null)),
        },
    }
}

fn volumes(inputs: &Inputs) -> Node {
    let mut volumes = vec![inputs.made(json!({"name": "consul_data"})), inputs.made(json!({"name": "consul_binary"}))];
    let own = inputs.or("volumes", json!([]));
    match own.value {
        Value::List(items) => volumes.extend(items),
        _ => volumes.push(unknown(own.place.span)),
    }
    inputs.list(volumes)
}

fn tags(inputs: &Inputs, kind: Kind) -> Node {
    let mut own = vec![entry("consul.hashicorp.com/mesh", inputs.made("true".into()))];
    if inputs.release.minor >= 3 {
        own.push(entry("consul.hashicorp.com/service-name", service_name(inputs, kind)));
        own.push(entry("consul.hashicorp.com/module", inputs.made("terraform-aws-consul-ecs".into())));
        let version = match inputs.release {
            Release { minor, patch: Some(patch) } => inputs.made(format!("0.{minor}.{patch}").into()),
            Release { .. } => unknown(inputs.label),
        };
        own.push(entry("consul.hashicorp.com/module-version", version));
        let tenancy = [("partition", inputs.text("consul_partition", "")), ("namespace", namespace(inputs, kind))];
        for (name, value) in tenancy {
            match inputs.is_empty(&value) {
                Some(true) => {}
                Some(false) => own.push(entry(format!("consul.hashicorp.com/{name}"), value)),
                None => own.push(entry(OPEN_KEY, unknown(value.place.span))),
            }
        }
    }
    // The merged map has no route: ECS has a list instead.
    inputs.merge(&[inputs.or("tags", json!({})), crate::input::terraform_source::values::map(own, inputs.label)])
}
