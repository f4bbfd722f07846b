//! Why a task or a service is as it is: a timeline of what ECS, Consul and the controller did, and one sentence.
//!
//! ```text
//!  Observed, History, tokens, audit ─▶ Case ─▶ timeline         what has happened
//!                                       └────▶ rules ─▶ Conclusion    what is wrong: the first rule that applies
//! ```

mod case;
mod cause;
mod controller;
mod further;
mod moment;
mod report;
mod rules;
mod service;
mod timeline;

#[cfg(test)]
mod tests;

use jiff::Timestamp;
use mesh::arn::TaskId;

use self::{case::Case, report::Conclusion};
pub use self::{
    cause::Cause,
    further::{AuditError, Further},
    report::{Condition, Event, Subject, Who, WhyReport},
    service::{Found, Within, find_service, why_service},
};
use crate::observed::Observed;

/// Why a task is as it is, at `now`.
pub fn why_task(id: &TaskId, observed: &Observed, further: &Further, now: Timestamp) -> WhyReport {
    let case = Case::new(id, &observed.clusters, further, now);
    let Conclusion { condition, cause, sentence } = rules::conclude(&case);
    let in_log = || case.lines().find_map(|line| line.service.clone().filter(|name| !name.ends_with("-sidecar-proxy")));
    WhyReport {
        read_at: now,
        since: further.since,
        subject: Subject {
            task: Some(id.to_string()),
            service: case.member.map(|member| member.service.name.to_string()).or_else(in_log),
            cluster: case.cluster.map(|cluster| cluster.arn.to_string()).or_else(|| case.cluster_in_log()),
        },
        timeline: timeline::of_task(&case),
        condition,
        cause,
        conclusion: sentence,
        problems: further.problems(observed),
    }
}
