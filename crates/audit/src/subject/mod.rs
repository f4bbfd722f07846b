//! A task definition and the roles of its containers in the meshes.

mod agent_commands;
mod agent_configuration;
mod agent_script;
pub mod agent_vocabulary;
mod app_mesh;
mod apps;
mod configuration;
mod consul;
mod consul_ecs;
mod container;
mod credential;
mod go_duration;
mod go_flag;
mod here_document;
mod secret_place;

pub use self::{
    agent_configuration::Setting,
    agent_script::{AgentScript, BINARY_DIRECTORY, is_shell, line_of_shell},
    app_mesh::{AppMeshTask, MeshResource, RESOURCE_VARIABLES, is_xray_daemon},
    apps::{EntryPoint, is_observer, workloads},
    configuration::{ConfigValue, PlacedConfiguration},
    consul::ConsulTask,
    consul_ecs::{ConsulEcs, ControllerTask},
    container::{consul_ecs_version, image_of, is_consul_ecs, line_of, release_of, releases_of, subcommand},
    credential::{CREDENTIALS, passwords_in_urls, secret_spans, secrets_in, sounds_secret},
    go_duration::go_duration,
    go_flag::{go_flag, is_switched_on},
    here_document::{Division, Document},
    secret_place::is_in_secret,
};
use std::sync::OnceLock;

use crate::{deployment::Deployment, live_mesh::LiveMesh};
use audit_read::definition::{Container, Order, ProxyConfiguration, TaskDefinition};
use mesh::consul_ecs::GatewayKind;
pub use mesh::{
    consul_ecs::{ControllerKind, Feature, Generation, Subcommand, names, ports},
    release::{Image, Release, Software},
};

/// A task definition and what rules know about it.
#[derive(Debug)]
pub struct Subject<'d> {
    pub definition: &'d TaskDefinition,
    /// Its containers of Consul's mesh, if it is part of it.
    pub consul: Option<ConsulTask<'d>>,
    /// The controller of consul-ecs, if it is that and not part of the mesh.
    pub controller: Option<ControllerTask<'d>>,
    /// Its containers of App Mesh, if it is part of it.
    pub app_mesh: Option<AppMeshTask<'d>>,
    /// The deployment of the controller that it belongs to, if it is known.
    pub deployment: Option<&'d Deployment>,
    /// What the mesh has that it will be deployed to, if it was read.
    pub mesh: Option<&'d LiveMesh>,
    /// Whether the input has a mesh gateway.
    pub is_beside_mesh_gateway: bool,
    /// Whether the input has a controller of consul-ecs.
    pub is_beside_controller: bool,
    order: OnceLock<Order<'d>>,
}

impl<'d> Subject<'d> {
    /// Analyses `definition`.
    pub fn new(definition: &'d TaskDefinition) -> Self {
        let consul = ConsulTask::of(definition);
        Self {
            definition,
            controller: if consul.is_none() { ControllerTask::of(definition) } else { None },
            consul,
            app_mesh: AppMeshTask::of(definition),
            deployment: None,
            mesh: None,
            is_beside_mesh_gateway: false,
            is_beside_controller: false,
            order: OnceLock::new(),
        }
    }

