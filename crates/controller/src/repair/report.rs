//! The report of the repairs.

use std::collections::{BTreeMap, BTreeSet};

use mesh::arn::{ClusterArn, TaskArn};
use report::{Blocked, PlannedAction, Waiting};

use crate::survey::{Problem, RunningTask};

/// A task whose entries are left as they are, and why.
#[derive(Debug, Clone)]
pub(crate) struct Unrepaired {
    pub(crate) cluster: ClusterArn,
    pub(crate) task_id: String,
    pub(crate) why: String,
}

impl Unrepaired {
    pub(crate) fn of(running: &RunningTask, why: &impl ToString) -> Self {
        let task_id = running.task.arn.id().to_string();
        Self { cluster: running.cluster.clone(), task_id, why: why.to_string() }
    }
}

/// What was repaired in a cluster, in numbers.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Repaired {
    /// The tasks of which something was registered again.
    pub(crate) tasks: usize,
    /// The checks whose status was corrected.
    pub(crate) checks: usize,
}

/// The result of the repairs of a sweep.
#[derive(Default)]
pub(crate) struct RepairReport {
    pub(crate) repaired: BTreeMap<ClusterArn, Repaired>,
    /// What would be written now.
    pub(crate) planned: Vec<(ClusterArn, PlannedAction)>,
    /// What waits for a time or a second look.
    pub(crate) waiting: Vec<(ClusterArn, Waiting)>,
    /// What is refused, with its `reason`.
    pub(crate) blocked: Vec<(ClusterArn, Blocked)>,
    pub(crate) unrepaired: Vec<Unrepaired>,
    /// The tasks without a proof among the login tokens whose IAM role proves them.
    pub(crate) proven_by_role: BTreeSet<TaskArn>,
    pub(crate) problems: Vec<Problem>,
    /// Why the guard holds corrections of a cluster back.
    pub(crate) alarms: BTreeSet<(ClusterArn, String)>,
}

impl RepairReport {
    pub(super) fn count_repaired(&mut self, cluster: &ClusterArn) {
        self.repaired.entry(cluster.clone()).or_default().tasks += 1;
    }

    pub(super) fn count_corrected(&mut self, cluster: &ClusterArn, checks: usize) {
        self.repaired.entry(cluster.clone()).or_default().checks += checks;
    }
}
