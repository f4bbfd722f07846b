//! The controllers of consul-ecs. They have its image, but are not part of the mesh.

use semver::Version;

use super::{configuration::Configuration, image::is_consul_ecs, names, subcommand::subcommand};
use crate::versions::{FIRST_WITH_DATAPLANE, Line};
use audit_read::definition::{Container, Maybe, TaskDefinition};

/// The task of a controller of consul-ecs.
#[derive(Debug)]
pub struct Controller<'d> {
    pub container: &'d Container,
    /// Which controller it is, if its command says so.
    pub kind: Option<ControllerKind>,
    /// Its configuration. The ACL controller has flags instead.
    pub configuration: Configuration,
}

/// The controllers of the releases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ControllerKind {
    /// `consul-ecs acl-controller`, up to 0.6.
    AclController,
    /// `consul-ecs controller`, from 0.7 on.
    Controller,
}

impl<'d> Controller<'d> {
    /// The controller in a definition that is not of the mesh.
    pub fn of(definition: &'d TaskDefinition) -> Option<Self> {
        definition.containers.items.iter().find_map(|container| Self::in_container(definition, container))
    }

    /// The controller, if a container runs it: by its name, its configuration, or its command. Programs of others have a
    /// command `controller` too, so that the command is not enough.
    pub(super) fn in_container(definition: &TaskDefinition, container: &'d Container) -> Option<Self> {
        let configuration = Configuration::of(definition, container);
        let kind = ControllerKind::of(container);
        let is_absent = |section: &str| matches!(configuration.at(section), Maybe::Absent);
        let is_configured = matches!(configuration.at("controller"), Maybe::Known(_));
        let is_named = matches!(container.name.text(), Some(names::CONTROLLER | names::ACL_CONTROLLER));
        let has_configuration = matches!(configuration.content, Maybe::Known(_));
        let is_controller = is_named
            || (is_configured && is_absent("service") && is_absent("gateway"))
            || (kind.is_some() && (is_consul_ecs(container) || has_configuration));
        is_controller.then_some(Self { container, kind, configuration })
    }

    /// Whether a container may run the controller, as far as its command and its configuration are known.
    pub(super) fn may_be_in(definition: &TaskDefinition, container: &Container) -> bool {
        let configuration = Configuration::of(definition, container);
        let has = |section: &str| matches!(configuration.at(section), Maybe::Known(_));
        let may_run_it = subcommand(container) == Maybe::Unknown || ControllerKind::of(container).is_some();
        may_run_it && !has("service") && !has("gateway")
    }
}

impl ControllerKind {
    /// The controller that a container's command runs, if the command is known.
    fn of(container: &Container) -> Option<Self> {
        let command = subcommand(container);
        [Self::Controller, Self::AclController].into_iter().find(|kind| command == Maybe::Known(kind.command()))
    }

    /// The subcommand of consul-ecs.
    pub fn command(self) -> &'static str {
        match self {
            Self::AclController => "acl-controller",
            Self::Controller => "controller",
        }
    }

    /// Whether this version of consul-ecs has it.
    pub fn fits(self, version: &Version) -> bool {
        let has_dataplane = Line::of(version) >= FIRST_WITH_DATAPLANE;
        has_dataplane == (self == Self::Controller)
    }

    /// The releases that have it, as users read them.
    pub fn releases(self) -> &'static str {
        match self {
            Self::AclController => "0.6 and older",
            Self::Controller => "0.7 and newer",
        }
    }
}
