//! The roles of containers: the one place that decides what a container of a task is, for the controller and the auditor.
//!
//! A name that HashiCorp's modules use decides, because consul-ecs and the modules look for it. Otherwise the subcommand of
//! consul-ecs decides. Other programs have a subcommand `controller` too: it counts only if the image is consul-ecs' by its name, or if the container has its configuration, because a mirror may give the image another name.
//! Sources: <https://developer.hashicorp.com/consul/docs/ecs/architecture>,
//! <https://registry.terraform.io/modules/hashicorp/consul-ecs/aws/latest>

use std::sync::Arc;

use super::{
    config::MeshConfig,
    release::{ControllerKind, Feature, Generation, Registrar},
    schema::{ConfigTree, FieldValue},
};
use crate::{
    names::InvalidField,
    release::{Image, Release},
};

/// The names that HashiCorp's Terraform modules give the containers.
pub mod names {
    pub const MESH_INIT: &str = "consul-ecs-mesh-init";
    pub const CONTROL_PLANE: &str = "consul-ecs-control-plane";
    pub const HEALTH_SYNC: &str = "consul-ecs-health-sync";
    /// The Consul client agent of a task.
    pub const CLIENT: &str = "consul-client";
    /// Envoy, with a client agent.
    pub const SIDECAR_PROXY: &str = "sidecar-proxy";
    /// The container whose check represents the sidecar proxy or gateway.
    pub const DATAPLANE: &str = "consul-dataplane";
    pub const DISCOVER_SERVERS: &str = "discover-servers";
    pub const CONTROLLER: &str = "consul-ecs-controller";
    pub const ACL_CONTROLLER: &str = "consul-acl-controller";
}

/// What a container does for the mesh.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Registers the task, and then exits.
    MeshInit,
    /// Registers the task, and then syncs its health.
    ControlPlane,
    /// Writes the health that ECS reports to Consul.
    HealthSync,
    Client,
    /// Envoy, with a client agent.
    SidecarProxy,
    /// Consul Dataplane, which runs Envoy.
    Dataplane,
    /// Waits for the task of a Consul server, and then exits.
    DiscoverServers,
    /// Manages the mesh. Its task is not in the mesh.
    Controller,
    /// Everything else.
    App,
}

const NAMED: [(&str, Role); 9] = [
    (names::MESH_INIT, Role::MeshInit),
    (names::CONTROL_PLANE, Role::ControlPlane),
    (names::HEALTH_SYNC, Role::HealthSync),
    (names::CLIENT, Role::Client),
    (names::SIDECAR_PROXY, Role::SidecarProxy),
    (names::DATAPLANE, Role::Dataplane),
    (names::DISCOVER_SERVERS, Role::DiscoverServers),
    (names::CONTROLLER, Role::Controller),
    (names::ACL_CONTROLLER, Role::Controller),
];

const SUBCOMMANDS: [(&str, Role); 6] = [
    ("mesh-init", Role::MeshInit),
    ("control-plane", Role::ControlPlane),
    ("health-sync", Role::HealthSync),
    ("discover-servers", Role::DiscoverServers),
    (ControllerKind::Controller.command(), Role::Controller),
    (ControllerKind::AclController.command(), Role::Controller),
];

/// Whether a word is a subcommand of consul-ecs that a container of its own runs.
pub fn is_subcommand(word: &str) -> bool {
    in_table(&SUBCOMMANDS, word).is_some()
}

fn in_table(table: &[(&str, Role)], word: &str) -> Option<Role> {
    table.iter().find(|(known, _)| *known == word).map(|(_, role)| *role)
}

/// The words of an entry point or command. `None` for a word that is known only at deployment.
#[derive(Debug, Clone, Default)]
pub struct Words<'a> {
    pub known: Vec<Option<&'a str>>,
    /// Whether all words are listed.
    pub is_complete: bool,
}

impl<'a, S: AsRef<str>> From<&'a [S]> for Words<'a> {
    fn from(words: &'a [S]) -> Self {
        Self { known: words.iter().map(|word| Some(word.as_ref())).collect(), is_complete: true }
    }
}

/// The subcommand of consul-ecs that a container runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subcommand<'a> {
    Known(&'a str),
    /// The image of consul-ecs certainly gets no argument.
    Absent,
    Unknown,
}

