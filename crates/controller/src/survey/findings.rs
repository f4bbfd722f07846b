//! The parameters of a sweep, and the result of its survey.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use jiff::Timestamp;
use mesh::{
    arn::{ClusterArn, TaskArn, TaskId},
    cluster_selection::ClusterSelection,
    guard,
    names::InvalidField,
    plan::Observed,
    quota::EntryOwner,
    repair::NodeReading,
    secret::Trigger,
    task::{DescribedTask, MemberTask},
    tenancy::Tenancy,
    token::TokenHolder,
};

use crate::{
    bootstrap::NotCreated,
    error::ControllerError,
    tasks::{ClusterStatuses, ClusterTasks},
};

/// The result of a survey.
#[derive(Default)]
pub(crate) struct Survey {
    /// When it started, by the clock of the function: every read is later.
    pub(crate) began: Timestamp,
    pub(crate) observed: Observed,
    /// Whether ACLs are off in Consul: then there are no tokens.
    pub(crate) are_acls_off: bool,
    pub(crate) readings: Vec<Reading>,
    /// One tenancy for each partition of Consul that was read.
    pub(crate) partitions: Vec<Tenancy>,
    pub(crate) problems: Vec<Problem>,
    pub(crate) skipped: Vec<Skipped>,
    /// The clusters with a synthetic node; read only if a pattern selects clusters.
    pub(crate) synthetic_nodes: BTreeSet<ClusterArn>,
    /// Clusters whose entries in Consul could not be read.
    pub(crate) unread: BTreeSet<ClusterArn>,
    /// The clusters' nodes that could be read, with their checks.
    pub(crate) nodes: Vec<NodeReading>,
    /// The tasks of the mesh that are meant to run.
    pub(crate) running: Vec<MemberTask>,
    /// The holders whose secret the role may not read with this token mode.
    pub(crate) out_of_reach: BTreeSet<TokenHolder>,
    /// The unlisted tasks that ECS was not asked about, because the owners of their entries have too many.
    pub(crate) waiting: BTreeMap<ClusterArn, BTreeSet<TaskId>>,
    /// Whether every cluster of the deployment was read, in ECS and in Consul.
    pub(crate) is_full: bool,
    /// Whether ECS lists no task of a cluster although Consul has entries of its tasks: only a second look proves that its
    /// services are idle.
    pub(crate) is_emptiness_unproven: bool,
}

impl Survey {
    /// Whether ECS has deleted the cluster.
    pub(crate) fn is_deleted(&self, cluster: &ClusterArn) -> bool {
        self.readings.iter().any(|reading| reading.cluster == *cluster && reading.is_deleted)
    }

    /// Whether everything of the cluster was read, in ECS and in Consul.
    pub(crate) fn has_read_all_of(&self, cluster: &ClusterArn) -> bool {
        let is_judged = self.readings.iter().any(|it| it.cluster == *cluster && it.is_judged && !it.is_deleted);
        is_judged && !self.unread.contains(cluster)
    }

    /// Records that a cluster is not judged, because the name of another one differs only in case.
    pub(crate) fn refuse(&mut self, cluster: &ClusterArn, clusters: &Clusters) {
        let expected = "a name that differs from other clusters' in more than case, which Consul's node names ignore";
        let error = ControllerError::from(InvalidField::new("cluster", cluster.name(), expected));
        self.problems.push(Problem::new(Some(cluster), error));
        self.readings.push(Reading { is_judged: false, ..Reading::of(cluster, clusters) });
    }

    /// Records that entries of `clusters` in Consul could not be read.
    pub(crate) fn mark_unread(
        &mut self,
        clusters: &[ClusterArn],
        concerned: Option<&ClusterArn>,
        error: ControllerError,
    ) {
        self.problems.push(Problem::new(concerned, error));
        self.unread.extend(clusters.iter().cloned());
    }
}

