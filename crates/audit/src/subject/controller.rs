//! The controllers of consul-ecs. They have its image, but are not part of the mesh.

use semver::Version;

use super::{configuration::Configuration, image::is_consul_ecs, names};
use crate::{
    definition::{Container, TaskDefinition},
    versions::{FIRST_WITH_DATAPLANE, Line},
};

/// The task of a controller of consul-ecs.
#[derive(Debug)]
pub struct Controller<'d> {
    /// Its container.
    pub container: &'d Container,
    /// Which controller it is.
    pub kind: ControllerKind,
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
    /// The controller in `definition`, if it is that of one.
    #[must_use]
    pub fn of(definition: &'d TaskDefinition) -> Option<Self> {
        let with_kind = |container| Some((container, kind_of(container)?));
        let (container, kind) = definition.containers.items.iter().find_map(with_kind)?;
        Some(Self { container, kind, configuration: Configuration::of(definition, container) })
    }
}

impl ControllerKind {
    /// The subcommand of consul-ecs.
    #[must_use]
    pub fn command(self) -> &'static str {
        match self {
            Self::AclController => "acl-controller",
            Self::Controller => "controller",
        }
    }

    /// Whether this version of consul-ecs has it.
    #[must_use]
    pub fn fits(self, version: &Version) -> bool {
        let has_dataplane = Line::of(version) >= FIRST_WITH_DATAPLANE;
        has_dataplane == (self == Self::Controller)
    }

    /// The releases that have it, as users read them.
    #[must_use]
    pub fn releases(self) -> &'static str {
        match self {
            Self::AclController => "0.6 and older",
            Self::Controller => "0.7 and newer",
        }
    }
}

/// The controller that a container runs, by its command if it has consul-ecs's image or a controller's name, otherwise by
/// its name.
pub(super) fn kind_of(container: &Container) -> Option<ControllerKind> {
    let named = match container.name.text() {
        Some(names::CONTROLLER) => Some(ControllerKind::Controller),
        Some(names::ACL_CONTROLLER) => Some(ControllerKind::AclController),
        _ => None,
    };
    let command = container.command.texts().and_then(|words| words.first().copied());
    let kinds = [ControllerKind::Controller, ControllerKind::AclController];
    let commanded = kinds.into_iter().find(|kind| command == Some(kind.command()));
    commanded.filter(|_| named.is_some() || is_consul_ecs(container)).or(named)
}
