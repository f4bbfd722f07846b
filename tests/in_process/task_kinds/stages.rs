//! Blue/green deployments: what the tasks of both revisions show in each stage.

use diagnosis::State;
use serde_json::{Value, json};

use super::{Recorded, controller::controls, merged, row};

/// A stage of a blue/green deployment: <https://docs.aws.amazon.com/AmazonECS/latest/developerguide/blue-green-deployment-how-it-works.html>
type Stage =
    (&'static str, (&'static str, &'static str), Option<(&'static str, &'static str)>, State, &'static [usize]);

const RUNS: (&str, &str) = ("RUNNING", "RUNNING");

/// The last and the desired status of the blue and the green task, the state of the service, and how many tasks of each revision pass,
/// newest first.
const STAGES: [Stage; 5] = [
    ("pre-scale-up", RUNS, None, State::Healthy, &[]),
    ("scale-up", RUNS, Some(("PENDING", "RUNNING")), State::Starting, &[]),
    // From POST_SCALE_UP to BAKE_TIME, only the load balancer changes: tasks and service say nothing of it.
    ("both-run", RUNS, Some(RUNS), State::Healthy, &[1, 1]),
    ("clean-up", ("RUNNING", "STOPPED"), Some(RUNS), State::Healthy, &[]),
    ("rollback", RUNS, Some(("RUNNING", "STOPPED")), State::Healthy, &[]),
];

#[tokio::test]
async fn two_revisions_of_a_deployment_are_no_fault_in_any_stage() {
    for (stage, blue, green, state, passing) in STAGES {
        let mut recorded = Recorded::of_kind("blue-green");
        let [old, new] = [12, 13].map(|number| {
            let mut definition = recorded.definitions.values().next().unwrap().clone();
            let arn = format!("arn:aws:ecs:us-east-1:123456789012:task-definition/orders:{number}");
            definition["taskDefinition"]["taskDefinitionArn"] = json!(arn);
            recorded.definitions.insert(arn.clone(), definition);
            arn
        });
        let base = recorded.tasks[0].clone();
        let task = |id: &str, definition: &str, (last, desired): (&str, &str)| {
            let arn = base["taskArn"].as_str().unwrap().replace("/a1b2", id);
            let started = if last == "PENDING" { Value::Null } else { base["startedAt"].clone() };
            let created = if last == "PENDING" { json!("2026-11-20T10:59:00Z") } else { base["createdAt"].clone() };
            let statuses = json!({
                "taskArn": arn, "taskDefinitionArn": definition, "lastStatus": last,
                "desiredStatus": desired, "startedAt": started, "createdAt": created,
            });
            merged(&base, &statuses)
        };
        recorded.tasks = vec![task("/a1b2", &old, blue)];
        recorded.tasks.extend(green.map(|green| task("/c1b2", &new, green)));
        let (inspection, (mut findings, _)) = (recorded.inspected().await, recorded.checked().await);
        let row = row(&inspection).unwrap();
        assert_eq!((row.state, row.faults.as_slice()), (state, [].as_slice()), "{stage}: {row:?}");
        let deployment = row.deployment.as_ref();
        let shares: Vec<usize> =
            deployment.iter().flat_map(|it| &it.revisions).filter_map(|revision| revision.passing_tasks).collect();
        assert_eq!(shares, passing, "{stage}");
        if let Some(deployment) = deployment {
            assert_eq!((deployment.strategy.as_deref(), deployment.bake_minutes), (Some("blue/green"), Some(60)));
            assert_eq!(deployment.revisions[0].revision, "orders:13", "{stage}");
        }
        // The controller drains what stops, and keeps each revision that runs.
        for (index, task) in recorded.tasks.iter().enumerate() {
            let expected = if task["desiredStatus"] == "STOPPED" { "drains it" } else { "keeps it" };
            let cluster = format!("{stage}-{index}");
            assert_eq!(controls(cluster, &recorded, index).await, expected, "{stage}");
        }
        // Of each revision, that nothing shifts the requests of the mesh.
        findings.dedup();
        assert_eq!(findings, ["consul-deployment-strategy"], "{stage}");
    }
}
