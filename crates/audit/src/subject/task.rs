//! A task definition and its parts in the meshes.

use super::{app_mesh::AppMeshTask, consul::ConsulTask};
use crate::definition::{Container, TaskDefinition};

/// A task definition as rules look at it.
#[derive(Debug)]
pub struct Subject<'d> {
    /// The definition.
    pub definition: &'d TaskDefinition,
    /// Its part in Consul's mesh, if its containers are those of one.
    pub consul: Option<ConsulTask<'d>>,
    /// Its part in App Mesh, if it has one.
    pub app_mesh: Option<AppMeshTask<'d>>,
}

impl<'d> Subject<'d> {
    /// Looks at `definition`.
    #[must_use]
    pub fn new(definition: &'d TaskDefinition) -> Self {
        Self { definition, consul: ConsulTask::of(definition), app_mesh: AppMeshTask::of(definition) }
    }

    /// Whether a container does the mesh's own work. What is wrong with such a one is for the mesh's rules to say.
    #[must_use]
    pub fn is_of_the_mesh(&self, container: &Container) -> bool {
        let consul = self.consul.as_ref().map(|consul| {
            [consul.mesh_init, consul.control_plane, consul.health_sync, consul.client]
                .into_iter()
                .chain([consul.sidecar_proxy, consul.dataplane])
                .flatten()
                .any(|own| std::ptr::eq(own, container))
        });
        let envoy = self.app_mesh.as_ref().and_then(|mesh| mesh.envoy);
        consul.unwrap_or(false) || envoy.is_some_and(|envoy| std::ptr::eq(envoy, container))
    }

    /// Whether the mesh itself wants this container to have a health check. Where it has none, the mesh's rules say so.
    #[must_use]
    pub fn must_be_checked(&self, container: &Container) -> bool {
        let consul = self.consul.as_ref();
        let of_consul = consul.into_iter().flat_map(|consul| [consul.control_plane, consul.proxy()]);
        let envoy = self.app_mesh.as_ref().filter(|mesh| mesh.proxy.is_some()).and_then(|mesh| mesh.envoy);
        of_consul.chain([envoy]).flatten().any(|checked| std::ptr::eq(checked, container))
    }

    /// Whether it is mesh-init, which must not be essential, or App Mesh's Envoy, whose end nobody may wait for: the mesh's
    /// rules say so.
    #[must_use]
    pub fn has_own_end(&self, container: &Container) -> bool {
        let mesh_init = self.consul.as_ref().and_then(|consul| consul.mesh_init);
        let envoy = self.app_mesh.as_ref().filter(|mesh| mesh.proxy.is_some()).and_then(|mesh| mesh.envoy);
        [mesh_init, envoy].into_iter().flatten().any(|own| std::ptr::eq(own, container))
    }

    /// Whether the mesh itself wants `container` to wait for `other`. Where the condition is the wrong one, its rules say so.
    #[must_use]
    pub fn must_wait_for(&self, container: &Container, other: &Container) -> bool {
        self.consul.as_ref().is_some_and(|consul| {
            let is = |one: Option<&Container>, wanted: &Container| one.is_some_and(|one| std::ptr::eq(one, wanted));
            let waits = is(consul.proxy(), container) || is(consul.health_sync, container);
            waits && is(consul.first(), other)
        })
    }

    /// Whether a container of this name is missing for the mesh's own work: then the mesh's rules say so.
    #[must_use]
    pub fn misses(&self, name: &str) -> bool {
        let proxy = self.app_mesh.as_ref().and_then(|mesh| mesh.proxy);
        let is_envoy = proxy.is_some_and(|proxy| proxy.container.text() == Some(name));
        is_envoy || self.consul.as_ref().is_some_and(|consul| consul.misses(name))
    }
}
