//! The controller's own events and counters through the life of a task that reads a token, against a real Consul and `MiniStack`.

use local_stack::world::{World, task_id};
use serde_json::{Value, json};
use test_harness::{jwt::JwtAuthMethod, recorder::Answer};

use crate::{
    counted::{Counters, counts},
    environment::Environment,
};

/// The events that an invocation for `event` sends: their kinds, and their details.
async fn sent(environment: &Environment, event: Value) -> Vec<(String, Value)> {
    environment.aws.forget();
    let report = environment.handle(&[event]).await;
    assert!(report.failures.is_empty(), "{report:?}");
    let calls: Vec<Value> = environment
        .aws
        .requests()
        .iter()
        .filter(|seen| seen.operation().as_deref() == Some("PutEvents"))
        .map(test_harness::recorder::RecordedRequest::json)
        .collect();
    assert!(calls.len() <= 1, "one call for all: {calls:?}");
    let entries = calls.iter().flat_map(|call| call["Entries"].as_array().unwrap());
    entries
        .map(|entry| {
            let detail = serde_json::from_str(entry["Detail"].as_str().unwrap()).unwrap();
            (entry["DetailType"].as_str().unwrap().to_owned(), detail)
        })
        .collect()
}

fn kinds(sent: &[(String, Value)]) -> Vec<&str> {
    let mut kinds: Vec<&str> = sent.iter().map(|(kind, _)| kind.as_str()).collect();
    kinds.sort_unstable();
    kinds
}

#[tokio::test]
async fn the_life_of_a_task_is_told() {
    for (cluster, routine) in [("told", "on"), ("told-briefly", "off")] {
        let world = World::without_deployment(cluster).await;
        let (service, node) = (world.service(), world.cluster());
        let environment = Environment::scripted(&world, &[("ROUTINE_EVENTS", routine)], |_, _| Answer::Forward).await;
        let told = |kinds: &[&'static str]| if routine == "on" { kinds.to_vec() } else { Vec::new() };

        let counters = Counters::start();
        // When it starts, two tokens are created: its service's and the client agents'
        let task = world.run(&world.mesh_definition(&service).await).await;
        let created = sent(&environment, world.event(&task).await).await;
        assert_eq!(kinds(&created), ["ECS Mesh Token Created"; 2]);
        assert_eq!(counters.take(), counts(&[("TokensCreated", 2)]));
        let of_service = created.iter().find(|(_, detail)| detail["service"] == json!(service)).expect("its own");
        let pair = world.pair(&world.secret_name(&service)).await.unwrap();
        assert_eq!(
            of_service.1,
            json!({
                "mode": "act", "clusterArn": node, "holder": format!("service {service}"), "service": service,
                "accessorId": pair.accessor_id,
            })
        );

        // When it is told to stop, it is drained
        world.register_instance(&service, &task).await;
        let method = JwtAuthMethod::create(world.consul, world.name).await;
        method.log_in_task(&service, &node, task_id(&task)).await;
        let drained = sent(&environment, world.event_as(&task, "RUNNING", "STOPPED", 9).await).await;
        assert_eq!(kinds(&drained), told(&["ECS Mesh Task Drained"]));
        assert_eq!(counters.take(), counts(&[("InstancesDrained", 2)]));

        // When it has stopped, its instances and its login token are removed
        world.stop(&task).await;
        let removed = sent(&environment, world.event(&task).await).await;
        assert_eq!(kinds(&removed), told(&["ECS Mesh Task Deregistered", "ECS Mesh Token Revoked"]));
        assert_eq!(counters.take(), counts(&[("InstancesDeregistered", 2), ("LoginTokensDeleted", 1)]));
        for (_, detail) in drained.iter().chain(&removed) {
            assert_eq!(detail["taskId"], json!(task_id(&task)), "{detail}");
        }
        for (_, detail) in removed.iter().filter(|(kind, _)| kind == "ECS Mesh Task Deregistered") {
            assert_eq!((&detail["node"], &detail["service"]), (&json!(node), &json!(service)), "{detail}");
            assert_eq!(detail["serviceIds"].as_array().unwrap().len(), 2, "{detail}");
        }
    }
}
