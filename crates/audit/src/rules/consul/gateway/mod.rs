//! Gateways of each kind, in both generations.

mod app_container;
mod federation_tls;
mod lan_port;
pub(super) mod namespace;
mod proxy_essential;
mod wan_address;

use crate::rule::Rule;

pub(in crate::rules) static RULES: &[&Rule] = &[
    &proxy_essential::RULE,
    &app_container::RULE,
    &lan_port::RULE,
    &wan_address::RULE,
    &federation_tls::RULE,
    &namespace::RULE,
];
