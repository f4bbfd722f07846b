//! What a rule finds: where, what happens because of it, and how to fix it.

mod draft;
mod fix;
mod record;
mod severity;

pub use self::{
    draft::{Draft, Findings, Note},
    fix::{Change, Edit, Fix},
    record::Finding,
    severity::Severity,
};
