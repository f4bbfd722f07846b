//! Why a task or a service is as it is: a timeline of what ECS, Consul and the controller did, and one sentence.
//!
//! ```text
//!  Inspection, History, tokens, audit ─▶ TaskEvidence ─┬▶ timeline             what has happened
//!                                                      └▶ rules ─▶ Conclusion  what is wrong: the first rule that applies
//! ```

mod evidence;
mod log;
mod report;
mod rules;
mod service;
#[cfg(test)]
mod tests;
mod timeline;

use jiff::Timestamp;
use mesh::{arn::TaskId, consul_ecs::is_sidecar};
use observe::Inspection;

use self::{evidence::TaskEvidence, report::Conclusion};
pub use self::{
    evidence::{AuditError, Background},
    log::{ContainerLog, LogStream, LoggedLine, Meaning},
    report::{Condition, PastEvent, Who, WhyCause, WhyReport, WhySubject},
    service::{Found, Within, find_service, why_service},
};

/// Why a task is as it is, at `now`.
pub fn why_task(id: &TaskId, observed: &Inspection, background: &Background, now: Timestamp) -> WhyReport {
    let evidence = TaskEvidence::new(id, &observed.clusters, background, now);
    let Conclusion { condition, cause, sentence, log } = rules::conclude(&evidence);
    let in_log = || evidence.lines().find_map(|line| line.service.clone().filter(|name| !is_sidecar(name)));
    WhyReport {
        read_at: now,
        since: background.since,
        subject: WhySubject {
            task: Some(id.to_string()),
            service: evidence.member.map(|member| member.identity.service.name.to_string()).or_else(in_log),
            cluster: evidence.cluster.map(|cluster| cluster.arn.to_string()).or_else(|| evidence.cluster_in_log()),
        },
        timeline: timeline::of_task(&evidence),
        condition,
        cause,
        conclusion: sentence,
        log,
        problems: background.problems(observed),
    }
}
