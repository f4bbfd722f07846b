//! A task definition and the part that each of its containers plays in the mesh.

mod agent_script;
mod app_mesh;
mod configuration;
mod consul;
mod credential;
mod image;
mod observer;
mod settings;

pub use self::{
    agent_script::{AgentScript, BINARY_DIRECTORY},
    app_mesh::{AppMeshTask, MeshResource, RESOURCE_VARIABLES, is_xray_daemon},
    configuration::Configuration,
    consul::{ConsulTask, Generation, names},
    credential::{CREDENTIALS, secrets_in, sounds_secret},
    image::{Image, Software, consul_ecs_version, image_of},
    observer::is_observer,
};
use super::definition::{Container, TaskDefinition};

/// A task definition as rules look at it.
#[derive(Debug)]
pub struct Subject<'d> {
    /// The definition.
    pub definition: &'d TaskDefinition,
    /// Its part in Consul's mesh, if its containers are those of one.
    pub consul: Option<ConsulTask<'d>>,
    /// Its part in App Mesh, if it has one.
    pub app_mesh: Option<AppMeshTask<'d>>,
}

impl<'d> Subject<'d> {
    /// Looks at `definition`.
    #[must_use]
    pub fn new(definition: &'d TaskDefinition) -> Self {
        Self { definition, consul: ConsulTask::of(definition), app_mesh: AppMeshTask::of(definition) }
    }

    /// Whether a container does the mesh's own work. What is wrong with such a one is for the mesh's rules to say.
    #[must_use]
    pub fn is_of_the_mesh(&self, container: &Container) -> bool {
        let consul = self.consul.as_ref().map(|consul| {
            [consul.mesh_init, consul.control_plane, consul.health_sync, consul.client]
                .into_iter()
                .chain([consul.sidecar_proxy, consul.dataplane])
                .flatten()
                .any(|own| std::ptr::eq(own, container))
        });
        let envoy = self.app_mesh.as_ref().and_then(|mesh| mesh.envoy);
        consul.unwrap_or(false) || envoy.is_some_and(|envoy| std::ptr::eq(envoy, container))
    }

    /// Whether a container of this name is missing for the mesh's own work: then the mesh's rules say so.
    #[must_use]
    pub fn misses(&self, name: &str) -> bool {
        let proxy = self.app_mesh.as_ref().and_then(|mesh| mesh.proxy);
        let is_envoy = proxy.is_some_and(|proxy| proxy.container.text() == Some(name));
        is_envoy || self.consul.as_ref().is_some_and(|consul| consul.misses(name))
    }
}
