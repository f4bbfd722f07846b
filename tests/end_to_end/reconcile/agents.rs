//! Client agents that failed with their tasks: real agents, which are killed.

use serde_json::{Value, json};

use super::world;
use local_stack::{
    wait::{SOON, eventually},
    world::{World, instance_ids, task_id},
};
use test_harness::agent::{ClientAgent, member_status, node_services};

/// A definition whose tasks run a client agent.
async fn client_generation(world: &World<'_>) -> local_stack::world::Definition {
    world
        .definition_with(
            &world.service(),
            &[json!({ "name": "consul-client", "image": "hashicorp/consul:1.8", "essential": false })],
        )
        .await
}

fn service(name: &str, task: &str) -> Value {
    json!({
        "ID": instance_ids(name, task)[0], "Name": name, "Port": 9090,
        "Meta": { "task-id": task_id(task), "task-arn": task, "source": "consul-ecs" },
    })
}

#[tokio::test]
async fn a_sweep_removes_a_failed_agent() {
    let world = world("dead-agent").await;
    let definition = client_generation(&world).await;
    let (stopped, running) = (world.run(&definition).await, world.run(&definition).await);
    let (dying, staying) = tokio::join!(
        ClientAgent::join(world.consul, "ip-10-0-1-11.dead-agent"),
        ClientAgent::join(world.consul, "ip-10-0-1-12.dead-agent"),
    );
    dying.register(world.consul, &service(&world.service(), &stopped)).await;
    // The running agent also has a service of a stopped task, which is the agent's responsibility
    staying.register(world.consul, &service(&world.service(), &stopped)).await;
    let (dead, alive) = (dying.name.clone(), staying.name.clone());
    world.stop(&stopped).await;
    dying.kill_and_wait_until_failed(world.consul).await;
    let summary = world.swept().await;
    assert_eq!(summary["deleted"]["clientAgents"], 1, "{summary}");
    eventually("the failed agent to be removed", SOON, || async {
        match (member_status(world.consul, &dead).await, node_services(world.consul, &dead).await.as_str()) {
            (None, "null") => Ok(()),
            (status, node) => Err(format!("{status:?} {node}")),
        }
    })
    .await;
    // On a busy machine, gossip may be late, and report the running agent as failed for a moment
    eventually("the running agent to be alive", SOON, || async {
        let status = member_status(world.consul, &alive).await;
        if status == Some(1) { Ok(()) } else { Err(format!("{status:?}")) }
    })
    .await;
    assert!(node_services(world.consul, &alive).await.contains(task_id(&stopped)));
    drop(running);
}
