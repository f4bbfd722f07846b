//! The configuration of consul-ecs, and incomplete upgrades.

mod app_port;
mod config_ignored;
mod config_json;
mod config_missing;
mod config_schema;
mod config_version;
mod image_generation;
mod image_versions;
mod mixed_generations;
mod schema;
mod service_name;
mod service_or_gateway;
mod service_port;
mod tenancy_pair;
mod upstream_port;

use crate::rule::Rule;

pub(in crate::rules) static RULES: &[&Rule] = &[
    &config_missing::RULE,
    &config_json::RULE,
    &config_schema::RULE,
    &config_ignored::RULE,
    &config_version::RULE,
    &service_or_gateway::RULE,
    &service_name::RULE,
    &service_port::RULE,
    &tenancy_pair::RULE,
    &app_port::RULE,
    &upstream_port::RULE,
    &mixed_generations::RULE,
    &image_generation::RULE,
    &image_versions::RULE,
];
