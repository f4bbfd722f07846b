//! Task definitions with App Mesh's Envoy.

mod app_dependency;
mod app_port_mapping;
mod app_ports;
mod egress_ignored_ips;
mod egress_ignored_ports;
mod end_of_service;
mod envoy_essential;
mod envoy_health_check;
mod envoy_image;
mod envoy_resource;
mod envoy_variable;
mod envoy_version;
mod execution_role;
mod gateway_mixed;
mod ignored_user;
mod network_mode;
mod proxy_configuration;
mod proxy_container;
mod proxy_ports;
mod proxy_property;
mod proxy_type;
mod task_role;
mod xray_daemon;
mod xray_tracing;
mod xray_user;

use crate::rule::Rule;

pub(in crate::rules) static RULES: &[&Rule] = &[
    &app_dependency::RULE,
    &app_port_mapping::RULE,
    &app_ports::RULE,
    &egress_ignored_ips::RULE,
    &egress_ignored_ports::RULE,
    &end_of_service::RULE,
    &envoy_essential::RULE,
    &envoy_health_check::RULE,
    &envoy_image::RULE,
    &envoy_resource::RULE,
    &envoy_variable::RULE,
    &envoy_version::RULE,
    &execution_role::RULE,
    &gateway_mixed::RULE,
    &ignored_user::RULE,
    &network_mode::RULE,
    &proxy_configuration::RULE,
    &proxy_container::RULE,
    &proxy_ports::RULE,
    &proxy_property::RULE,
    &proxy_type::RULE,
    &task_role::RULE,
    &xray_daemon::RULE,
    &xray_tracing::RULE,
    &xray_user::RULE,
];
