//! The catalog: nodes, services, checks and transactions.

use mesh::{
    catalog::{CheckStatus, HealthCheck, ServiceInstance},
    tenancy::Tenancy,
};
use serde_json::{Value, json};

use super::{Row, not_served, served};
use crate::{catalog::Instance, dialect::Answer, world::World};

const HOME: Tenancy = Tenancy::Community;
const NODE: &str = "arn:aws:ecs:us-east-1:123456789012:cluster/shop";
const OTHER_READS: &str = "the controller does not make this call";
const TASKS_REGISTER: &str = "tasks register services, and the controller does not see the answer";
const INVALID: &str = "the controller makes no such request";
const OPTIONS: &str = "the controller reads without options of consistency";
const OTHER_VERBS: &str = "the controller's transactions have only the verb `delete-cas` of services";
const IN_TRANSACTIONS: &str = "the controller deregisters services in transactions";

/// Services with these numbers are registered, each with a check.
fn with_services(world: &mut World, numbers: std::ops::Range<usize>) {
    world.consul.nodes.insert(NODE.to_owned());
    for number in numbers {
        let task = world.ecs.tasks[0].arn.clone();
        world.consul.instances.push(Instance {
            node: NODE.to_owned(),
            id: format!("orders-{number}"),
            name: "orders".to_owned(),
            task,
            modify_index: 7,
            tenancy: HOME,
            unproven_since: None,
        });
        world.consul.checks.push(check(NODE, number, CheckStatus::Critical));
    }
}

/// The service `orders-1` is registered.
fn with_service(world: &mut World) {
    with_services(world, 1..2);
}

fn check(node: &str, number: usize, status: CheckStatus) -> HealthCheck {
    HealthCheck {
        node: node.to_owned(),
        id: format!("orders-{number}-app"),
        name: "Consul ECS health check synced".to_owned(),
        kind: "consul-ecs-health-check".to_owned(),
        notes: String::new(),
        service_id: format!("orders-{number}"),
        service_name: "orders".to_owned(),
        status,
        output: String::new(),
        modify_index: 0,
        tenancy: HOME,
    }
}

fn seen(world: &World, number: usize, modify_index: u64) -> ServiceInstance {
    ServiceInstance {
        node: NODE.to_owned(),
        id: format!("orders-{number}"),
        name: "orders".to_owned(),
        kind: String::new(),
        task: world.ecs.tasks[0].arn.id().clone(),
        task_arn: None,
        modify_index,
        tenancy: HOME,
    }
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

pub(super) fn rows() -> Vec<Row> {
    [without_services(), written_checks(), reads(), transactions(), deregistrations()].into_iter().flatten().collect()
}

fn without_services() -> Vec<Row> {
    let mut rows = vec![served("services of a node that is not there", |world| Ok(node(world)))];
    rows.extend(not_served(OTHER_READS, &["a node that is not there, the older call"]));
    rows.push(served("health of a node that is not there", |world| Ok(checks(world))));
    rows.extend(not_served(OTHER_READS, &["a service that is not there"]));
    rows.extend(not_served(TASKS_REGISTER, &["register a service without a node update where there is no node"]));
    rows
}

fn written_checks() -> Vec<Row> {
    let mut rows = vec![
        served("read it back", |world| {
            with_service(world);
            Ok(node(world))
        }),
        served("its checks", |world| {
            with_service(world);
            Ok(checks(world))
        }),
        served("write a check of it alone", |world| {
            with_service(world);
            set_checks(world, &[check(NODE, 1, CheckStatus::Passing)])
        }),
        served("write several checks, one of a service that is not there", |world| {
            with_service(world);
            set_checks(world, &[check(NODE, 1, CheckStatus::Critical), check(NODE, 2, CheckStatus::Critical)])
        }),
        served("what came of it", |world| {
            with_service(world);
            set_checks(world, &[check(NODE, 1, CheckStatus::Passing)]).unwrap();
            let several = [check(NODE, 1, CheckStatus::Critical), check(NODE, 2, CheckStatus::Critical)];
            set_checks(world, &several).unwrap_err();
            Ok(checks(world))
        }),
        served("write a check of a service that is not there", |world| {
            with_service(world);
            set_checks(world, &[check(NODE, 2, CheckStatus::Critical)])
        }),
        served("write a check of a node that is not there", |world| {
            with_service(world);
            set_checks(world, &[check("nowhere", 2, CheckStatus::Critical)])
        }),
    ];
    rows.extend(not_served(
        TASKS_REGISTER,
        &[
            "register with an address that is missing",
            "register a service with a status that is not known",
            "register into a partition",
            "register into another partition",
        ],
    ));
    rows
}

fn reads() -> Vec<Row> {
    let mut rows = not_served(OTHER_READS, &["health of the service", "nodes by meta", "nodes by a filter"]);
    rows.push(served("services of a node by a filter", |world| {
        with_service(world);
        let task = world.ecs.tasks[0].arn.id().clone();
        Ok(json!({ "Services": services(&world.instances_on(NODE, &HOME, &[task])) }))
    }));
    rows.extend(not_served(INVALID, &["a filter that is wrong"]));
    rows.extend(not_served(OPTIONS, &["stale read", "consistent read"]));
    rows
}

fn transactions() -> Vec<Row> {
    let mut rows = vec![
        served("transaction: delete-cas with an index that is stale", |world| {
            with_service(world);
            transaction(world, &[seen(world, 1, 1)])
        }),
        served("transaction: delete-cas of what is not there", |world| {
            with_service(world);
            transaction(world, &[seen(world, 9, 5)])
        }),
    ];
    rows.extend(not_served(
        OTHER_VERBS,
        &[
            "transaction: delete of what is not there",
            "transaction: set a check of a service that is not there",
            "transaction: check-set cas stale",
            "transaction: set a service on a node that is not there",
            "transaction: cas a service that is not there, index 0",
            "transaction: cas a service that is there, index 0",
            "transaction: cas a check that is not there, index 0",
            "transaction: cas a check that is there, index 0",
        ],
    ));
    rows.extend([
        // Recorded with the verb `delete`, which does not need the services.
        served("transaction of 65 operations", |world| large_transaction(world, 65)),
        served("transaction of 129 operations", |world| large_transaction(world, 129)),
    ]);
    rows.extend(not_served(INVALID, &["transaction: a body that is no JSON", "register: a body that is no JSON"]));
    rows
}

fn deregistrations() -> Vec<Row> {
    let mut rows = not_served(OTHER_READS, &["deregister a check", "deregister it again"]);
    rows.extend(not_served(IN_TRANSACTIONS, &["deregister a service", "deregister it again"]));
    rows.extend([
        served("deregister a node", |world| {
            with_service(world);
            Ok(deregister_node(world))
        }),
        served("deregister it again", |world| Ok(deregister_node(world))),
    ]);
    rows
}
