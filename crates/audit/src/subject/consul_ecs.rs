//! Where consul-ecs runs in a task: in the mesh's containers, or as the controller.

use super::{
    ControllerKind, Release,
    configuration::Configuration,
    consul::ConsulTask,
    controller::Controller,
    image::{consul_ecs_version, release_of},
};
use crate::finding::Draft;
use audit_read::definition::Container;

/// The containers of a task that run consul-ecs, and their configuration.
#[derive(Debug)]
pub struct ConsulEcs<'s, 'd> {
    pub containers: Vec<&'d Container>,
    /// The container with the configuration.
    holder: Option<&'d Container>,
    /// The configuration, if its commands certainly read one.
    pub configuration: Option<&'s Configuration>,
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

    /// A finding in the configuration is one of the container that has it.
    pub fn of_holder(&self, draft: Draft) -> Draft {
        match self.holder {
            Some(holder) => draft.of(holder),
            None => draft,
        }
    }

    /// As the controller.
    pub(super) fn of_controller(controller: &'s Controller<'d>) -> Self {
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
