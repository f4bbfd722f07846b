//! The functions write their metrics to their logs, as CloudWatch reads them.

use std::collections::BTreeSet;

use local_stack::{
    wait::{SOON, eventually},
    world::World,
};
use serde_json::Value;
use telemetry::{NAMESPACE, all};

use crate::fixture::Fixture;

/// The metrics in a log group: documents of the embedded format.
async fn documents(world: &World<'_>, log_group: &str) -> Vec<Value> {
    let lines = world.aws.logs(log_group).await;
    let parsed = lines.iter().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    parsed.filter(|line| line.get("_aws").is_some()).collect()
}

/// The names of the metrics in documents, each of which has a value, the stack and no unknown name.
fn names(documents: &[Value]) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for document in documents {
        let [metrics] = &document["_aws"]["CloudWatchMetrics"].as_array().unwrap()[..] else { panic!("{document}") };
        assert_eq!(metrics["Namespace"], NAMESPACE);
        let dimensions: Vec<&str> =
            metrics["Dimensions"][0].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
        assert!(dimensions.contains(&"Stack") && dimensions.iter().all(|name| document[name].is_string()));
        for metric in metrics["Metrics"].as_array().unwrap() {
            let name = metric["Name"].as_str().unwrap();
            assert!(all().iter().any(|known| known.name == name), "{name} is not on the list");
            assert!(!document[name].is_null() && metric["Unit"].is_string(), "{name}: {document}");
            names.insert(name.to_owned());
        }
    }
    names
}

#[tokio::test]
async fn handled_events_and_sweeps_are_in_the_metrics() {
    let world = Fixture::tokens("metrics").await;
    // Given a task that starts and stops, and a sweep
    let definition = world.mesh_definition(&world.service()).await;
    let task = world.start_task(&definition).await;
    world.events_handled().await;
    world.stop_task(&task).await;
    world.swept().await;
    // Then both functions have written what they have counted
    let expected = [
        (&world.deployed.log_group, vec!["Events", "ReactionTime", "TokensCreated", "Calls", "CallTime", "ColdStarts"]),
        (&world.deployed.reconcile_log_group, vec!["SweepTime", "FullSweeps", "Calls", "CallTime", "ColdStarts"]),
    ];
    for (log_group, wanted) in expected {
        eventually(&format!("metrics in {log_group}"), SOON, || async {
            let seen = names(&documents(&world, log_group).await);
            let missing: Vec<&&str> = wanted.iter().filter(|name| !seen.contains(**name)).collect();
            if missing.is_empty() { Ok(()) } else { Err(format!("missing: {missing:?}; there are {seen:?}")) }
        })
        .await;
    }
}
