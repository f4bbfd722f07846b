//! Rules for both generations: volumes, mesh-init, the proxy, the app, health, tokens.

mod app_entry_point_mount;
mod app_essential;
mod app_order;
mod app_shutdown_delay;
mod consul_ecs_image;
mod controller_command;
mod credential_in_plain;
mod health_native_and_synced;
mod health_sync_command;
mod health_sync_configuration;
mod health_sync_containers;
mod health_sync_missing;
mod health_sync_needless;
mod health_sync_order;
mod health_unsynced;
mod helper_essential;
mod mesh_init_command;
mod mesh_init_essential;
mod mesh_init_missing;
mod mesh_init_mounts;
mod network_mode;
mod proxy_mount;
mod proxy_mount_read_only;
mod proxy_open_files;
mod proxy_open_files_default;
mod proxy_order;
mod service_secret;
mod service_token;
mod task_role;
mod token_secret_managed;
mod volumes;

use crate::rule::Rule;

pub(in crate::rules) static RULES: &[&Rule] = &[
    &network_mode::RULE,
    &volumes::RULE,
    &mesh_init_missing::RULE,
    &consul_ecs_image::RULE,
    &controller_command::RULE,
    &mesh_init_command::RULE,
    &mesh_init_essential::RULE,
    &mesh_init_mounts::RULE,
    &proxy_order::RULE,
    &proxy_mount::RULE,
    &proxy_mount_read_only::RULE,
    &proxy_open_files::RULE,
    &proxy_open_files_default::RULE,
    &app_essential::RULE,
    &app_order::RULE,
    &app_shutdown_delay::RULE,
    &app_entry_point_mount::RULE,
    &helper_essential::RULE,
    &health_sync_missing::RULE,
    &health_sync_needless::RULE,
    &health_sync_command::RULE,
    &health_sync_order::RULE,
    &health_sync_configuration::RULE,
    &health_sync_containers::RULE,
    &health_unsynced::RULE,
    &health_native_and_synced::RULE,
    &service_token::RULE,
    &token_secret_managed::RULE,
    &service_secret::RULE,
    &credential_in_plain::RULE,
    &task_role::RULE,
];
