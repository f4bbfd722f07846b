//! The audit function: audits registered and running task definitions, reports findings, and announces new ones.
//!
//! ```text
//!  order ─▶ gather (ecs) ─▶ judge (audit) ─▶ report ─▶ answer, or the bucket if it is large
//!                                              └──▶ new findings ─▶ claim ─▶ topic and event bus ─▶ finish
//! ```
//!
//! A finding is announced once for each revision of a task definition. A record in the bucket lists the announced
//! findings of a revision. Before it announces findings, an invocation claims them in the record, so that only one of
//! several concurrent invocations announces them. If the announcement fails, it releases the claim; if the invocation
//! ends abnormally, the claim expires with the invocation's timeout. So a finding may be announced twice, but is never
//! lost.

mod announce;
mod announcement_log;
mod auditor;
mod handler;
mod report_store;
mod settings;
#[cfg(test)]
mod tests;

pub use self::{
    announce::{Message, SnsTopic, Topic},
    auditor::{Auditor, Edges},
    handler::{Order, audit},
    report_store::{ReportStore, S3Store, Version},
    settings::{AuditSettings, SettingsError},
};