/// The tasks of a cluster, in numbers.
pub(crate) struct Reading {
    pub(crate) cluster: ClusterArn,
    /// Whether its tasks could be read.
    pub(crate) is_judged: bool,
    /// Whether ECS has deleted it.
    pub(crate) is_deleted: bool,
    /// The number of tasks that ECS lists, and of those that are not stopped.
    pub(crate) listed: usize,
    pub(crate) living: usize,
}

impl Reading {
    pub(crate) fn of(cluster: &ClusterArn, clusters: &Clusters) -> Self {
        let tasks = clusters.tasks(cluster);
        Self {
            cluster: cluster.clone(),
            is_judged: clusters.is_read(cluster),
            is_deleted: clusters.deleted.contains(cluster),
            listed: tasks.len(),
            living: tasks.iter().filter(|task| task.phase.is_living()).count(),
        }
    }
}

/// What could not be read or written.
pub(crate) struct Problem {
    pub(crate) cluster: Option<ClusterArn>,
    /// Whose mistake it may be, if the error itself does not say it.
    pub(crate) owner: Option<String>,
    pub(crate) error: Arc<ControllerError>,
}

impl Problem {
    pub(crate) fn new(cluster: Option<&ClusterArn>, error: impl Into<Arc<ControllerError>>) -> Self {
        Self { cluster: cluster.cloned(), owner: None, error: error.into() }
    }

    /// The problem of one owner: for example of `service web`.
    pub(crate) fn of(owner: impl Into<String>, error: impl Into<ControllerError>) -> Self {
        Self { owner: Some(owner.into()), ..Self::new(None, error.into()) }
    }

    /// The owners whose rest waits because of their quota: `waiting` is how much of `what` each of them has left.
    pub(crate) fn over_quota(
        waiting: BTreeMap<EntryOwner, usize>,
        what: &str,
        most: usize,
        cluster: Option<&ClusterArn>,
    ) -> impl Iterator<Item = Self> {
        waiting.into_iter().map(move |(owner, waiting)| {
            let error = ControllerError::OverLimit { what: format!("{owner}: {what}"), most, waiting };
            Self { cluster: cluster.cloned(), ..Self::of(owner.to_string(), error) }
        })
    }

    /// The nodes and namespaces that Consul does not have.
    pub(crate) fn not_created(places: NotCreated) -> impl Iterator<Item = Self> {
        places.into_iter().map(|((cluster, _), error)| Self::new(Some(&cluster), error))
    }

    pub(crate) fn report(&self) -> report::Problem {
        report::Problem { owner: self.owner.clone(), ..self.error.problem(self.cluster.as_ref()) }
    }

    /// The value of a read or write. A failure is added to `problems`.
    pub(crate) fn record<T>(
        result: Result<T, impl Into<Arc<ControllerError>>>,
        cluster: Option<&ClusterArn>,
        problems: &mut Vec<Self>,
    ) -> Option<T> {
        result.map_err(|error| problems.push(Self::new(cluster, error))).ok()
    }
}

/// An object that was skipped, and why.
pub(crate) struct Skipped {
    pub(crate) cluster: ClusterArn,
    pub(crate) what: String,
    pub(crate) why: String,
}

/// The clusters in ECS.
#[derive(Default)]
pub(crate) struct Clusters {
    /// Every cluster that was found.
    pub(crate) found: BTreeSet<ClusterArn>,
    /// Whether these are all clusters of the deployment.
    pub(crate) are_all_found: bool,
    pub(crate) read: ClusterTasks,
    /// How many running and pending tasks ECS counts in each existing one.
    pub(crate) counted: BTreeMap<ClusterArn, usize>,
    pub(crate) deleted: BTreeSet<ClusterArn>,
    /// The existing clusters whose names differ only in case. Their tasks are read, because they may use any service's token.
    pub(crate) namesakes: BTreeSet<ClusterArn>,
}

impl Clusters {
    pub(crate) fn tasks(&self, cluster: &ClusterArn) -> &[Arc<DescribedTask>] {
        self.read.get(cluster).map_or(&[], Vec::as_slice)
    }

