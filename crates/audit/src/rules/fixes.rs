//! Fixes that several rules offer.

use audit_read::definition::{Container, Maybe, TaskDefinition};
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

/// What else corrects a mount that is missing at the configured directory: the directory, if the container mounts a volume at
/// the usual one. Then it is not certain which of the two is wrong.
pub(super) fn usual_directory(consul: &ConsulTask<'_>, container: &Container) -> Option<String> {
    let directory = consul.shared_directory().filter(|directory| *directory != USUAL_DIRECTORY)?;
    if !matches!(container.mount_at(directory), Maybe::Absent) {
        return None;
    }
    let Maybe::Known(mount) = container.mount_at(USUAL_DIRECTORY) else { return None };
    let volume = mount.source_volume.text()?;
    Some(format!(", or set bootstrapDir to {USUAL_DIRECTORY}, where {} mounts {volume}", container.label()))
}

/// The default of `bootstrapDir`.
pub(super) const USUAL_DIRECTORY: &str = "/consul";

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
