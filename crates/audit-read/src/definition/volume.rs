//! A volume of a task definition. Source:
//! <https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_Volume.html>

use super::{
    field::{Field, Text},
    reader::MapReader,
};
use document::Place;

/// A volume.
#[derive(Debug, Clone)]
pub struct Volume {
    pub name: Field<Text>,
    /// A file system of EFS.
    pub efs: Field<FileSystem>,
    /// A path of the host.
    pub host_path: Field<Text>,
    /// `task` (the default) or `shared`, of a Docker volume.
    pub scope: Field<Text>,
    /// Its place in the file.
    pub place: Place,
}

/// How tasks reach a file system of EFS. Source:
/// <https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_EFSVolumeConfiguration.html>
#[derive(Debug, Clone)]
pub struct FileSystem {
    /// `ENABLED` or `DISABLED`, the default.
    pub transit_encryption: Field<Text>,
    /// Whether the task role decides who may mount it: `ENABLED` or `DISABLED`, the default.
    pub iam: Field<Text>,
    pub access_point: Field<Text>,
    /// The directory that tasks see as the top.
    pub root_directory: Field<Text>,
}

impl Volume {
    pub(super) fn read(reader: &MapReader<'_>) -> Self {
        Self {
            name: reader.text("name"),
            efs: reader.map("efsVolumeConfiguration", |efs| FileSystem {
                transit_encryption: efs.text("transitEncryption"),
                iam: efs.map("authorizationConfig", |access| access.text("iam")).flatten(),
                root_directory: efs.text("rootDirectory"),
                access_point: efs.map("authorizationConfig", |access| access.text("accessPointId")).flatten(),
            }),
            host_path: reader.map("host", |host| host.text("sourcePath")).flatten(),
            scope: reader.map("dockerVolumeConfiguration", |docker| docker.text("scope")).flatten(),
            place: reader.place(),
        }
    }
}
