//! Running tasks that cannot be repaired: sweeps report them, and stop none.

use serde_json::json;
use test_harness::ecs_agent::{DATAPLANE, DataplaneService, Release};

use super::{log_lines, why_skipped, world};

#[tokio::test]
async fn a_broken_task_is_reported_with_the_command_that_replaces_it() {
    let world = world("kept-broken").await;
    // Given a service of two tasks, of which one has no proxy any more
    let service = DataplaneService::of(&world, Release::V0_10);
    let tasks = service.create_ecs_service(&world, 2, &json!([])).await;
    for task in &tasks {
        task.settle().await;
    }
    tasks[0].report_stopped(DATAPLANE, 137).await;
    for _ in 0..2 {
        let swept = world.swept().await;
        let why = why_skipped(&swept, &tasks[0]).unwrap_or_default();
        let command = format!("aws ecs stop-task --region us-east-1 --cluster {} --task {}", world.name, tasks[0].id());
        assert!(why.contains("consul-dataplane has stopped") && why.ends_with(&command), "{swept}");
        assert_eq!(why_skipped(&swept, &tasks[1]), None, "{swept}");
        assert!(!tasks[0].is_told_to_stop().await);
    }
    let line = &log_lines(&tasks[0], "report_broken_task").await[0];
    assert_eq!((&line["outcome"], &line["service"]), (&json!("done"), &json!(world.service())), "{line}");
}
