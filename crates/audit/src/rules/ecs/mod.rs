//! Rules for every task definition: the order of start and stop, health checks, secrets.

mod container_name;
mod dependency_condition;
mod dependency_cycle;
mod dependency_essential;
mod dependency_health;
mod dependency_unknown;
mod health_check_command;
mod health_check_range;
mod host_port;
mod secret_reference;
mod secrets_execution_role;
mod shell_entry_point;
mod start_timeout;
mod start_timeout_unused;
mod timeout_range;
mod token_secret_key;
mod token_secret_version;

use crate::rule::Rule;

pub(super) static RULES: &[&Rule] = &[
    &container_name::RULE,
    &dependency_condition::RULE,
    &dependency_cycle::RULE,
    &dependency_essential::RULE,
    &dependency_health::RULE,
    &dependency_unknown::RULE,
    &health_check_command::RULE,
    &health_check_range::RULE,
    &host_port::RULE,
    &secret_reference::RULE,
    &secrets_execution_role::RULE,
    &shell_entry_point::RULE,
    &start_timeout::RULE,
    &start_timeout_unused::RULE,
    &timeout_range::RULE,
    &token_secret_key::RULE,
    &token_secret_version::RULE,
];
