//! Where consul-ecs runs in a task: of the mesh, or of a controller.

use super::{
    ControllerKind, Release,
    configuration::PlacedConfiguration,
    consul::ConsulTask,
    container::{Part, consul_ecs_version, kind_of, release_of},
};
use audit_read::definition::{Container, TaskDefinition};
use mesh::consul_ecs::Role;

/// The containers of a task that run consul-ecs, and their configuration.
#[derive(Debug)]
pub struct ConsulEcs<'s, 'd> {
    pub containers: Vec<&'d Container>,
    /// The container with the configuration.
    pub holder: Option<&'d Container>,
    /// The configuration, if its commands certainly read one.
    pub configuration: Option<&'s PlacedConfiguration<'d>>,
    /// The version in the tag of the image.
    pub version: Option<Release>,
    /// The release, if the tag names a single one.
    pub release: Option<Release>,
    /// Whether the version has these commands; also if it is not known.
    pub fits: bool,
    /// Some version that has these commands.
    pub presumed: Release,
}

impl<'s, 'd> ConsulEcs<'s, 'd> {
    pub(super) fn of_mesh(consul: &'s ConsulTask<'d>) -> Self {
        let version = consul.version();
        Self {
            containers: consul.consul_ecs_containers().collect(),
            holder: consul.holder(),
            configuration: Some(&consul.configuration),
            fits: version.is_none_or(|version| consul.generation.fits(version)),
            version,
            release: consul.release(),
            presumed: consul.generation.releases().example(),
        }
    }

    /// As the controller.
    pub(super) fn of_controller(controller: &'s ControllerTask<'d>) -> Self {
        let version = consul_ecs_version(controller.container);
        let fits = |version| controller.kind.is_none_or(|kind| kind.releases().contain(version));
        Self {
            containers: vec![controller.container],
            holder: Some(controller.container),
            configuration: (controller.kind == Some(ControllerKind::Controller)).then_some(&controller.configuration),
            fits: version.is_none_or(fits),
            version,
            release: release_of(controller.container).map(|(_, release)| release),
            presumed: ControllerKind::Controller.releases().since,
        }
    }
}

/// The task of a controller of consul-ecs.
#[derive(Debug)]
pub struct ControllerTask<'d> {
    pub container: &'d Container,
    /// Which controller it is, if its command says so.
    pub kind: Option<ControllerKind>,
    /// Its configuration. The ACL controller has flags instead.
    pub configuration: PlacedConfiguration<'d>,
}

impl<'d> ControllerTask<'d> {
    /// The controller in a definition that is not of the mesh.
    pub fn of(definition: &'d TaskDefinition) -> Option<Self> {
        let controller = Part::all(definition).into_iter().find(|part| part.role == Role::Controller)?;
        let Part { container, configuration, .. } = controller;
        Some(Self { container, kind: kind_of(container), configuration })
    }
}
