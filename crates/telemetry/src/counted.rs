//! What is counted without a further dimension.

use metrics::counter;

/// What is counted without a further dimension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counted {
    /// A token for a service or for client agents was created in Consul.
    TokensCreated,
    /// A token of an idle service was deleted.
    TokensRevoked,
    /// A login token of a stopped task was deleted.
    LoginTokensDeleted,
    /// An instance of a stopped task was deregistered.
    InstancesDeregistered,
    /// An instance was drained: its task was told to stop, or has no proxy.
    InstancesDrained,
    /// A running task was registered again.
    TasksRepaired,
    /// The checks of a task were corrected.
    TasksCorrected,
    /// A running task without a proxy was drained.
    TasksDrained,
    /// A sweep has found a broken task.
    TasksBroken,
    /// An action that a sweep had to do, because events had missed it.
    Drift,
    /// A task that stopped more than five minutes before a scheduled sweep, which had to remove its entries.
    EventsMissed,
    /// A sweep has read every cluster of the deployment.
    FullSweeps,
    /// The guard has stopped the deletions or corrections of a cluster.
    GuardTripped,
    /// A chain of own messages was ended.
    MessageChainsEnded,
}

impl Counted {
    /// All of them.
    pub const ALL: [Self; 14] = [
        Self::TokensCreated,
        Self::TokensRevoked,
        Self::LoginTokensDeleted,
        Self::InstancesDeregistered,
        Self::InstancesDrained,
        Self::TasksRepaired,
        Self::TasksCorrected,
        Self::TasksDrained,
        Self::TasksBroken,
        Self::Drift,
        Self::EventsMissed,
        Self::FullSweeps,
        Self::GuardTripped,
        Self::MessageChainsEnded,
    ];

    /// The name of the metric.
    pub fn name(self) -> &'static str {
        match self {
            Self::TokensCreated => "TokensCreated",
            Self::TokensRevoked => "TokensRevoked",
            Self::LoginTokensDeleted => "LoginTokensDeleted",
            Self::InstancesDeregistered => "InstancesDeregistered",
            Self::InstancesDrained => "InstancesDrained",
            Self::TasksRepaired => "TasksRepaired",
            Self::TasksCorrected => "TasksCorrected",
            Self::TasksDrained => "TasksDrained",
            Self::TasksBroken => "TasksBroken",
            Self::Drift => "Drift",
            Self::EventsMissed => "EventsMissed",
            Self::FullSweeps => "FullSweeps",
            Self::GuardTripped => "GuardTripped",
            Self::MessageChainsEnded => "MessageChainsEnded",
        }
    }

    /// Counts `number` of them.
    pub fn add(self, number: usize) {
        counter!(self.name()).increment(number as u64);
    }
}
