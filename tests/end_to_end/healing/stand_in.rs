//! The stand-in for `health-sync` writes, at each step of a task's life, what each release was recorded to write.

use std::collections::BTreeMap;

use serde_json::Value;
use test_harness::ecs_agent::{CheckHealth, DATAPLANE, Memory, Release};

/// The ID of the recorded service instance.
const INSTANCE: &str = "orders-ffffffffffffffffffffffffffffffff";

fn recording(release: Release) -> Value {
    let text = match release {
        Release::V0_8 => include_str!("../../recordings/consul-ecs/health-sync-life/0.8.1.json"),
        Release::V0_9 => include_str!("../../recordings/consul-ecs/health-sync-life/0.9.0.json"),
        Release::V0_10 => include_str!("../../recordings/consul-ecs/health-sync-life/0.10.0.json"),
    };
    serde_json::from_str(text).unwrap()
}

/// The health of the app and of the dataplane in a recorded step; `None` if it changes only what Consul holds.
fn health_in(step: &str) -> Option<(&'static str, &'static str)> {
    Some(match step {
        "both containers UNKNOWN" => ("UNKNOWN", "UNKNOWN"),
        "app HEALTHY, consul-dataplane UNKNOWN" => ("HEALTHY", "UNKNOWN"),
        step if step.starts_with("app UNHEALTHY") => ("UNHEALTHY", "HEALTHY"),
        step if step.starts_with("both HEALTHY") => ("HEALTHY", "HEALTHY"),
        _ => return None,
    })
}

/// The checks of a recorded request, and whether Consul has accepted it.
fn recorded(request: &Value) -> (Vec<CheckHealth>, bool) {
    let checks = request["body"]["Checks"].as_array().unwrap().iter().map(|check| {
        let suffix = check["CheckID"].as_str().unwrap().strip_prefix(INSTANCE).unwrap().to_owned();
        let health = check["Output"].as_str().unwrap().split('"').nth(1).unwrap().to_owned();
        let check_health = CheckHealth { suffix, health };
        assert_eq!(check["Status"], check_health.status());
        check_health
    });
    (checks.collect(), request["status"] == 200)
}

/// Sends writes to a Consul that knows the task, or does not.
fn send(
    memory: &mut Memory,
    writes: Vec<test_harness::ecs_agent::Write>,
    is_known: bool,
) -> Vec<(Vec<CheckHealth>, bool)> {
    let mut sent = Vec::new();
    for write in writes {
        let tried = if is_known { write.requests.len() } else { 1 };
        sent.extend(write.requests.iter().take(tried).map(|checks| (checks.clone(), is_known)));
        if is_known {
            memory.remember(write);
        }
    }
    sent
}

fn assert_writes_as_recorded(release: Release) {
    let recording = recording(release);
    let mut memory = Memory::new(release, &["app"]);
    let mut health = BTreeMap::new();
    let mut is_known = true;
    for step in recording["steps"].as_array().unwrap() {
        let name = step["step"].as_str().unwrap();
        let wanted: Vec<_> = match name {
            // It deregisters the task, and ends
            "consul-dataplane stopped" => break,
            _ => step["requests"].as_array().unwrap().iter().map(recorded).collect(),
        };
        match name {
            "Consul has forgotten the node; nothing else changes" => is_known = false,
            "the same registration written again; both HEALTHY all the time" => is_known = true,
            _ => {}
        }
        if let Some((app, dataplane)) = health_in(name) {
            health = [("app", app), (DATAPLANE, dataplane)].map(|(name, it)| (name.to_owned(), it.to_owned())).into();
        }
        let mut sent = Vec::new();
        if name == "health-sync told to stop" {
            let writes = memory.at_stop();
            sent.extend(send(&mut memory, writes, is_known));
        }
        // The recording ends within a tick: what it has is the beginning of what ticks write
        loop {
            let due = memory.due(&health);
            let written = send(&mut memory, due, is_known);
            let is_silent = written.is_empty();
            sent.extend(written);
            if is_silent || sent.len() >= wanted.len() {
                break;
            }
        }
        let is_cut = sent.len() > wanted.len();
        assert_eq!(sent[..wanted.len().min(sent.len())], wanted, "{release:?}: {name}");
        assert!(!is_cut || release == Release::V0_9, "{release:?}: {name}: {sent:?}");
    }
}

#[test]
fn health_sync_writes_as_recorded() {
    for release in Release::ALL {
        assert_writes_as_recorded(release);
    }
}
