//! The task events in `events/` are consistent, as ECS's are: each describes one task of one cluster, account and region, and the
//! containers name only network interfaces that are attached to it.

use std::collections::BTreeSet;

use serde_json::Value;

/// The events of tasks, by the file's name.
fn task_events() -> Vec<(String, Value)> {
    let files = std::fs::read_dir("events").unwrap().map(|entry| entry.unwrap().path());
    let events = files.map(|path| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        (name, serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap())
    });
    events.filter(|(_, event): &(_, Value)| event["detail-type"] == "ECS Task State Change").collect()
}

fn texts<'a>(values: impl IntoIterator<Item = &'a Value>) -> BTreeSet<&'a str> {
    values.into_iter().map(|value| value.as_str().unwrap()).collect()
}

fn list<'a>(value: &'a Value, field: &str) -> &'a [Value] {
    value[field].as_array().map_or(&[], Vec::as_slice)
}

#[test]
fn each_sample_event_describes_one_task() {
    for (name, event) in task_events() {
        let detail = &event["detail"];
        let place =
            format!("arn:aws:ecs:{}:{}:", event["region"].as_str().unwrap(), event["account"].as_str().unwrap());
        let arns = ["taskArn", "clusterArn", "taskDefinitionArn", "containerInstanceArn"].map(|field| &detail[field]);
        for arn in texts(arns.into_iter().filter(|arn| !arn.is_null())) {
            assert!(arn.starts_with(&place), "{name}: {arn}");
        }
        assert_eq!(event["resources"][0], detail["taskArn"], "{name}");
        let containers = list(detail, "containers");
        for container in containers {
            assert_eq!(container["taskArn"], detail["taskArn"], "{name}");
        }
        let interfaces = containers.iter().flat_map(|container| list(container, "networkInterfaces"));
        let used = texts(interfaces.map(|interface| &interface["attachmentId"]));
        let attached = list(detail, "attachments").iter().filter(|attachment| attachment["type"] == "eni");
        let attached = texts(attached.map(|attachment| &attachment["id"]));
        assert!(used.is_subset(&attached), "{name}: {used:?}");
    }
}

#[test]
fn every_launch_type_has_a_sample_event() {
    let events = task_events();
    let launch_types = texts(events.iter().map(|(_, event)| &event["detail"]["launchType"]));
    // Those of DescribeTasks
    assert_eq!(launch_types, BTreeSet::from(["EC2", "EXTERNAL", "FARGATE", "MANAGED_INSTANCES"]));
}
