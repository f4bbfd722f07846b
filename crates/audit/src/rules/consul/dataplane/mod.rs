//! The dataplane generation (consul-ecs 0.7 and newer).

mod ca_certificates;
mod consul_dns;
mod control_plane_command;
mod control_plane_health_check;
mod dataplane_command;
mod dataplane_entry_point;
mod dataplane_health_check;
mod dataplane_missing;
mod login;
mod readiness_port;
mod transparent_proxy_launch_type;
mod transparent_proxy_privileges;
mod users;
mod waits_for_control_plane;

use crate::rule::Rule;

pub(in crate::rules) static RULES: &[&Rule] = &[
    &dataplane_missing::RULE,
    &control_plane_command::RULE,
    &control_plane_health_check::RULE,
    &waits_for_control_plane::RULE,
    &dataplane_entry_point::RULE,
    &dataplane_command::RULE,
    &dataplane_health_check::RULE,
    &users::RULE,
    &readiness_port::RULE,
    &login::RULE,
    &ca_certificates::RULE,
    &transparent_proxy_launch_type::RULE,
    &transparent_proxy_privileges::RULE,
    &consul_dns::RULE,
];
