//! A volume of a task definition. Source:
//! <https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_Volume.html>

use super::{
    field::{Field, Maybe, Text},
    reader::{MapReader, Mismatch},
};
use document::Place;

/// A volume.
#[derive(Debug, Clone)]
pub struct Volume {
    pub name: Field<Text>,
    /// A file system of EFS.
    pub efs: Field<()>,
    /// A path of the host.
    pub host_path: Field<Text>,
    /// `task` (the default) or `shared`, of a Docker volume.
    pub scope: Field<Text>,
    /// Its place in the file.
    pub place: Place,
}

impl Volume {
    pub(super) fn read(reader: &MapReader<'_>) -> Result<Self, Mismatch> {
        Ok(Self {
            name: reader.text("name")?,
            efs: reader.map("efsVolumeConfiguration", |_| Ok(()))?,
            host_path: inner(reader.map("host", |host| host.text("sourcePath"))?),
            scope: inner(reader.map("dockerVolumeConfiguration", |docker| docker.text("scope"))?),
            place: reader.place(),
        })
    }
}

/// The field of a nested map, which may be absent or unknown itself.
fn inner<T>(outer: Field<Field<T>>) -> Field<T> {
    match outer.value {
        Maybe::Known(field) => field,
        Maybe::Absent => Field { value: Maybe::Absent, place: outer.place },
        Maybe::Unknown => Field { value: Maybe::Unknown, place: outer.place },
    }
}
