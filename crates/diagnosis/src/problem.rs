//! What could not be read, in words for the person who asked.

use aws::ecs::EcsError;
use consul::ConsulError;

/// Why ECS could not be read.
pub(crate) fn of_ecs(error: &EcsError) -> String {
    match error {
        EcsError::UnknownCluster(cluster) => format!("cluster {cluster}: ECS does not know it"),
        other => other.to_string(),
    }
}

/// Why Consul could not be read.
pub fn of_consul(error: &ConsulError) -> String {
    match error {
        ConsulError::CredentialRejected { .. } => {
            "Consul could not be read: it does not know the token in CONSUL_HTTP_TOKEN or CONSUL_HTTP_TOKEN_FILE"
                .to_owned()
        }
        ConsulError::PermissionDenied { subject, reason } => {
            format!(
                "Consul could not be read: {subject}: the token in CONSUL_HTTP_TOKEN or CONSUL_HTTP_TOKEN_FILE lacks a permission: {reason}"
            )
        }
        ConsulError::Unavailable { reason, .. } => {
            format!("Consul could not be read at CONSUL_HTTP_ADDR: {reason}")
        }
        other => format!("Consul could not be read: {other}"),
    }
}
