//! What most rules use.

pub(super) use super::pages;
pub(super) use crate::{
    example::Base,
    finding::{Draft, Findings, Fix, Severity},
    rule::{Applies, Rule},
    subject::{ConsulTask, Generation, Subject},
};
pub(super) use audit_read::definition::{Container, Field, Maybe, Text};
