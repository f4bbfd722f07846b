//! Resources of App Mesh, compared with each other and with task definitions.

mod access_log;
mod backend_missing;
mod definition_resource;
mod health_check;
mod listener_app_port;
mod mesh_end_of_service;
mod node_protocol;
mod other_mesh;
mod provider_missing;
mod route_headers;
mod route_priority;
mod route_priority_clash;
mod route_protocol;
mod route_router_missing;
mod route_target_missing;
mod route_weights;
mod router_name;
mod router_routes;
mod service_discovery;
mod virtual_service_name;

use crate::rule::Rule;

pub(in crate::rules) static RULES: &[&Rule] = &[
    &access_log::RULE,
    &backend_missing::RULE,
    &definition_resource::RULE,
    &health_check::RULE,
    &listener_app_port::RULE,
    &mesh_end_of_service::RULE,
    &node_protocol::RULE,
    &other_mesh::RULE,
    &provider_missing::RULE,
    &route_headers::RULE,
    &route_priority::RULE,
    &route_priority_clash::RULE,
    &route_protocol::RULE,
    &route_router_missing::RULE,
    &route_target_missing::RULE,
    &route_weights::RULE,
    &router_name::RULE,
    &router_routes::RULE,
    &service_discovery::RULE,
    &virtual_service_name::RULE,
];
