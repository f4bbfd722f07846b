//! Services of the mesh, and the identity of a task in it.

use std::sync::Arc;

use crate::{consul_ecs::GatewayKind, names::ServiceName, secret_reference::SecretReference, tenancy::Tenancy};

/// A service of the mesh: the owner of a token and a secret.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MeshService {
    /// Its partition and namespace.
    pub tenancy: Tenancy,
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
    pub secrets: Arc<[SecretReference]>,
}