/// What decides the role of a container.
#[derive(Debug, Clone, Default)]
pub struct ContainerTraits<'a> {
    pub name: Option<&'a str>,
    /// The image, if enough of its reference is known.
    pub image: Option<Image>,
    pub entry_point: Words<'a>,
    pub command: Words<'a>,
    /// Whether it has a configuration of consul-ecs.
    pub has_configuration: bool,
    /// What [`configures_controller`] says of it.
    pub configures_controller: bool,
}

impl<'a> ContainerTraits<'a> {
    pub fn role(&self) -> Role {
        let is_certain = self.is_consul_ecs() || self.has_configuration;
        let named = self.name.and_then(|name| in_table(&NAMED, name));
        let runs = || in_table(&SUBCOMMANDS, self.word()?).filter(|role| is_certain || *role != Role::Controller);
        let configured = || self.configures_controller.then_some(Role::Controller);
        named.or_else(runs).or_else(configured).unwrap_or(Role::App)
    }

    /// The role that the container plays: its command may be the one of another program, or of none.
    pub fn running(&self) -> Option<Role> {
        let role = self.role();
        let is_program = SUBCOMMANDS.iter().any(|(_, of)| *of == role);
        match self.word().filter(|_| is_program) {
            Some(word) => in_table(&SUBCOMMANDS, word),
            None => Some(role),
        }
    }

    /// The word behind `consul-ecs` in the entry point and the command. Without an entry point, and without that word, it is
    /// the first word of the command, because consul-ecs is the entry point of its image.
    pub fn subcommand(&self) -> Subcommand<'a> {
        if !self.entry_point.is_complete || !self.command.is_complete {
            return Subcommand::Unknown;
        }
        let is_program =
            |word: &str| word.rsplit('/').next() == Some("consul-ecs") && !word.contains(char::is_whitespace);
        let mut words = self.entry_point.known.iter().chain(&self.command.known);
        let is_named = words.any(|word| word.is_some_and(is_program));
        let is_first = self.entry_point.known.is_empty();
        match if is_named { words.next() } else { self.command.known.first() } {
            Some(Some(word)) if is_named || is_first => Subcommand::Known(word),
            None if is_named || (is_first && self.is_consul_ecs()) => Subcommand::Absent,
            _ => Subcommand::Unknown,
        }
    }

    /// The subcommand. Behind a wrapper as entry point, the command is usually still consul-ecs' own.
    fn word(&self) -> Option<&'a str> {
        match self.subcommand() {
            Subcommand::Known(word) => Some(word),
            _ => self.command.known.first().copied().flatten().filter(|_| self.command.is_complete),
        }
    }

    fn is_consul_ecs(&self) -> bool {
        self.image.as_ref().is_some_and(Image::is_consul_ecs)
    }
}

/// Whether a configuration has a section `controller`, and neither a service nor a gateway.
pub fn configures_controller<'t>(configuration: impl ConfigTree<'t>) -> bool {
    let FieldValue::Map(sections) = configuration.value() else { return false };
    let has = |name: &str| sections.iter().any(|(key, it)| *key == name && !matches!(it.value(), FieldValue::Null));
    has("controller") && !has("service") && !has("gateway")
}

/// The container that registers a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegistrarContainer {
    pub name: String,
    pub registrar: Registrar,
    /// The value of its variable `AWS_REGION`.
    pub region: Option<String>,
    /// Whether a secret or a file may set its configuration or its region, so that the values are not known.
    pub reads_more: bool,
    /// Its configuration, parsed once.
    config: Option<Result<Arc<MeshConfig>, InvalidField>>,
}

impl RegistrarContainer {
    /// A container; `config` is the value of its variable `CONSUL_ECS_CONFIG_JSON`.
    pub fn new(name: impl Into<String>, registrar: Registrar, config: Option<&str>) -> Self {
        let config = config.map(|json| MeshConfig::parse(json, registrar).map(Arc::new));
        Self { name: name.into(), registrar, region: None, reads_more: false, config }
    }

    /// Its configuration, or why it cannot be read in full; `None` if it has none.
    pub fn config(&self) -> Option<&Result<Arc<MeshConfig>, InvalidField>> {
        self.config.as_ref()
    }
}

