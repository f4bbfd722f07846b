//! What `health-sync` remembers, and what it therefore writes at a tick, as recorded of each release.

use std::collections::BTreeMap;

use super::{DATAPLANE, recording::Release};

/// The health of a task's containers in ECS, by name.
pub type Health = BTreeMap<String, String>;

/// The health that each container had when its checks were last written.
#[derive(Debug)]
pub struct Memory {
    release: Release,
    synced: Vec<String>,
    written: Health,
}

/// A check as it is written. Only `HEALTHY` is passing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckHealth {
    /// What follows the ID of the task's service instance in the check's ID.
    pub suffix: String,
    /// The health in the check's output.
    pub health: String,
}

impl CheckHealth {
    /// The check's status.
    pub fn status(&self) -> &'static str {
        if self.health == "HEALTHY" { "passing" } else { "critical" }
    }
}

/// Requests in a row. The first one that fails is the last one, and then nothing is remembered.
#[derive(Debug)]
pub struct Write {
    /// The checks of each request.
    pub requests: Vec<Vec<CheckHealth>>,
    remembered: Vec<(String, String)>,
}

impl Memory {
    /// The memory of a `health-sync` that has written nothing.
    pub fn new(release: Release, synced: &[&str]) -> Self {
        Self { release, synced: synced.iter().map(|&name| name.to_owned()).collect(), written: Health::new() }
    }

    /// What is written at a tick.
    pub fn due(&self, health: &Health) -> Vec<Write> {
        let mut now: Vec<(String, String)> = self.synced.iter().map(|name| (name.clone(), of(health, name))).collect();
        now.push((DATAPLANE.to_owned(), self.of_dataplane(health)));
        let is_due = |(name, health): &(String, String)| {
            let is_written_always = self.release == Release::V0_9 && name == DATAPLANE;
            is_written_always || self.written.get(name) != Some(health)
        };
        now.retain(is_due);
        self.writes(&now)
    }

    /// What is written when the program is told to stop. It is not remembered.
    pub fn at_stop(&self) -> Vec<Write> {
        let names = self.synced.iter().cloned().chain([DATAPLANE.to_owned()]);
        let mut writes = self.writes(&names.map(|name| (name, "UNHEALTHY".to_owned())).collect::<Vec<_>>());
        for write in &mut writes {
            write.remembered.clear();
        }
        writes
    }

    /// Remembers a write whose requests were all accepted.
    pub fn remember(&mut self, write: Write) {
        self.written.extend(write.remembered);
    }

    fn of_dataplane(&self, health: &Health) -> String {
        if self.release == Release::V0_8 {
            return of(health, DATAPLANE);
        }
        let mut all = self.synced.iter().map(String::as_str).chain([DATAPLANE]);
        if all.all(|name| of(health, name) == "HEALTHY") { "HEALTHY" } else { "UNHEALTHY" }.to_owned()
    }

    fn writes(&self, changed: &[(String, String)]) -> Vec<Write> {
        let requests = changed.iter().map(|(name, health)| (checks(name, health), (name.clone(), health.clone())));
        if self.release == Release::V0_10 {
            let (checks, remembered): (Vec<_>, Vec<_>) = requests.unzip();
            let checks: Vec<CheckHealth> = checks.into_iter().flatten().collect();
            return if checks.is_empty() { Vec::new() } else { vec![Write { requests: vec![checks], remembered }] };
        }
        let alone = |check: CheckHealth| vec![check];
        let write = |(checks, health): (Vec<CheckHealth>, _)| Write {
            requests: checks.into_iter().map(alone).collect(),
            remembered: vec![health],
        };
        requests.map(write).collect()
    }
}

/// The health of a container; of one that is not there, or that does not run, `UNHEALTHY`.
fn of(health: &Health, name: &str) -> String {
    health.get(name).cloned().unwrap_or_else(|| "UNHEALTHY".to_owned())
}

/// The checks of a container: the dataplane has one on the service and one on the sidecar proxy.
fn checks(name: &str, health: &str) -> Vec<CheckHealth> {
    let mut suffixes = vec![format!("-{name}")];
    if name == DATAPLANE {
        suffixes.push(format!("-sidecar-proxy-{name}"));
    }
    suffixes.into_iter().map(|suffix| CheckHealth { suffix, health: health.to_owned() }).collect()
}