    /// The order in which the containers start.
    pub fn order(&self) -> &Order<'d> {
        self.order.get_or_init(|| Order::of(self.definition))
    }

    /// The same in a deployment.
    #[must_use]
    pub fn in_deployment(self, deployment: Option<&'d Deployment>) -> Self {
        Self { deployment, ..self }
    }

    /// The same next to what a mesh has.
    #[must_use]
    pub fn beside_mesh(self, mesh: Option<&'d LiveMesh>) -> Self {
        Self { mesh, ..self }
    }

    pub fn is_mesh_gateway(&self) -> bool {
        self.consul.as_ref().and_then(|consul| consul.gateway) == Some(GatewayKind::MeshGateway)
    }

    /// App Mesh's Envoy.
    pub fn envoy(&self) -> Option<&'d Container> {
        self.app_mesh.as_ref()?.envoy
    }

    /// The proxy configuration, by which ECS redirects the traffic of the task to App Mesh's Envoy.
    pub fn proxy_configuration(&self) -> Option<&'d ProxyConfiguration> {
        self.app_mesh.as_ref()?.proxy
    }

    /// Where consul-ecs runs: in the mesh's containers, or as the controller.
    pub fn consul_ecs(&self) -> Option<ConsulEcs<'_, 'd>> {
        let controller = || self.controller.as_ref().map(ConsulEcs::of_controller);
        self.consul.as_ref().map(ConsulEcs::of_mesh).or_else(controller)
    }

    /// The containers with programs of Consul, whose releases are judged: the mesh's or the controller's, if
    /// their images have their commands.
    pub fn containers_of_consul(&self) -> Vec<&'d Container> {
        match &self.consul {
            Some(consul) if consul.has_images_of_its_generation() => consul.own_containers().collect(),
            Some(_) => Vec::new(),
            None => {
                self.consul_ecs().filter(|program| program.fits).map_or_else(Vec::new, |program| program.containers)
            }
        }
    }

    /// Whether a container is one of the mesh's own. The rules of the mesh report its defects.
    pub fn is_of_the_mesh(&self, container: &Container) -> bool {
        let consul = self.consul.as_ref().map(|consul| consul.own_containers().any(|own| std::ptr::eq(own, container)));
        consul.unwrap_or(false) || self.envoy().is_some_and(|envoy| std::ptr::eq(envoy, container))
    }

    /// Whether the mesh requires a health check of this container. The rules of the mesh report if it is missing.
    pub fn must_be_checked(&self, container: &Container) -> bool {
        let consul = self.consul.as_ref();
        let of_consul = consul.into_iter().flat_map(|consul| [consul.control_plane, consul.proxy()]);
        let envoy = self.app_mesh.as_ref().filter(|mesh| mesh.proxy.is_some()).and_then(|mesh| mesh.envoy);
        of_consul.chain([envoy]).flatten().any(|checked| std::ptr::eq(checked, container))
    }

    /// Whether it is mesh-init, which must not be essential, or App Mesh's Envoy, whose end no container may wait for.
    /// The rules of the mesh report both.
    pub fn has_own_end(&self, container: &Container) -> bool {
        let mesh_init = self.consul.as_ref().and_then(|consul| consul.mesh_init);
        let envoy = self.app_mesh.as_ref().filter(|mesh| mesh.proxy.is_some()).and_then(|mesh| mesh.envoy);
        [mesh_init, envoy].into_iter().flatten().any(|own| std::ptr::eq(own, container))
    }

    /// Whether it certainly is a container of the mesh that runs as long as the task.
    pub fn runs_until_the_end(&self, container: &Container) -> bool {
        let of_consul = self.consul.iter().flat_map(|consul| {
            [consul.control_plane, consul.health_sync, consul.client, consul.sidecar_proxy, consul.dataplane]
        });
        of_consul.flatten().chain(self.envoy()).any(|running| std::ptr::eq(running, container))
    }

    /// Whether the mesh requires that `container` waits for `other`. The rules of the mesh report a wrong condition.
    pub fn must_wait_for(&self, container: &Container, other: &Container) -> bool {
        self.consul.as_ref().is_some_and(|consul| {
            let is = |one: Option<&Container>, wanted: &Container| one.is_some_and(|one| std::ptr::eq(one, wanted));
            let waits = is(consul.proxy(), container) || is(consul.health_sync, container);
            waits && is(consul.first(), other)
        })
    }

    /// Whether the mesh requires a container of this name that is missing. The rules of the mesh report that.
    pub fn misses(&self, name: &str) -> bool {
        let is_envoy = self.proxy_configuration().is_some_and(|proxy| proxy.container.text() == Some(name));
        is_envoy || self.consul.as_ref().is_some_and(|consul| consul.misses(name))
    }
}
