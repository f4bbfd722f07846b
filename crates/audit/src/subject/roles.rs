//! The roles of the containers in Consul's mesh, by their names and commands.

use semver::Version;

use super::{
    configuration::Configuration,
    controller::Controller,
    generation::Generation,
    image::{consul_ecs_version, is_consul_ecs},
    names,
    subcommand::subcommand,
};
use audit_read::definition::{Container, Maybe, TaskDefinition};
use mesh::ecs_config::CONFIG_VARIABLE;

#[derive(Default)]
pub(super) struct Roles<'d> {
    pub(super) mesh_init: Option<&'d Container>,
    pub(super) control_plane: Option<&'d Container>,
    pub(super) health_sync: Option<&'d Container>,
    pub(super) client: Option<&'d Container>,
    pub(super) sidecar_proxy: Option<&'d Container>,
    pub(super) dataplane: Option<&'d Container>,
    pub(super) apps: Vec<&'d Container>,
    /// Whether a container that is none of these has a configuration.
    has_configuration: bool,
}

impl<'d> Roles<'d> {
    pub(super) fn take(&mut self, definition: &TaskDefinition, container: &'d Container) {
        let name = container.name.text().unwrap_or_default();
        // With a wrapper as entry point, the command is usually still that of consul-ecs.
        let command = match subcommand(container) {
            Maybe::Known(command) => Some(command),
            _ => container.command.texts().and_then(|words| words.first().copied()),
        };
        let is_named = [names::CONTROLLER, names::ACL_CONTROLLER].contains(&name);
        let by_command = command.filter(|_| is_consul_ecs(container) && !is_named);
        let slot = match (name, by_command) {
            (names::MESH_INIT, _) => &mut self.mesh_init,
            (names::CONTROL_PLANE, _) => &mut self.control_plane,
            (names::HEALTH_SYNC, _) => &mut self.health_sync,
            (names::CLIENT, _) => &mut self.client,
            (names::SIDECAR_PROXY, _) => &mut self.sidecar_proxy,
            (names::DATAPLANE, _) => &mut self.dataplane,
            (names::DISCOVER_SERVERS, _) | (_, Some("discover-servers")) => return,
            (_, Some("mesh-init")) => &mut self.mesh_init,
            (_, Some("control-plane")) => &mut self.control_plane,
            (_, Some("health-sync")) => &mut self.health_sync,
            _ => {
                // The controller has a configuration too, and a container with an unknown command may be one.
                let may_be_controller = || {
                    Controller::in_container(definition, container).is_some()
                        || Controller::may_be_in(definition, container)
                };
                let has_configuration = matches!(container.variable(CONFIG_VARIABLE), Maybe::Known(_));
                self.has_configuration |= has_configuration && !may_be_controller();
                return self.apps.push(container);
            }
        };
        slot.get_or_insert(container);
    }

    /// A client agent alone is not a task of the mesh: other tasks have agents too.
    pub(super) fn is_mesh(&self) -> bool {
        let own = [self.mesh_init, self.control_plane, self.health_sync, self.dataplane];
        self.has_configuration
            || own.iter().any(Option::is_some)
            || (self.sidecar_proxy.is_some() && self.client.is_some())
    }

    pub(super) fn generation(&self, configuration: &Configuration) -> Generation {
        if self.control_plane.is_some() {
            return Generation::ControlPlane;
        }
        if self.dataplane.is_some() {
            return Generation::Dataplane;
        }
        if self.client.is_some() || self.sidecar_proxy.is_some() {
            return Generation::Client;
        }
        // Both proxies are missing: the image or the configuration may show the generation.
        let holders = [self.mesh_init, self.health_sync];
        let version = holders.into_iter().flatten().find_map(consul_ecs_version);
        match version {
            Some(version) if version < Version::new(0, 7, 0) => Generation::Client,
            None if matches!(configuration.at("consulServers"), Maybe::Absent) => Generation::Client,
            Some(_) | None => Generation::Dataplane,
        }
    }
}
