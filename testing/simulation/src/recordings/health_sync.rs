//! The simulated `health-sync` against recorded ones, step by step through the life of a task.

use std::collections::{BTreeMap, BTreeSet};

use mesh::catalog::HealthCheck;
use serde_json::Value;

use crate::{
    containers::Containers, dialect::Dialect, direct::Direct, ecs::End, health_sync::Release,
    task_lifecycle::TaskStatus, world::World,
};

/// What `health-sync` of three releases wrote at each step. Each writes repeatedly what fails, 0.9.0 also what has not changed.
const LIVES: &str = include_str!("health-sync-life.json");

/// How often the simulated one ticks at each step.
const TICKS: usize = 3;

/// What comes of some writes: of each check the last status and whether it was written; and how many checks one write has.
type Outcome = (BTreeMap<String, (String, bool)>, BTreeSet<usize>);

fn recorded(writes: &Value) -> Outcome {
    let (mut last, mut sizes) = (BTreeMap::new(), BTreeSet::new());
    for write in writes.as_array().unwrap() {
        let checks = write["checks"].as_object().unwrap();
        sizes.insert(checks.len());
        for (check, status) in checks {
            last.insert(check.clone(), (status.as_str().unwrap().to_owned(), write["status"] == 200));
        }
    }
    (last, sizes)
}

fn simulated(writes: &[(Vec<HealthCheck>, bool)], id: &str) -> Outcome {
    let (mut last, mut sizes) = (BTreeMap::new(), BTreeSet::new());
    for (checks, is_written) in writes {
        sizes.insert(checks.len());
        for check in checks {
            let name = check.id.split_once(id).unwrap().1.trim_start_matches('-').to_owned();
            last.insert(name, (check.status.as_str().to_owned(), *is_written));
        }
    }
    (last, sizes)
}

/// Brings the first task into the state of a step.
fn begin(world: &mut World, step: &str) {
    let containers = Containers {
        is_unhealthy: step.starts_with("app UNHEALTHY") || step == "both containers UNKNOWN",
        // A proxy whose health is not known is one whose last health status is not shown.
        has_lost_proxy: step.contains("UNKNOWN"),
        has_lost_sync: false,
        is_hidden: false,
    };
    world.ecs.tasks[0].containers.push((world.now, containers));
    if step.starts_with("Consul has forgotten the node") {
        let node = world.clusters[0].as_str().to_owned();
        world.consul.remove_node(&node);
    } else if step.starts_with("the same registration written again") {
        world.register(0);
    } else if step == "health-sync told to stop" {
        while !world.ecs.tasks[0].status().is_some_and(TaskStatus::is_stopping) {
            world.step(0);
        }
    }
}

#[test]
fn health_sync_writes_what_was_recorded_at_each_step_of_a_task() {
    let lives: Value = serde_json::from_str(LIVES).unwrap();
    for (number, release) in [("0.8.1", Release::V0_8), ("0.9.0", Release::V0_9), ("0.10.0", Release::V0_10)] {
        // Given a running task of the release
        let direct = Direct::new(Dialect::V1_21);
        direct.with(|world| {
            world.scenario.healing.release = release;
            world.scenario.healing.runs_health_sync = true;
            world.scenario.healing.shows_last_health = false;
            world.ecs.tasks[0].end = End::Runs;
            while !world.ecs.tasks[0].runs_in_mesh() {
                world.step(0);
            }
        });
        for life in lives[number].as_array().unwrap() {
            // When its state changes
            let step = life["step"].as_str().unwrap();
            let writes = direct.with(|world| {
                begin(world, step);
                let id = world.ecs.tasks[0].arn.id().to_string();
                let writes: Vec<_> = (0..TICKS).flat_map(|_| world.sync_task(0)).collect();
                simulated(&writes, &id)
            });
            // Then health-sync writes what it wrote there
            assert_eq!(writes, recorded(&life["writes"]), "{number}: {step}; left: simulated");
        }
    }
}
