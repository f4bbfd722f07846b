//! What could not be read, in words for the person who asked.

use std::collections::BTreeSet;

use mesh::permissions::Permission;
use observe::{CallError, ConsulError, EcsError, Inspection, InspectionError, TokenOwner};

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
            format!("Consul could not be read: {} lacks {}", TokenOwner::Command, rules.join(" and "))
        }
        InspectionError::TokensNotPermitted(missing) => {
            format!("Consul's tokens could not be read: {} lacks {missing}", TokenOwner::Command)
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
        CallError::Ecs(EcsError::UnknownCluster(cluster)) => cluster_unknown(cluster.as_str()),
        CallError::Consul(error) => of_consul(error),
        other => other.to_string(),
    }
}

/// That ECS does not know the cluster with this ARN.
pub(crate) fn cluster_unknown(arn: &str) -> String {
    format!("cluster {arn}: ECS does not know it")
}

/// That Consul does not know the token.
pub(crate) fn token_unknown() -> String {
    format!("Consul could not be read: it does not know {}", TokenOwner::Command)
}

/// That no Consul answers at the address, or something else does.
pub(crate) fn no_consul(reason: &str) -> String {
    format!("Consul could not be read at CONSUL_HTTP_ADDR: {reason}")
}

/// Why Consul could not be read.
pub(crate) fn of_consul(error: &ConsulError) -> String {
    match error {
        ConsulError::CredentialRejected { .. } => token_unknown(),
        ConsulError::Malformed { subject, reason } => no_consul(&format!("{subject}: {reason}")),
        ConsulError::Unavailable { reason, .. } => no_consul(reason),
        other => format!("Consul could not be read: {other}"),
    }
}
