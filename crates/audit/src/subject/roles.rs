//! The containers of Consul's mesh, by role.

use super::{
    Generation, Release, Subcommand, configuration::Configuration, controller::kind_of, image::consul_ecs_version,
};
use audit_read::definition::{Container, Field, List, Maybe, TaskDefinition, Text};
use mesh::consul_ecs::{self, CONFIG_VARIABLE, Role, Words, configures_controller};

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
        let role = role_of(definition, container);
        let slot = match role {
            Role::MeshInit => &mut self.mesh_init,
            Role::ControlPlane => &mut self.control_plane,
            Role::HealthSync => &mut self.health_sync,
            Role::Client => &mut self.client,
            Role::SidecarProxy => &mut self.sidecar_proxy,
            Role::Dataplane => &mut self.dataplane,
            Role::DiscoverServers => return,
            Role::Controller | Role::App => {
                // The controller has a configuration too, and a container with an unknown command may be one.
                let is_controller = role == Role::Controller || may_be_controller(definition, container);
                self.has_configuration |= has_configuration(container) && !is_controller;
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

    /// The version of consul-ecs, by the image of the first container that has one.
    pub(super) fn version(&self) -> Option<Release> {
        let holders = [self.control_plane, self.mesh_init, self.health_sync];
        holders.into_iter().flatten().find_map(consul_ecs_version)
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
        match self.version() {
            Some(version) if Generation::Client.fits(version) => Generation::Client,
            None if matches!(configuration.at("consulServers"), Maybe::Absent) => Generation::Client,
            Some(_) | None => Generation::Dataplane,
        }
    }
}

/// The role of a container, as [`mesh::consul_ecs`] decides it.
pub(super) fn role_of(definition: &TaskDefinition, container: &Container) -> Role {
    let configuration = Configuration::of(definition, container);
    consul_ecs::Container {
        configures_controller: configuration.json().is_some_and(configures_controller),
        ..facts(container)
    }
    .role()
}

/// The subcommand of consul-ecs that a container runs.
pub fn subcommand(container: &Container) -> Subcommand<'_> {
    facts(container).subcommand()
}

fn facts(container: &Container) -> consul_ecs::Container<'_> {
    consul_ecs::Container {
        name: container.name.text(),
        image: super::image_of(container),
        entry_point: words(&container.entry_point),
        command: words(&container.command),
        has_configuration: has_configuration(container) || matches!(container.secret(CONFIG_VARIABLE), Maybe::Known(_)),
        configures_controller: false,
    }
}

fn words(list: &List<Field<Text>>) -> Words<'_> {
    Words { known: list.items.iter().map(Field::text).collect(), is_complete: list.is_complete }
}

fn has_configuration(container: &Container) -> bool {
    matches!(container.variable(CONFIG_VARIABLE), Maybe::Known(_))
}

/// Whether a container may run the controller, as far as its command and its configuration are known.
fn may_be_controller(definition: &TaskDefinition, container: &Container) -> bool {
    let configuration = Configuration::of(definition, container);
    let has = |section: &str| matches!(configuration.at(section), Maybe::Known(_));
    let may_run_it = subcommand(container) == Subcommand::Unknown || kind_of(container).is_some();
    may_run_it && !has("service") && !has("gateway")
}
