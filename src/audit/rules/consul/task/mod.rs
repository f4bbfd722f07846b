//! What both generations have in common: volumes, mesh-init, the proxy, the app, health, tokens.

mod mesh_init_command;
mod network_mode;
mod proxy_open_files;

use crate::audit::rule::Rule;

pub(in crate::audit::rules) static RULES: &[&Rule] =
    &[&mesh_init_command::RULE, &network_mode::RULE, &proxy_open_files::RULE];
