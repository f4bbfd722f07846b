//! The settings of the bootstrap.

use std::{fmt, str::FromStr};

use mesh::{cluster_selection::ClusterSelection, field::InvalidField};

/// Which objects the bootstrap creates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BootstrapExtent {
    /// All objects.
    Full,
    /// All but the auth method of client agents, which Consul Dataplane does not use.
    #[default]
    Dataplane,
    /// No objects: Consul is set up by other means.
    None,
}

/// The settings of the bootstrap.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BootstrapScope {
    /// Which objects it creates.
    pub extent: BootstrapExtent,
    /// The path of the tasks' IAM roles.
    pub iam_role_path: IamRolePath,
}

/// The path of IAM roles that may log in.
///
/// Source: <https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html>
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IamRolePath(String);

impl IamRolePath {
    /// The ARN pattern of all roles with the path, in the account of `clusters`.
    pub fn principals(&self, clusters: &ClusterSelection) -> String {
        format!("arn:{}:iam::{}:role{}*", clusters.aws_partition(), clusters.account(), self.0)
    }
}

impl Default for IamRolePath {
    /// The path that the Terraform modules of Consul on ECS use.
    fn default() -> Self {
        Self("/consul-ecs/".to_owned())
    }
}

impl FromStr for IamRolePath {
    type Err = InvalidField;

    fn from_str(path: &str) -> Result<Self, InvalidField> {
        // IAM allows a star in a path, but here it would match roles with other paths.
        let legal = path.bytes().all(|b| b.is_ascii_graphic() && b != b'*');
        if legal && path.len() <= 512 && path.starts_with('/') && path.ends_with('/') {
            Ok(Self(path.to_owned()))
        } else {
            Err(InvalidField::new("IAM role path", path, "a path that begins and ends with '/', such as /consul-ecs/"))
        }
    }
}

impl fmt::Display for IamRolePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
