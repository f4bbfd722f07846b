//! Mounts of a task's volumes.

use serde_json::json;

use super::Subject;
use crate::finding::Fix;
use audit_read::definition::{Container, Text};

impl Subject<'_> {
    /// The fix that mounts `volume` at `path`, and adds the volume if the definition lacks it; `None` if edits do not
    /// reach the place.
    pub fn mount(&self, container: &Container, volume: &str, path: &str, read_only: bool) -> Option<Fix> {
        let mount = json!({ "sourceVolume": volume, "containerPath": path, "readOnly": read_only });
        let fix = Fix::append(&container.mount_points, mount)?;
        let volumes = &self.definition.volumes;
        if volumes.lacks(|defined| defined.known().and_then(Text::whole) == Some(volume)) {
            return fix.and(Fix::append(volumes, json!({ "name": volume })));
        }
        Some(fix)
    }
}
