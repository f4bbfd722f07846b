//! The deployed audit: reads what is registered and what runs, reports it, and announces what is new.
//!
//! ```text
//!  order ─▶ gather (ecs) ─▶ judge (audit) ─▶ report ─▶ answer, or the bucket if it is large
//!                                              └──▶ what is new ─▶ claim ─▶ topic and event bus ─▶ finish
//! ```
//!
//! A finding is announced once for each revision of a task definition. Which ones were, a record in the bucket says for each
//! revision. Before it announces anything, an invocation claims it there, so that of two only one speaks. If it fails, it
//! gives the claim back; if it dies, the claim ends when the invocation must have ended. Therefore a finding may be announced
//! twice, but is never lost.

mod announce;
mod announcement_log;
mod answer;
mod auditor;
#[cfg(test)]
mod fakes;
mod handler;
mod invocation;
mod order;
mod record;
mod report_store;
mod revision_findings;
mod settings;
#[cfg(test)]
mod tests;
mod wording;

pub use self::{
    announce::{AnnounceError, Announcer, AwsAnnouncer, Event, Message},
    auditor::{Auditor, Edges, Incomplete},
    handler::audit,
    invocation::Invocation,
    order::{Order, OrderError, Scope},
    report_store::{ReportStore, S3Store, StoreError, Stored, Version},
    settings::{AuditSettings, SettingsError},
};
