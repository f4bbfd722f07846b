//! A real Consul holds the same after a repair as after the registration by consul-ecs.

use std::collections::BTreeMap;

use local_stack::consul::Consul;
use reqwest::Method;
use serde_json::{Value, json};
use test_harness::ecs_agent::accepted_by_old_consul;

use super::{
    mesh_of_tasks::{CLUSTER, Mesh},
    recordings::{RELEASES, Recording},
};

/// What recordings have that Consul 1.8 does not know, and refuses.
const UNKNOWN_FIELDS: [&str; 2] = ["Locality", "Mode"];
/// The pairs that every Consul since 1.8 compares. A newer one, which knows those fields, compares all of them.
const COMPARED: usize = 90;

/// What Consul shows of one registration; `Err` is its refusal.
async fn shown(consul: &Consul, registration: &Value) -> Result<Value, String> {
    let body = accepted_by_old_consul(registration.clone());
    let answer = consul.call(Method::PUT, "/v1/catalog/register", &consul.management_token, Some(&body)).await;
    answer.success()?;
    let node = CLUSTER.replace('/', "%2F");
    let mut shown = json!({
        "node": consul.get(&format!("/v1/catalog/node-services/{node}")).await,
        "checks": consul.get(&format!("/v1/health/node/{node}")).await,
    });
    consul.put("/v1/catalog/deregister", &json!({ "Node": CLUSTER })).await;
    assert_eq!(shown["node"]["Services"].as_array().map(Vec::len), Some(1), "{shown}");
    remove_differing(&mut shown);
    Ok(shown)
}

/// Removes what differs from one registration to the next, and the health.
fn remove_differing(shown: &mut Value) {
    match shown {
        Value::Object(fields) => {
            for differing in ["CreateIndex", "ModifyIndex", "Status", "Output", "consul-virtual"] {
                fields.remove(differing);
            }
            fields.values_mut().for_each(remove_differing);
        }
        Value::Array(items) => items.iter_mut().for_each(remove_differing),
        _ => {}
    }
}

/// The registrations by the ID of their service.
fn by_id(registrations: Vec<Value>) -> BTreeMap<String, Value> {
    registrations.into_iter().map(|it| (it["Service"]["ID"].as_str().unwrap().to_owned(), it)).collect()
}

#[tokio::test]
async fn consul_holds_the_same_after_a_repair_as_after_the_registration() {
    let consul = Consul::start().await;
    let (mut compared, mut refused) = (0, 0);
    for (release, registrar) in RELEASES {
        // Given what consul-ecs has registered for all tasks of a release, and what a sweep registers for them
        let recordings = Recording::of(release, registrar);
        let mesh = Mesh::forgotten(recordings.iter().map(Recording::task).collect()).await;
        mesh.sweep().await;
        let repaired = by_id(mesh.registered());
        for recording in &recordings {
            for (id, recorded) in by_id(recording.registered()) {
                let case = format!("{release}/{}: {id}", recording.case);
                match shown(&consul, &recorded).await {
                    // Then Consul shows the same of both
                    Ok(recorded) => {
                        assert_eq!(shown(&consul, &repaired[&id]).await, Ok(recorded), "{case}");
                        compared += 1;
                    }
                    // Or it refuses what consul-ecs registered
                    Err(refusal) => {
                        assert!(UNKNOWN_FIELDS.iter().any(|field| refusal.contains(field)), "{case}: {refusal}");
                        refused += 1;
                    }
                }
            }
        }
    }
    assert!(compared >= COMPARED, "{compared} compared, {refused} refused");
}