/// The programs of consul-ecs in a task definition.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Programs {
    /// What registers the task. In the client generation it does so by the task's agent.
    pub registrar: Option<RegistrarContainer>,
    /// The name of the container that runs `health-sync`.
    pub health_sync: Option<String>,
    /// The release or line, if the tag of the registrar's image tells it.
    pub release: Option<Release>,
    /// Whether a container gets a Consul token of its own (`CONSUL_HTTP_TOKEN`), or may get one from an environment file:
    /// consul-ecs then skips the login.
    pub sets_token: bool,
    /// The name of the container that runs the controller of consul-ecs: it manages the mesh, and is no task of it.
    pub controller: Option<String>,
}

impl Programs {
    /// The name of the container that reports the task's health to Consul: `health-sync` or `control-plane`.
    pub fn health_reporter(&self) -> Option<&str> {
        let control_plane = self.registrar.as_ref().filter(|it| it.registrar == Registrar::ControlPlane);
        self.health_sync.as_deref().or(control_plane.map(|it| it.name.as_str()))
    }

    /// Whether the dataplane's checks pass only if every synced container is healthy. `None` if the release is not known.
    pub fn report_overall_health(&self) -> Option<bool> {
        let is_control_plane = self.registrar.as_ref().is_some_and(|it| it.registrar == Registrar::ControlPlane);
        let release = self.release.or(is_control_plane.then_some(Generation::ControlPlane.releases().since));
        release.map(|release| Feature::OverallHealth.is_in(release))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OFFICIAL: &str = "public.ecr.aws/hashicorp/consul-ecs:0.9.0";

    fn container<'a>(name: &'a str, image: &str, entry_point: &'a [&str], command: &'a [&str]) -> ContainerTraits<'a> {
        ContainerTraits {
            name: Some(name),
            image: Some(Image::parse(image)),
            entry_point: entry_point.into(),
            command: command.into(),
            ..ContainerTraits::default()
        }
    }

    #[test]
    fn name_of_the_modules_decides() {
        for (name, role) in NAMED {
            assert_eq!(container(name, "mirror/ours:1", &[], &[]).role(), role, "{name}");
        }
        assert_eq!(container("app", OFFICIAL, &[], &[]).role(), Role::App);
    }

    #[test]
    fn subcommand_decides_and_a_controller_also_needs_the_image_or_the_configuration() {
        let of = |image: &str, has_configuration, entry_point: &[&str], command: &[&str]| {
            ContainerTraits { has_configuration, ..container("init", image, entry_point, command) }.role()
        };
        assert_eq!(of(OFFICIAL, false, &[], &["mesh-init"]), Role::MeshInit);
        assert_eq!(of(OFFICIAL, false, &["/bin/consul-ecs", "health-sync"], &[]), Role::HealthSync);
        assert_eq!(of(OFFICIAL, false, &["wrapper.sh"], &["control-plane"]), Role::ControlPlane);
        assert_eq!(of("hashicorp/consul-ecs@sha256:00ff", false, &[], &["acl-controller"]), Role::Controller);
        assert_eq!(of("mirror/ours:1", true, &[], &["mesh-init"]), Role::MeshInit);
        assert_eq!(of("mirror/ours:1", false, &[], &["mesh-init"]), Role::MeshInit);
        assert_eq!(of("games/controller:1", false, &[], &["controller"]), Role::App);
        let configured =
            ContainerTraits { configures_controller: true, ..container("c", "mirror/ours:1", &[], &["x"]) };
        assert_eq!(configured.role(), Role::Controller);
    }

    #[test]
    fn container_with_another_command_has_the_role_of_this_command() {
        let running = |name: &str, command: &[&str]| container(name, OFFICIAL, &[], command).running();
        assert_eq!(running(names::MESH_INIT, &["mesh-init"]), Some(Role::MeshInit));
        assert_eq!(running(names::MESH_INIT, &[]), Some(Role::MeshInit));
        assert_eq!(running(names::MESH_INIT, &["sleep", "9"]), None);
        assert_eq!(running(names::MESH_INIT, &["health-sync"]), Some(Role::HealthSync));
        assert_eq!(running(names::DATAPLANE, &["consul-dataplane", "-config-file"]), Some(Role::Dataplane));
    }

    #[test]
    fn overall_health_counts_since_0_9() {
        let of = |release: &str| {
            let release = Some(release.parse().unwrap());
            Programs { release, ..Programs::default() }.report_overall_health()
        };
        assert_eq!(["0.8.1", "0.9", "0.10.0"].map(of), [Some(false), Some(true), Some(true)]);
        assert_eq!(Programs::default().report_overall_health(), None);
    }
}
