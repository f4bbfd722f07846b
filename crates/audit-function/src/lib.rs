//! The audit function: audits registered and running task definitions, reports findings, and announces new ones.
//!
//! ```text
//!  order ─▶ gather (ecs) ─▶ judge (audit) ─▶ report ─▶ answer, or the bucket if it is large
//!                                              └──▶ new findings ─▶ event bus and topic ─▶ record
//! ```
//!
//! A finding is announced once for each revision of a task definition. A record in the bucket lists the announced
//! findings of a revision. It is written after the announcement, so a finding is never lost, and may be announced twice:
//! by two concurrent invocations, or by one that ended in between. Both announcements have the finding's fingerprint.

mod announce;
mod announcement_log;
mod auditor;
mod handler;
mod order;
mod report_store;
mod settings;
#[cfg(test)]
mod tests;

pub use self::{
    announce::{Message, SnsTopic, Topic},
    auditor::{AuditEdges, Auditor},
    handler::audit,
    order::Order,
    report_store::{ReportStore, S3Store, Version},
    settings::{AuditSettings, SettingsError},
};