    /// Whether the tasks of every cluster of the deployment were read.
    pub(crate) fn are_all_read(&self) -> bool {
        self.are_all_found && self.found.iter().all(|cluster| self.is_read(cluster))
    }

    /// Whether the listings prove that a service is idle. Without a cluster they do not, nor does an empty listing of a
    /// cluster that is not in the order or in `unread`.
    pub(crate) fn can_prove_idleness(&self, order: &SweepOrder, unread: &BTreeSet<ClusterArn>) -> bool {
        let is_judged = |cluster: &ClusterArn| order.includes(cluster) && !unread.contains(cluster);
        let mut read = self.read.iter();
        order.force || !self.found.is_empty() && read.all(|(cluster, tasks)| !tasks.is_empty() || is_judged(cluster))
    }

    /// Whether ECS lists no task of a cluster although Consul has entries of its tasks. A second look proves that there is
    /// none, if ECS counts none.
    pub(crate) fn is_emptiness_unproven(&self, order: &SweepOrder, observed: &Observed) -> bool {
        let is_proven = |cluster: &ClusterArn| order.waited.is_some() && self.counted.get(cluster) == Some(&0);
        let is_unproven = |cluster: &ClusterArn| guard::has_entries(observed, cluster) && !is_proven(cluster);
        !order.force && self.read.iter().any(|(cluster, tasks)| tasks.is_empty() && is_unproven(cluster))
    }

    pub(crate) fn is_read(&self, cluster: &ClusterArn) -> bool {
        self.deleted.contains(cluster) || self.read.contains_key(cluster)
    }
}

/// The parameters of a sweep.
#[derive(Debug, Clone, Default)]
pub struct SweepOrder {
    /// The clusters to sweep; empty: all configured ones.
    pub clusters: Vec<ClusterArn>,
    /// Only report the plan.
    pub dry_run: bool,
    /// Ignore the guard, and treat clusters that ECS does not know as deleted.
    pub force: bool,
    /// A cluster whose deletion was reported by an event: ECS need not know it.
    pub deleted: Option<ClusterArn>,
    /// Whether the schedule invoked the sweep, and not an operator.
    pub is_scheduled: bool,
    /// In the second look of an earlier sweep, what it left.
    pub waited: Option<Waited>,
}

/// What an earlier sweep left to its second look.
#[derive(Debug, Clone)]
pub struct Waited {
    pub tasks: BTreeSet<TaskArn>,
    /// Whether an operator forced that sweep: the guard's share does not hold these tasks.
    pub is_forced: bool,
}

impl SweepOrder {
    pub(crate) fn trigger(&self) -> Trigger {
        match (self.is_scheduled, &self.deleted) {
            (true, _) => Trigger::Sweep,
            (false, Some(_)) => Trigger::Event,
            (false, None) => Trigger::Person,
        }
    }

    pub(crate) fn includes(&self, cluster: &ClusterArn) -> bool {
        self.clusters.is_empty() || self.clusters.contains(cluster)
    }

    /// Whether `mark` names a cluster of the sweep, by ARN or by name.
    pub(crate) fn names(&self, mark: &str, selection: &ClusterSelection) -> bool {
        let is_ordered = || self.clusters.iter().any(|cluster| cluster.is_named_by(mark));
        selection.is_named_by(mark) && (self.clusters.is_empty() || is_ordered())
    }

    /// The clusters that the order names, which ECS need not list.
    pub(crate) fn named(&self) -> Vec<ClusterArn> {
        self.clusters.iter().chain(&self.deleted).cloned().collect()
    }

    /// The statuses without the cluster whose deletion was reported: answers of ECS lag behind its events.
    pub(crate) fn without_deleted(&self, statuses: &ClusterStatuses) -> ClusterStatuses {
        let mut statuses = statuses.clone();
        if let (Ok(statuses), Some(deleted)) = (&mut statuses, &self.deleted) {
            statuses.remove(deleted);
        }
        statuses
    }

    pub(crate) fn treats_unknown_as_deleted(&self, cluster: &ClusterArn) -> bool {
        self.force || self.deleted.as_ref() == Some(cluster)
    }
}
