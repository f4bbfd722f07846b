//! A task definition and the roles of its containers in the mesh.

mod agent_script;
mod app_mesh;
mod configuration;
mod consul;
mod consul_ecs;
mod controller;
mod credential;
mod entry_point;
mod image;
mod mount;
mod observer;
mod roles;
mod settings;
mod task;

pub use self::{
    agent_script::{AgentScript, BINARY_DIRECTORY},
    app_mesh::{AppMeshTask, MeshResource, RESOURCE_VARIABLES, is_xray_daemon},
    configuration::Configuration,
    consul::ConsulTask,
    consul_ecs::ConsulEcs,
    controller::Controller,
    credential::{CREDENTIALS, secrets_in, sounds_secret},
    entry_point::EntryPoint,
    image::{consul_ecs_version, image_of, is_consul_ecs, line_of, release_of},
    observer::{is_observer, workloads},
    roles::subcommand,
    task::Subject,
};
pub use mesh::{
    consul_ecs::{ControllerKind, Feature, Generation, Subcommand, names},
    release::{Image, Release, Software},
};
