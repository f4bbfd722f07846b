//! The defect of a task's release that a rule reports.

use semver::Version;

use crate::{
    rule::Rule,
    subject::ConsulTask,
    versions::{Defect, Program, defects_of},
};

/// The task's release of consul-ecs, and the defect of it that `rule` reports.
pub(super) fn defect_of(consul: &ConsulTask<'_>, rule: &Rule) -> Option<(Version, &'static Defect)> {
    let release = consul.release()?;
    let defects = defects_of(Program::ConsulEcs, &release);
    let defect = defects.into_iter().find(|defect| defect.rule.as_deref() == Some(rule.id))?;
    Some((release, defect))
}
