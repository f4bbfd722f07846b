//! The IDs and names of what consul-ecs registers, and what is read from them.

use crate::{arn::TaskId, catalog::HealthCheck};

/// What a sidecar proxy's ID and name add to the ID and name of its service.
const SIDECAR: &str = "-sidecar-proxy";

/// The ID of the instance that a task registers of a service or gateway.
pub fn instance_id(name: &str, task: &TaskId) -> String {
    format!("{name}-{task}")
}

/// The ID or name of the sidecar proxy of a service.
pub fn sidecar_of(service: &str) -> String {
    format!("{service}{SIDECAR}")
}

/// The ID of the check of a container at an instance.
pub fn check_id(instance_id: &str, container: &str) -> String {
    format!("{instance_id}-{container}")
}

/// The ID or name of a service, by its own or its sidecar proxy's.
pub fn service_behind(name: &str) -> &str {
    name.strip_suffix(SIDECAR).unwrap_or(name)
}

/// Whether the ID or name is a sidecar proxy's.
pub fn is_sidecar(name: &str) -> bool {
    name.ends_with(SIDECAR)
}

/// The task's ID in the ID of an instance.
pub fn task_of(instance_id: &str) -> &str {
    let id = service_behind(instance_id);
    id.rsplit_once('-').map_or(id, |(_, task)| task)
}

impl HealthCheck {
    /// The container that a check of consul-ecs is about.
    pub fn container(&self) -> Option<&str> {
        self.id.strip_prefix(&self.service_id)?.strip_prefix('-')
    }
}
