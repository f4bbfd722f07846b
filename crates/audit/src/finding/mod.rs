//! Findings of rules: where, what they cause, and how to fix them.

mod draft;
mod fix;
mod record;
mod severity;

pub use self::{
    draft::{Draft, Findings, Note},
    fix::{Change, Edit, Fix},
    record::{Finding, Identity},
    severity::Severity,
};
