//! A task definition and the roles of its containers in the mesh.

mod agent_script;
mod app_mesh;
mod configuration;
mod consul;
mod consul_ecs;
mod controller;
mod credential;
mod entry_point;
mod generation;
mod image;
mod mount;
pub mod names;
mod observer;
mod roles;
mod settings;
mod subcommand;
mod task;

pub use self::{
    agent_script::{AgentScript, BINARY_DIRECTORY},
    app_mesh::{AppMeshTask, MeshResource, RESOURCE_VARIABLES, is_xray_daemon},
    configuration::Configuration,
    consul::ConsulTask,
    consul_ecs::ConsulEcs,
    controller::{Controller, ControllerKind},
    credential::{CREDENTIALS, secrets_in, sounds_secret},
    entry_point::EntryPoint,
    generation::Generation,
    image::{Image, Software, consul_ecs_version, image_of, is_consul_ecs, line_of, release_of, version_in},
    observer::{is_observer, workloads},
    subcommand::subcommand,
    task::Subject,
};
