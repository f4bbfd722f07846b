//! What most rules use.

pub(super) use crate::{
    draft::{Draft, Findings, Fix},
    page::page,
    rule::{Applies, Rule},
    severity::Severity,
    subject::{ConsulTask, Generation, Subject},
};
pub(super) use audit_read::definition::{Container, Field, Maybe, Text};
