//! The catalog (nodes, services, checks and transactions), agents and partitions.

use mesh::{
    catalog::{AgentStatus, CheckStatus, HealthCheck, Member, ServiceInstance},
    consul_ecs::synced_check,
    tenancy::Tenancy,
};
use serde_json::{Value, json};

use super::{Given, NOTHING, Row};
use crate::{catalog::Instance, dialect::Answer, world::World};

const HOME: Tenancy = Tenancy::Community;
const NODE: &str = "arn:aws:ecs:us-east-1:123456789012:cluster/shop";

/// Services with these numbers are registered, each with a check.
fn with_services(world: &mut World, numbers: std::ops::Range<usize>) {
    world.consul.nodes.insert(NODE.to_owned());
    for number in numbers {
        let seen = seen(world, number, 7);
        world.consul.instances.push(Instance { seen, unproven_since: None });
        world.consul.checks.push(check(NODE, number, CheckStatus::Critical));
    }
}

/// The service `orders-1` is registered.
const WITH_SERVICE: Given = |world| with_services(world, 1..2);

fn check(node: &str, number: usize, status: CheckStatus) -> HealthCheck {
    let check = synced_check(node, (&format!("orders-{number}"), "orders"), &HOME, "app");
    HealthCheck { notes: String::new(), output: String::new(), status, ..check }
}

fn seen(world: &World, number: usize, modify_index: u64) -> ServiceInstance {
    Instance::new(NODE, &format!("orders-{number}"), "orders", &world.ecs.tasks[0].arn, (modify_index, HOME)).seen
}

fn node(world: &World) -> Value {
    let Some(node) = world.node(NODE, &HOME) else { return json!({ "Node": null, "Services": null }) };
    let meta = if node.is_synthetic { json!({ "synthetic-node": "true" }) } else { json!(null) };
    json!({ "Node": { "Meta": meta }, "Services": services(&node.instances) })
}

fn services(instances: &[ServiceInstance]) -> Vec<Value> {
    instances.iter().map(|instance| json!({ "ID": instance.id, "Service": instance.name })).collect()
}

fn checks(world: &World) -> Value {
    let body = |check: &HealthCheck| {
        json!({
            "CheckID": check.id, "Name": check.name, "Node": check.node, "Notes": check.notes, "Output": check.output,
            "ServiceID": check.service_id, "ServiceName": check.service_name, "Status": check.status.as_str(),
            "Type": check.kind,
        })
    };
    Value::Array(world.node_checks(NODE).iter().map(body).collect())
}

/// A member, with the number of its status in Serf.
fn member(member: &Member) -> Value {
    let status = match member.status {
        AgentStatus::Alive => 1,
        AgentStatus::Left => 3,
        AgentStatus::Failed => 4,
    };
    json!({ "Name": member.name, "Status": status })
}

fn set_checks(world: &mut World, checks: &[HealthCheck]) -> Result<Value, Answer> {
    world.set_checks(checks).map(|()| json!(true))
}

fn transaction(world: &mut World, instances: &[ServiceInstance]) -> Result<Value, Answer> {
    world.deregister(instances).map(|()| json!({ "Errors": null, "Results": [] }))
}

fn deregister_node(world: &mut World) -> Value {
    world.deregister_node(NODE);
    json!(true)
}

/// Deregisters this number of registered services in one transaction.
fn large_transaction(world: &mut World, count: usize) -> Result<Value, Answer> {
    with_services(world, 0..count);
    let all: Vec<ServiceInstance> = (0..count).map(|number| seen(world, number, 7)).collect();
    transaction(world, &all)
}

/// In the order of the recording.
pub(super) const ROWS: &[Row] = &[
    ("services of a node that is not there", NOTHING, |world| Ok(node(world))),
    ("health of a node that is not there", NOTHING, |world| Ok(checks(world))),
    ("read it back", WITH_SERVICE, |world| Ok(node(world))),
    ("its checks", WITH_SERVICE, |world| Ok(checks(world))),
    ("write a check of it alone", WITH_SERVICE, |world| set_checks(world, &[check(NODE, 1, CheckStatus::Passing)])),
    ("write several checks, one of a service that is not there", WITH_SERVICE, |world| {
        set_checks(world, &[1, 2].map(|number| check(NODE, number, CheckStatus::Critical)))
    }),
    ("what came of it", WITH_SERVICE, |world| {
        set_checks(world, &[check(NODE, 1, CheckStatus::Passing)]).unwrap();
        set_checks(world, &[1, 2].map(|number| check(NODE, number, CheckStatus::Critical))).unwrap_err();
        Ok(checks(world))
    }),
    ("write a check of a service that is not there", WITH_SERVICE, |world| {
        set_checks(world, &[check(NODE, 2, CheckStatus::Critical)])
    }),
    ("write a check of a node that is not there", WITH_SERVICE, |world| {
        set_checks(world, &[check("nowhere", 2, CheckStatus::Critical)])
    }),
    ("services of a node by a filter", WITH_SERVICE, |world| {
        let task = world.ecs.tasks[0].arn.id().clone();
        Ok(json!({ "Services": services(&world.instances_on(NODE, &HOME, &[task]).unwrap()) }))
    }),
    ("transaction: delete-cas with an index that is stale", WITH_SERVICE, |world| {
        transaction(world, &[seen(world, 1, 1)])
    }),
    ("transaction: delete-cas of what is not there", WITH_SERVICE, |world| transaction(world, &[seen(world, 9, 5)])),
    // Recorded with the verb `delete`, which does not need the services.
    ("transaction of 65 operations", NOTHING, |world| large_transaction(world, 65)),
    ("transaction of 129 operations", NOTHING, |world| large_transaction(world, 129)),
    ("deregister a node", WITH_SERVICE, |world| Ok(deregister_node(world))),
    ("deregister it again", NOTHING, |world| Ok(deregister_node(world))),
    ("members", NOTHING, |world| Ok(world.members().iter().map(member).collect())),
    ("force-leave and prune", NOTHING, |world| world.force_leave("gone").map(|()| json!(null))),
    ("list partitions", NOTHING, |world| world.partitions().map(|names| json!(names.len()))),
];
