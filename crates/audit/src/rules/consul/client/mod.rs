//! The client generation (consul-ecs up to 0.6): a Consul client agent in each task, and Envoy.

mod advertise;
mod agent_image;
mod agent_missing;
mod agent_mounts;
mod exec;
mod http_exposed;
mod leave;
mod ports;
mod proxy_command;
mod proxy_entry_point;
mod proxy_health_check;
mod proxy_image;
mod proxy_missing;
mod retry_join;
mod script;
mod secrets;
mod shell;

use crate::rule::Rule;

pub(in crate::rules) static RULES: &[&Rule] = &[
    &agent_missing::RULE,
    &agent_image::RULE,
    &shell::RULE,
    &exec::RULE,
    &leave::RULE,
    &retry_join::RULE,
    &advertise::RULE,
    &agent_mounts::RULE,
    &secrets::RULE,
    &ports::RULE,
    &http_exposed::RULE,
    &proxy_missing::RULE,
    &proxy_image::RULE,
    &proxy_entry_point::RULE,
    &proxy_command::RULE,
    &proxy_health_check::RULE,
];
