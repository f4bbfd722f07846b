//! The controllers of consul-ecs. They have its image, but are not part of the mesh.

use super::{
    ControllerKind, Subcommand,
    configuration::Configuration,
    roles::{role_of, subcommand},
};
use audit_read::definition::{Container, TaskDefinition};
use mesh::consul_ecs::Role;

/// The task of a controller of consul-ecs.
#[derive(Debug)]
pub struct Controller<'d> {
    pub container: &'d Container,
    /// Which controller it is, if its command says so.
    pub kind: Option<ControllerKind>,
    /// Its configuration. The ACL controller has flags instead.
    pub configuration: Configuration,
}

impl<'d> Controller<'d> {
    /// The controller in a definition that is not of the mesh.
    pub fn of(definition: &'d TaskDefinition) -> Option<Self> {
        let mut containers = definition.containers.items.iter();
        let container = containers.find(|container| role_of(definition, container) == Role::Controller)?;
        Some(Self { container, kind: kind_of(container), configuration: Configuration::of(definition, container) })
    }
}

/// The controller that the command of a container runs, if the command is known.
pub(super) fn kind_of(container: &Container) -> Option<ControllerKind> {
    let Subcommand::Known(command) = subcommand(container) else { return None };
    ControllerKind::ALL.into_iter().find(|kind| kind.command() == command)
}
