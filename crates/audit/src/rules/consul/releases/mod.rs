//! Releases with known defects, releases whose support has ended, and releases that do not go together.

mod end_of_support;
mod fips_tag;
mod proxy_section;
mod release_defect;
mod release_pair;
mod resilience_off;
mod resilience_refused;
mod restart_policy;

use semver::Version;

use crate::{
    rule::Rule,
    subject::ConsulTask,
    versions::{Defect, Program, defects_of},
};

pub(in crate::rules) static RULES: &[&Rule] = &[
    &release_defect::RULE,
    &release_pair::RULE,
    &end_of_support::RULE,
    &fips_tag::RULE,
    &proxy_section::RULE,
    &resilience_off::RULE,
    &resilience_refused::RULE,
    &restart_policy::RULE,
];

/// The task's release of consul-ecs, and the defect of it that `rule` reports.
fn defect_of(consul: &ConsulTask<'_>, rule: &Rule) -> Option<(Version, &'static Defect)> {
    let release = consul.release()?;
    let defects = defects_of(Program::ConsulEcs, &release);
    let defect = defects.into_iter().find(|defect| defect.rule.as_deref() == Some(rule.id))?;
    Some((release, defect))
}
