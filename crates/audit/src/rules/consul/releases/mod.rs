//! Releases with known defects, releases whose support has ended, and releases that do not go together.

mod defect;
mod end_of_support;
mod fips_tag;
mod proxy_section;
mod release_defect;
mod release_pair;
mod resilience_off;
mod resilience_refused;
mod restart_policy;

use crate::rule::Rule;

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
