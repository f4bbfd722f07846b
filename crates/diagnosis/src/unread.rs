//! What could not be read, in words for the person who asked.

use std::collections::BTreeSet;

use mesh::permissions::Permission;
use observe::{CallError, ConsulError, EcsError, Inspection, InspectionError};

/// What could not be read of clusters, each once, because one cause often affects several.
pub fn problems(inspection: &Inspection) -> Vec<String> {
    let mut said = BTreeSet::new();
    inspection.problems.iter().map(unread).filter(|problem| said.insert(problem.clone())).collect()
}

/// Why something could not be read.
pub fn unread(error: &InspectionError) -> String {
    match error {
        InspectionError::Call(error) => of_call(error),
        InspectionError::CatalogNotPermitted(missing) => {
            let rules: Vec<String> = missing.iter().map(Permission::to_string).collect();
            format!(
                "Consul could not be read: the token in CONSUL_HTTP_TOKEN or CONSUL_HTTP_TOKEN_FILE lacks {}",
                rules.join(" and ")
            )
        }
        InspectionError::TokensNotPermitted(missing) => {
            format!("Consul's tokens could not be read: the token in CONSUL_HTTP_TOKEN lacks {missing}")
        }
        InspectionError::NotDescribed(task) => {
            format!("task {task}: ECS lists it but does not describe it. Ask again")
        }
        InspectionError::Invalid(definition, invalid) => format!("task definition {definition}: {invalid}"),
    }
}

/// Why a call failed.
pub(crate) fn of_call(error: &CallError) -> String {
    match error {
        CallError::Ecs(EcsError::UnknownCluster(cluster)) => format!("cluster {cluster}: ECS does not know it"),
        CallError::Consul(error) => of_consul(error),
        other => other.to_string(),
    }
}

/// Why Consul could not be read.
pub(crate) fn of_consul(error: &ConsulError) -> String {
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
