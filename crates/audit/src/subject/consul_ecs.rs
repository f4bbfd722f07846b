//! Where consul-ecs runs in a task: in the mesh's containers, or as the controller.

use semver::Version;

use super::{
    configuration::Configuration,
    consul::ConsulTask,
    controller::{Controller, ControllerKind},
    generation::Generation,
    image::{consul_ecs_version, release_of},
};
use crate::definition::Container;

/// The containers of a task that run consul-ecs, and their configuration.
#[derive(Debug)]
pub struct ConsulEcs<'s, 'd> {
    /// The containers.
    pub containers: Vec<&'d Container>,
    /// The container with the configuration.
    pub holder: Option<&'d Container>,
    /// The configuration.
    pub configuration: &'s Configuration,
    /// The version in the tag of the image.
    pub version: Option<Version>,
    /// The release, if the tag names a single one.
    pub release: Option<Version>,
    /// Whether the version has these commands; also if it is not known.
    pub fits: bool,
    /// Some version that has these commands.
    pub presumed: Version,
    /// Whether its commands read `CONSUL_ECS_CONFIG_JSON`, in some releases at least.
    pub is_configured: bool,
}

impl<'s, 'd> ConsulEcs<'s, 'd> {
    /// In a task of the mesh.
    pub(super) fn of_mesh(consul: &'s ConsulTask<'d>) -> Self {
        let version = consul.version();
        Self {
            containers: consul.consul_ecs_containers().collect(),
            holder: consul.holder(),
            configuration: &consul.configuration,
            fits: version.as_ref().is_none_or(|version| consul.generation.fits(version)),
            version,
            release: consul.release(),
            presumed: match consul.generation {
                Generation::Client => Version::new(0, 6, 0),
                Generation::ControlPlane => Version::new(0, 7, 0),
                Generation::Dataplane => Version::new(0, 8, 0),
            },
            is_configured: true,
        }
    }

    /// As the controller.
    pub(super) fn of_controller(controller: &'s Controller<'d>) -> Self {
        let version = consul_ecs_version(controller.container);
        Self {
            containers: vec![controller.container],
            holder: Some(controller.container),
            configuration: &controller.configuration,
            fits: version.as_ref().is_none_or(|version| controller.kind.fits(version)),
            version,
            release: release_of(controller.container).map(|(_, release)| release),
            presumed: match controller.kind {
                ControllerKind::AclController => Version::new(0, 6, 0),
                ControllerKind::Controller => Version::new(0, 7, 0),
            },
            is_configured: controller.kind == ControllerKind::Controller,
        }
    }
}
