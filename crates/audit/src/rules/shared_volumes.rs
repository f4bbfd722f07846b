//! Volumes of the mesh that several tasks share.

use super::{mesh_init::mesh_containers, prelude::*};
use crate::subject::BINARY_DIRECTORY;
use audit_read::definition::Volume;

pub(super) static CONSUL_SHARED_VOLUME: Rule =
    Rule::of_task(page!("consul-shared-volume"), Applies::Consul, check_shared_volume);

fn check_shared_volume(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul) = &subject.consul else { return };
    let directories = [consul.shared_directory(), Some(BINARY_DIRECTORY)];
    let mounted = |container: &Container, name: &str| {
        let at = |directory: &str| match container.mount_at(directory) {
            Maybe::Known(mount) => mount.source_volume.text() == Some(name),
            Maybe::Absent | Maybe::Unknown => false,
        };
        directories.iter().flatten().any(|directory| at(directory))
    };
    for volume in &subject.definition.volumes.items {
        let (Some(name), Some(where_to)) = (volume.name.text(), shared_by(volume)) else { continue };
        if mesh_containers(consul).any(|container| mounted(container, name)) {
            let message = format!("the volume {name} is {where_to}, which other tasks have as well");
            let help = format!("leave only the name: {{ \"name\": \"{name}\" }}");
            findings.add(Draft::new(volume.name.span(), message, help));
        }
    }
}

/// What makes a volume one of several tasks.
fn shared_by(volume: &Volume) -> Option<String> {
    if volume.efs.known().is_some() {
        return Some("a file system of EFS".to_owned());
    }
    if let Some(path) = volume.host_path.known().filter(|path| path.whole() != Some("")) {
        return Some(format!("{} of the host", path.shown()));
    }
    (volume.scope.text() == Some("shared")).then(|| "a Docker volume with the scope shared".to_owned())
}
