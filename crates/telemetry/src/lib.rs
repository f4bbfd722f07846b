//! The metrics of the functions: their names, units and dimensions. Each is sent with the dimension `Stack`.
//!
//! What is counted here is written by `lambda` when an invocation ends, in `CloudWatch`'s embedded format:
//! <https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html>.
//! Where no function collects metrics, as in the simulation, counting does nothing.

mod counted;
mod dimensions;
pub mod names;
#[cfg(test)]
mod tests;

use std::time::Duration;

pub use metrics::Unit;
use metrics::{counter, describe_counter, describe_histogram, histogram};

pub use self::{
    counted::Counted,
    dimensions::{EventKind, Function, Service},
};

/// The namespace of the metrics.
pub const NAMESPACE: &str = "EcsMeshController";
/// The dimension of all metrics: the name of the stack.
pub const STACK: &str = "Stack";

/// A metric.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Metric {
    /// Its name.
    pub name: &'static str,
    /// Its unit: counters count, histograms record milliseconds.
    pub unit: Unit,
    /// Its dimensions beside [`STACK`], with their values.
    pub dimensions: Vec<(&'static str, Vec<&'static str>)>,
}

/// All metrics.
pub fn all() -> Vec<Metric> {
    let metric = |name, unit, dimensions| Metric { name, unit, dimensions };
    let outcomes = vec![DONE, FAILED];
    let by_service = || vec![(names::SERVICE, Service::ALL.map(Service::name).to_vec())];
    let mut all: Vec<Metric> =
        Counted::ALL.into_iter().map(|counted| metric(counted.name(), Unit::Count, Vec::new())).collect();
    all.extend([
        metric(
            names::EVENTS,
            Unit::Count,
            vec![(names::KIND, EventKind::ALL.map(EventKind::name).to_vec()), (names::OUTCOME, outcomes)],
        ),
        metric(names::REACTION_TIME, Unit::Milliseconds, Vec::new()),
        metric(names::SWEEP_TIME, Unit::Milliseconds, Vec::new()),
        metric(names::CALLS, Unit::Count, by_service()),
        metric(names::CALL_ERRORS, Unit::Count, by_service()),
        metric(names::CALL_TIME, Unit::Milliseconds, by_service()),
        metric(names::COLD_STARTS, Unit::Count, vec![(names::FUNCTION, Function::ALL.map(Function::name).to_vec())]),
        metric(names::AUDIT_FINDINGS, Unit::Count, vec![(names::SEVERITY, SEVERITIES.to_vec())]),
    ]);
    all
}

/// The values of [`names::OUTCOME`].
const DONE: &str = "Done";
const FAILED: &str = "Failed";
/// The values of [`names::SEVERITY`].
const SEVERITIES: [&str; 3] = ["Error", "Warning", "Info"];

/// Counts a handled message.
pub fn event(kind: EventKind, is_done: bool) {
    let outcome = if is_done { DONE } else { FAILED };
    counter!(names::EVENTS, names::KIND => kind.name(), names::OUTCOME => outcome).increment(1);
}

/// Records how long after its event the work of a task was done.
pub fn reaction(time: Duration) {
    histogram!(names::REACTION_TIME).record(milliseconds(time));
}

/// Records how long a sweep took.
pub fn sweep(time: Duration) {
    histogram!(names::SWEEP_TIME).record(milliseconds(time));
}

/// Counts a call: one request, also if it is a retry.
pub fn call(service: Service, time: Duration, is_error: bool) {
    counter!(names::CALLS, names::SERVICE => service.name()).increment(1);
    counter!(names::CALL_TIME, names::SERVICE => service.name()).increment(time.as_millis().try_into().unwrap_or(0));
    if is_error {
        call_error(service);
    }
}

/// Counts an error that a single request does not show: that no server is known, or that the credential is not.
pub fn call_error(service: Service) {
    counter!(names::CALL_ERRORS, names::SERVICE => service.name()).increment(1);
}

/// Counts the start of an execution environment.
pub fn cold_start(function: Function) {
    counter!(names::COLD_STARTS, names::FUNCTION => function.name()).increment(1);
}

/// Counts the findings of an audit, whether they were announced before or not.
pub fn findings(errors: usize, warnings: usize, infos: usize) {
    for (severity, number) in SEVERITIES.into_iter().zip([errors, warnings, infos]) {
        counter!(names::AUDIT_FINDINGS, names::SEVERITY => severity).increment(number as u64);
    }
}

/// Tells the collector the units.
pub fn describe() {
    for metric in all() {
        match metric.name {
            names::REACTION_TIME | names::SWEEP_TIME => describe_histogram!(metric.name, metric.unit, ""),
            name => describe_counter!(name, metric.unit, ""),
        }
    }
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1_000.0
}
