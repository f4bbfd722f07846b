//! The metrics of the functions: their names, units and dimensions. Each is sent with the dimension `Stack`.
//!
//! What is counted here is written by `lambda` when an invocation ends, in `CloudWatch`'s embedded format:
//! <https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html>.
//! Where no function collects metrics, as in the simulation, counting does nothing.

#[cfg(test)]
mod tests;

use std::time::Duration;

pub use metrics::Unit;
use metrics::{counter, describe_counter, describe_histogram, histogram};

/// The namespace of the metrics.
pub const NAMESPACE: &str = "EcsMeshController";
/// The dimension of all metrics: the name of the stack.
pub const STACK: &str = "Stack";

/// The handled messages, by [`KIND`] and [`OUTCOME`].
const EVENTS: &str = "Events";
/// Milliseconds from the time of an event until its work was done.
const REACTION_TIME: &str = "ReactionTime";
/// Milliseconds of a sweep.
const SWEEP_TIME: &str = "SweepTime";
/// The calls of a service, by [`SERVICE`].
const CALLS: &str = "Calls";
/// The calls that failed, by [`SERVICE`].
const CALL_ERRORS: &str = "CallErrors";
/// Milliseconds of all calls together, by [`SERVICE`].
const CALL_TIME: &str = "CallTime";
/// The starts of execution environments, by [`FUNCTION`].
const COLD_STARTS: &str = "ColdStarts";
/// The findings of an audit, by [`SEVERITY`].
const AUDIT_FINDINGS: &str = "AuditFindings";
/// The dimension of the kind of a message.
const KIND: &str = "Kind";
/// The dimension of an outcome.
const OUTCOME: &str = "Outcome";
/// The dimension of a called service.
const SERVICE: &str = "Service";
/// The dimension of a function.
const FUNCTION: &str = "Function";
/// The dimension of the severity of a finding.
const SEVERITY: &str = "Severity";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Metric {
    pub name: &'static str,
    /// Its unit: counters count, histograms record milliseconds.
    pub unit: Unit,
    /// Its dimensions in addition to [`STACK`], with their values.
    pub dimensions: Vec<(&'static str, Vec<&'static str>)>,
}

pub fn all() -> Vec<Metric> {
    let metric = |name, unit, dimensions| Metric { name, unit, dimensions };
    let by_service = || vec![(SERVICE, Service::names())];
    let counted = Counted::names().into_iter().map(|name| metric(name, Unit::Count, Vec::new()));
    let mut all: Vec<Metric> = counted.collect();
    all.extend([
        metric(EVENTS, Unit::Count, vec![(KIND, EventKind::names()), (OUTCOME, vec![DONE, FAILED])]),
        metric(REACTION_TIME, Unit::Milliseconds, Vec::new()),
        metric(SWEEP_TIME, Unit::Milliseconds, Vec::new()),
        metric(CALLS, Unit::Count, by_service()),
        metric(CALL_ERRORS, Unit::Count, by_service()),
        metric(CALL_TIME, Unit::Milliseconds, by_service()),
        metric(COLD_STARTS, Unit::Count, vec![(FUNCTION, Function::names())]),
        metric(AUDIT_FINDINGS, Unit::Count, vec![(SEVERITY, SEVERITIES.to_vec())]),
    ]);
    all
}

/// The values of [`OUTCOME`].
const DONE: &str = "Done";
const FAILED: &str = "Failed";
/// The values of [`SEVERITY`].
const SEVERITIES: [&str; 3] = ["Error", "Warning", "Info"];

/// An enum of names in metrics: `name` is the variant's, unless it has another text.
macro_rules! named {
    ($($(#[$doc:meta])* $name:ident { $($(#[$of:meta])* $variant:ident $(= $text:literal)?),* $(,)? })*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $name { $($(#[$of])* $variant),* }

        impl $name {
            const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// The name in metrics.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => named!(@ $variant $($text)?)),* }
            }

            fn names() -> Vec<&'static str> {
                Self::ALL.iter().map(|one| one.name()).collect()
            }
        }
    )*};
    (@ $variant:ident) => { stringify!($variant) };
    (@ $variant:ident $text:literal) => { $text };
}

named! {
    /// What is counted without a further dimension.
    Counted {
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
        /// A sweep has left one thing alone, because an error concerns it.
        Faults,
        /// A chain of own messages was ended.
        MessageChainsEnded,
    }

    /// The kind of a message.
    EventKind {
        /// A state change of a task.
        TaskChange,
        /// A host that has lost contact with ECS.
        HostChange,
        /// A registered task definition or a changed service.
        TaskDefinition,
        /// A check whether a token is idle.
        IdleCheck,
        /// A second look at tasks that ECS did not know.
        SecondLook,
        /// The order of a sweep, because Consul had lost the node of a cluster.
        LostNode,
        /// A message that cannot be parsed.
        Unreadable,
    }

    /// A service that is called.
    Service {
        /// Consul's HTTP API.
        Consul,
        /// All AWS APIs.
        Aws = "AWS",
    }

    /// A function.
    Function { TaskEvents, Reconcile, Audit }
}

impl Counted {
    pub fn add(self, number: usize) {
        counter!(self.name()).increment(number as u64);
    }
}

/// Counts a handled message.
pub fn event(kind: EventKind, is_done: bool) {
    let outcome = if is_done { DONE } else { FAILED };
    counter!(EVENTS, KIND => kind.name(), OUTCOME => outcome).increment(1);
}

/// Records how long after its event the work of a task was done.
pub fn reaction(time: Duration) {
    histogram!(REACTION_TIME).record(milliseconds(time));
}

/// Records how long a sweep took.
pub fn sweep(time: Duration) {
    histogram!(SWEEP_TIME).record(milliseconds(time));
}

/// Counts a call: one request, also if it is a retry.
pub fn call(service: Service, time: Duration, is_error: bool) {
    counter!(CALLS, SERVICE => service.name()).increment(1);
    counter!(CALL_TIME, SERVICE => service.name()).increment(time.as_millis().try_into().unwrap_or(0));
    if is_error {
        call_error(service);
    }
}

/// Counts an error that a single request does not show: that no server is known, or that the credential is not.
pub fn call_error(service: Service) {
    counter!(CALL_ERRORS, SERVICE => service.name()).increment(1);
}

/// Counts the start of an execution environment.
pub fn cold_start(function: Function) {
    counter!(COLD_STARTS, FUNCTION => function.name()).increment(1);
}

/// Counts the findings of an audit, whether they were announced before or not.
pub fn findings(errors: usize, warnings: usize, infos: usize) {
    for (severity, number) in SEVERITIES.into_iter().zip([errors, warnings, infos]) {
        counter!(AUDIT_FINDINGS, SEVERITY => severity).increment(number as u64);
    }
}

/// Tells the collector the units.
pub fn describe() {
    for metric in all() {
        match metric.name {
            REACTION_TIME | SWEEP_TIME => describe_histogram!(metric.name, metric.unit, ""),
            name => describe_counter!(name, metric.unit, ""),
        }
    }
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1_000.0
}
