//! `ecs-mesh sweep`

use local_stack::{Stack, world::World};
use serde_json::json;
use test_harness::{
    ecs_agent::{DataplaneTask, Release},
    recorder::{Answer, Recorder},
};

use super::{Said, command, documented, permissions, said};
use crate::fixture::{Fixture, controller_token};

/// The instances of a world's service.
async fn instances(world: &World<'_>) -> usize {
    let path = format!("/v1/catalog/service/{}", world.service());
    world.consul.get(&path).await.as_array().expect("instances").len()
}

#[tokio::test]
async fn a_sweep_is_planned_asked_for_and_done() {
    let stack = Stack::shared().await;
    let token = controller_token(&stack.consul, "by-hand").await.secret_id;
    let fixture = Fixture::get().await;
    let world = fixture.deployment_of_its_own(&stack.consul, "by-hand", &token, &[("Bootstrap", "none")]).await;
    let aws = Recorder::before_aws(&stack.aws, |_, _| Answer::Forward).await;
    let sweep = async |further: &[&str]| -> Said {
        let arguments = ["sweep", "--stack", "by-hand", "--cluster", world.name];
        said(&mut command(&aws.url, &[&arguments, further].concat()).await).await
    };

    // Given a task that reads its token, which exists
    world.run(&world.mesh_definition("by-hand-reader").await).await;
    let first = sweep(&["--yes"]).await;
    assert_eq!(first.code, Some(0), "{}", first.errors);

    // Without anything to do
    let task = DataplaneTask::start(&world, Release::V0_9).await;
    let _other = DataplaneTask::start(&world, Release::V0_9).await;
    let idle = sweep(&[]).await;
    assert_eq!((idle.code, idle.out.as_str()), (Some(0), "Nothing to do in cluster by-hand\n"), "{}", idle.errors);

    let status = async || -> Said {
        let arguments = ["status", "--plan", "--stack", "by-hand", "--cluster", world.name];
        let mut status = command(&stack.aws.endpoint, &arguments).await;
        let status = status.env("CONSUL_HTTP_ADDR", &world.consul.address);
        said(status.env("CONSUL_HTTP_TOKEN", &world.consul.management_token)).await
    };
    // Prefix, mode and clusters are those of the stack
    let settled = status().await;
    let (read, of_sweep) = settled.out.split_once("What a sweep would do now (Mode=act):").expect("a plan");
    assert_eq!(of_sweep.trim(), "Nothing to do in cluster by-hand", "{}", settled.out);
    let row = read.lines().find(|line| line.starts_with("by-hand-reader")).expect("its row");
    assert!(row.contains("Secrets Manager") && read.contains("Stack by-hand: Mode=act, EcsClusterArns="), "{read}");

    // When a task has stopped, and its event is lost
    world.stop(&task.arn).await;
    let plan = sweep(&["--dry-run"]).await;
    assert_eq!(plan.code, Some(0), "{}", plan.errors);
    assert!(plan.out.contains("deregister") && plan.out.contains(&task.instance()), "{}", plan.out);
    assert_eq!(instances(&world).await, 2);

    // The status shows the plan too
    let stopped = status().await;
    let (_, of_sweep) = stopped.out.split_once("What a sweep would do now (Mode=act):").expect("a plan");
    assert!(of_sweep.contains("deregister") && of_sweep.contains(&task.instance()), "{}", stopped.out);

    // Nobody can be asked
    let refused = sweep(&[]).await;
    assert_eq!(refused.code, Some(2));
    assert!(refused.errors.contains("No terminal to answer on. Pass --yes"), "{}", refused.errors);
    assert_eq!(instances(&world).await, 2);

    let done = sweep(&["--yes", "--output", "json"]).await;
    let summary = done.json();
    assert_eq!((done.code, &summary["outcome"]), (Some(0), &json!("done")), "{summary:#}");
    assert_eq!(summary["clusters"][0]["deleted"]["services"], 2);
    assert_eq!(instances(&world).await, 1);
    assert_eq!(permissions(&aws.requests()), documented("sweep"));

    // A function that does not exist
    let absent = said(&mut command(&aws.url, &["sweep", "--function", "absent"]).await).await;
    assert_eq!(absent.code, Some(2));
    assert!(absent.errors.starts_with("error: function absent: the call failed: "), "{}", absent.errors);
}
