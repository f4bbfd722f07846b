//! Checks of a running task that contradict ECS.

use super::{Catalog, TaskFacts, expected::container_of};
use crate::{
    catalog::{CheckStatus, HealthCheck},
    health::verdict,
    registration::Registration,
};

/// The comparison of the registered checks of a task with the health that ECS reports.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Statuses {
    /// The checks with another status than in ECS, as they should be, with the `ModifyIndex` of what was read.
    pub wrong: Vec<HealthCheck>,
    /// A check that passes in Consul, and of which ECS does not tell that it should: in words.
    pub unconfirmed: Option<String>,
}

impl TaskFacts<'_> {
    /// Compares the registered checks among the expected ones with the health that ECS reports.
    pub fn statuses(&self, expected: &[Registration], catalog: &Catalog<'_>) -> Statuses {
        let mut statuses = Statuses::default();
        let Ok(config) = self.config() else { return statuses };
        let synced = self.synced(&config);
        for check in expected.iter().flat_map(|registration| &registration.checks) {
            let verdict = container_of(check).and_then(|container| verdict(&synced, container));
            let (Some(seen), Some(verdict)) = (catalog.check(check), verdict) else { continue };
            match verdict.status {
                Some(status) if status != seen.status => {
                    let (status, output) = (status, verdict.why);
                    let check = HealthCheck { status, output, modify_index: seen.modify_index, ..check.clone() };
                    statuses.wrong.push(check);
                }
                None if seen.status == CheckStatus::Passing => {
                    let why = format!("{}; its check {} passes in Consul, and is left as it is", verdict.why, seen.id);
                    statuses.unconfirmed.get_or_insert(why);
                }
                _ => {}
            }
        }
        statuses
    }
}
