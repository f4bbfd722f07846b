//! Failed client agents: their state is read again before they are forced to leave.

use std::sync::Arc;

use mesh_examples::registrations;
use observe::SweepOrder;
use report::{ErrorLabel, PlannedAction, SweepOutcome};
use serde_json::{Value, json};

use super::{environment, forward, swept};
use crate::environment::Environment;
use local_stack::world::{World, instance_body};
use test_harness::recorder::{Answer, RecordedRequest};

const NODE: &str = "ip-10-0-0-7";

fn registration(service: &str, task: &str) -> Value {
    let mut service = instance_body(&registrations(service, &task.parse().unwrap())[0]);
    service["ModifyIndex"] = json!(7);
    service
}

fn node(services: &[Value]) -> String {
    json!({ "Node": { "Node": NODE, "Meta": {} }, "Services": services }).to_string()
}

/// A service of the node, as `/catalog/service` shows it.
fn on_node(service: &Value) -> Value {
    json!({
        "Node": NODE, "ServiceID": service["ID"], "ServiceName": service["Service"],
        "ServiceMeta": service["Meta"], "ModifyIndex": service["ModifyIndex"],
    })
}

/// The status of the agent and the services of its node, by the number of earlier reads of each.
type Script = Arc<dyn Fn(usize) -> (u8, Vec<Value>) + Send + Sync>;

/// An environment whose Consul answers by `script` about the agent.
async fn before_an_agent(world: &World<'_>, script: Script) -> Environment {
    let reads = [std::sync::atomic::AtomicUsize::new(0), std::sync::atomic::AtomicUsize::new(0)];
    let consul = move |seen: &RecordedRequest, _| {
        let read = |which: usize| script(reads[which].fetch_add(1, std::sync::atomic::Ordering::SeqCst));
        match seen.uri.split('?').next().unwrap() {
            "/v1/agent/members" => Answer::ok(json!([{ "Name": NODE, "Status": read(0).0 }]).to_string()),
            uri if uri == format!("/v1/catalog/node-services/{NODE}") => Answer::ok(node(&read(1).1)),
            uri if uri.starts_with("/v1/catalog/service/") => {
                let services: Vec<Value> = script(0).1.iter().map(on_node).collect();
                Answer::ok(json!(services).to_string())
            }
            uri if uri.starts_with("/v1/agent/force-leave") => Answer::ok(""),
            _ => Answer::Forward,
        }
    };
    environment(world, consul, forward, &[], |edges| edges).await
}

fn leaves(environment: &Environment) -> usize {
    environment.consul.lines().iter().filter(|line| line.contains("force-leave")).count()
}

async fn stopped(world: &World<'_>) -> String {
    let task = world.run(&world.mesh_definition(&world.service()).await).await;
    world.stop(&task).await;
    task
}

#[tokio::test]
async fn a_stopped_event_waits_until_its_agent_has_failed() {
    let world = World::without_deployment("agent-event").await;
    let agent = json!({ "name": "consul-client", "image": "hashicorp/consul:1.8", "essential": false });
    let task = world.run(&world.definition_with(&world.service(), &[agent]).await).await;
    world.stop(&task).await;
    let (service, event) = (registration(&world.service(), &task), world.event(&task).await);
    // Given a stopped task whose client agent Consul reports as alive, and then as failed
    let script = move |read| (if read == 0 { 1 } else { 4 }, vec![service.clone()]);
    let environment = before_an_agent(&world, Arc::new(script)).await;
    // When its event is handled, then it returns to the queue
    let report = environment.handle(std::slice::from_ref(&event)).await;
    let labels: Vec<ErrorLabel> = report.failures.iter().map(|failure| failure.error.label()).collect();
    assert_eq!((labels, leaves(&environment)), (vec![ErrorLabel::AgentStillAlive], 0));
    // And when it is handled again, then the agent is removed
    let report = environment.handle(&[event]).await;
    assert_eq!((report.failures.len(), leaves(&environment)), (0, 1), "{report:?}");
}

#[tokio::test]
async fn a_failed_agent_is_checked_twice() {
    let world = World::without_deployment("agent-dead").await;
    let task = stopped(&world).await;
    let service = registration(&world.service(), &task);
    let environment = before_an_agent(&world, Arc::new(move |_| (4, vec![service.clone()]))).await;
    let report = swept(&environment, &SweepOrder::default()).await;
    assert_eq!((report.outcome, report.clusters[0].deleted["clientAgents"]), (SweepOutcome::Done, 1));
    assert_eq!(leaves(&environment), 1);
    let lines = environment.consul.lines();
    let about = |what: &str| lines.iter().filter(|line| line.contains(what)).count();
    assert_eq!((about("agent/members"), about(&format!("node-services/{NODE}"))), (2, 2), "{lines:?}");
}

#[tokio::test]
async fn a_refused_force_leave_is_reported_with_the_rule_that_permits_it() {
    let world = World::without_deployment("agent-refused").await;
    let task = stopped(&world).await;
    let service = registration(&world.service(), &task);
    let consul = move |seen: &RecordedRequest, _| match seen.uri.split('?').next().unwrap() {
        "/v1/agent/members" => Answer::ok(json!([{ "Name": NODE, "Status": 4 }]).to_string()),
        uri if uri == format!("/v1/catalog/node-services/{NODE}") => Answer::ok(node(std::slice::from_ref(&service))),
        uri if uri.starts_with("/v1/agent/force-leave") => {
            Answer::status(403, "Permission denied: token with AccessorID 'x' lacks permission 'operator:write'")
        }
        "/v1/internal/acl/authorize" => Answer::ok(json!([{ "Allow": false }]).to_string()),
        _ => Answer::Forward,
    };
    let environment = environment(&world, consul, forward, &[], |edges| edges).await;
    // A plan says it without trying
    let plan = swept(&environment, &SweepOrder { dry_run: true, ..SweepOrder::default() }).await;
    assert_eq!(leaves(&environment), 0);
    // The permission is optional: the sweep is complete, and an event would be done
    let report = swept(&environment, &SweepOrder::default()).await;
    assert_eq!((report.outcome, leaves(&environment)), (SweepOutcome::Done, 1), "{report:?}");
    for report in [plan, report] {
        let [blocked] = report.clusters[0].blocked.as_slice() else { panic!("{report:?}") };
        assert_eq!(blocked.action, PlannedAction::ForceLeave { node: NODE.to_owned() });
        assert!(blocked.reason.contains("add operator = \"write\" to its policy"), "{blocked:?}");
    }
}

#[tokio::test]
async fn an_agent_that_came_back_or_whose_name_was_reused_meanwhile_stays() {
    for (name, status, is_reused) in [("agent-back", 1, false), ("agent-name", 4, true)] {
        let world = World::without_deployment(name).await;
        let task = stopped(&world).await;
        let running = world.run(&world.mesh_definition(&world.service()).await).await;
        let (old, new) = (registration(&world.service(), &task), registration(&world.service(), &running));
        // When the second read shows it alive, or with the service of a running task
        let script = move |read| match (read, is_reused) {
            (0, _) => (4, vec![old.clone()]),
            (_, false) => (status, vec![old.clone()]),
            (_, true) => (status, vec![old.clone(), new.clone()]),
        };
        let environment = before_an_agent(&world, Arc::new(script)).await;
        let report = swept(&environment, &SweepOrder::default()).await;
        assert_eq!((report.outcome, leaves(&environment)), (SweepOutcome::Done, 0), "{name}: {report:?}");
    }
}
