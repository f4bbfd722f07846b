//! Fixes that several rules offer.

use audit_read::definition::{Container, TaskDefinition};
use serde_json::{Value, json};

use crate::{
    draft::Fix,
    subject::{ConsulTask, PlacedConfiguration},
};

/// The fix that mounts `volume` at `path`, and adds the volume if the definition lacks it; `None` if edits do not reach the
/// place.
pub(super) fn mount(
    definition: &TaskDefinition,
    container: &Container,
    volume: &str,
    path: &str,
    read_only: bool,
) -> Option<Fix> {
    let mount = json!({ "sourceVolume": volume, "containerPath": path, "readOnly": read_only });
    let fix = Fix::append(&container.mount_points, mount)?;
    let volumes = &definition.volumes;
    if volumes.lacks(|defined| defined.name.text() == Some(volume)) {
        return fix.and(Fix::append(volumes, json!({ "name": volume })));
    }
    Some(fix)
}

/// The edits that set a value of the configuration, also in health-sync's copy: both must be equal.
pub(super) fn configure(
    consul: &ConsulTask<'_>,
    definition: &TaskDefinition,
    path: &str,
    value: impl Into<Value>,
) -> Option<Fix> {
    let value = value.into();
    let fix = Fix::set(&consul.configuration.place_of(path), value.clone())?;
    let copy = consul.health_sync.map(|health_sync| PlacedConfiguration::of(definition, health_sync));
    match copy.filter(|copy| copy.json().is_some()) {
        Some(copy) => fix.and(Fix::set(&copy.place_of(path), value)),
        None => Some(fix),
    }
}
