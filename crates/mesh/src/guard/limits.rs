//! How much a sweep may remove, what it is measured by, and why something is held back.

/// The smallest number of tasks, or of services with a token, to which the share applies.
pub(super) const MIN_OBJECTS: usize = 10;

/// The largest share of the tasks of a service or cluster, or of the services with a token, that one sweep may remove
/// where the listing of ECS may be incomplete, in per cent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MaxDeletePercent(pub(super) u8);

impl MaxDeletePercent {
    /// From 0 (no deletion where there are ten or more) to 100 (no limit).
    pub fn new(percent: u8) -> Option<Self> {
        (percent <= 100).then_some(Self(percent))
    }

    /// For removals that an operator forces.
    pub const NO_LIMIT: Self = Self(100);

    pub(super) fn is_exceeded_by(self, deleted: usize, owned: usize) -> bool {
        owned >= MIN_OBJECTS && deleted * 100 > owned * usize::from(self.0)
    }
}

/// How many tasks of a cluster ECS counts, and how many of them it lists.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TaskCounts {
    /// The running and pending tasks that `DescribeClusters` counts.
    pub counted: usize,
    /// The tasks that are listed, that were created before that call, and that are running or pending.
    pub listed: usize,
}

impl TaskCounts {
    /// Whether the listing has as many tasks as ECS counts. No task proves nothing: so does a cluster in another region
    /// look.
    pub fn is_complete(self) -> bool {
        self.counted > 0 && self.listed >= self.counted
    }
}

/// Why the guard holds removals of a cluster back.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Alarm {
    /// The plan deletes too large a share.
    #[error("the plan deletes {deleted} of {owned} {what}, more than MaxDeletePercent ({percent} %)")]
    TooMany {
        /// `services' tokens`.
        what: &'static str,
        /// How many it would delete.
        deleted: usize,
        /// How many there are.
        owned: usize,
        /// The limit.
        percent: u8,
    },
    /// ECS does not know too large a share of the tasks, and its listing may be incomplete.
    #[error(
        "ECS does not know {unknown} of {owned} {what}, more than MaxDeletePercent ({percent} %), and its list may be \
         incomplete: it counts {} running and pending tasks in the cluster, and lists {} of them", counts.counted, counts.listed
    )]
    Unknown {
        /// `tasks of service web`, or `tasks` of the cluster.
        what: String,
        /// How many it does not know.
        unknown: usize,
        /// How many there are.
        owned: usize,
        /// The limit.
        percent: u8,
        /// What ECS counts and lists.
        counts: TaskCounts,
    },
}
