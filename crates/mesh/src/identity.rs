//! The identity of a task in the mesh.

use super::{ecs_config::GatewayKind, secret_reference::SecretReference, service_name::ServiceName, tenancy::Tenancy};

/// A service of the mesh: the owner of a token and a secret.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MeshService {
    /// Its partition and namespace.
    pub tenancy: Tenancy,
    /// Its name.
    pub name: ServiceName,
}

impl MeshService {
    /// The name of its secret after the prefix: `<service>`, in Enterprise `<service>-<namespace>-<partition>`.
    pub fn secret_name(&self) -> String {
        format!("{}{}", self.name, self.tenancy.secret_suffix())
    }
}

/// The identity of a task in the mesh.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MeshIdentity {
    /// The service that the task is an instance of.
    pub service: MeshService,
    /// The kind of gateway, if it is one.
    pub gateway: Option<GatewayKind>,
    /// The secrets that its containers read.
    pub secrets: Vec<SecretReference>,
}
