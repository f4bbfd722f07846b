//! Answers about nodes, services and checks.

use std::collections::BTreeMap;

use mesh::{
    catalog::{CheckStatus, HealthCheck, OtherService, ServiceInstance},
    consul_ecs::TASK_ID_META,
    tenancy::Tenancy,
};
use serde::Deserialize;

use crate::bootstrap::Fields;

/// The metadata key of the ARN of an instance's task.
const TASK_ARN_META: &str = "task-arn";
/// The metadata key and value of a synthetic node.
pub(super) const SYNTHETIC_META: (&str, &str) = ("synthetic-node", "true");

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct NodeServices {
    pub(super) node: Option<NodeAnswer>,
    pub(super) services: Option<Vec<ServiceAnswer>>,
}

/// A node in the answer of `/catalog/nodes`.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct NodeName {
    pub(super) node: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct NodeAnswer {
    /// Its name, in the case in which it was registered.
    pub(super) node: String,
    pub(super) meta: Option<BTreeMap<String, String>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct ServiceAnswer {
    #[serde(rename = "ID")]
    pub(super) id: String,
    pub(super) service: String,
    #[serde(default)]
    pub(super) kind: String,
    #[serde(default)]
    pub(super) address: String,
    pub(super) meta: Option<BTreeMap<String, String>>,
    pub(super) modify_index: u64,
    pub(super) namespace: Option<String>,
}

/// An instance in the answer of `/health/service`.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct InstanceHealth {
    node: NodeName,
    service: ServiceAnswer,
    checks: Vec<CheckAnswer>,
}

/// A service in the answer of `/catalog/service`.
#[derive(Deserialize)]
pub(super) struct ServiceOfNode {
    #[serde(rename = "Node")]
    pub(super) node: String,
    #[serde(rename = "ServiceID")]
    pub(super) id: String,
    #[serde(rename = "ServiceName")]
    pub(super) service: String,
    #[serde(rename = "ServiceKind", default)]
    pub(super) kind: String,
    #[serde(rename = "ServiceAddress", default)]
    pub(super) address: String,
    #[serde(rename = "ServiceMeta")]
    pub(super) meta: Option<BTreeMap<String, String>>,
    #[serde(rename = "ModifyIndex")]
    pub(super) modify_index: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct CheckAnswer {
    pub(super) node: String,
    #[serde(rename = "CheckID")]
    pub(super) check_id: String,
    pub(super) name: String,
    #[serde(rename = "Type", default)]
    pub(super) kind: String,
    #[serde(default)]
    pub(super) notes: String,
    #[serde(rename = "ServiceID")]
    pub(super) service_id: String,
    pub(super) service_name: String,
    pub(super) status: String,
    #[serde(default)]
    pub(super) output: String,
    #[serde(default)]
    definition: Option<Fields>,
    #[serde(default)]
    modify_index: u64,
    namespace: Option<String>,
}

/// An instance of a task.
///
/// # Errors
/// Its metadata has no task ID: another creator's service.
pub(super) fn instance(service: ServiceAnswer, node: &str, tenancy: &Tenancy) -> Result<ServiceInstance, OtherService> {
    let meta = service.meta.unwrap_or_default();
    let tenancy = in_namespace(tenancy, service.namespace.as_deref());
    let Some(task) = meta.get(TASK_ID_META).and_then(|id| id.parse().ok()) else {
        let ServiceAnswer { id, service: name, kind, .. } = service;
        return Err(OtherService { id, name, kind, tenancy });
    };
    Ok(ServiceInstance {
        node: node.to_owned(),
        id: service.id,
        name: service.service,
        kind: service.kind,
        task,
        task_arn: meta.get(TASK_ARN_META).and_then(|arn| arn.parse().ok()),
        address: service.address.parse().ok(),
        modify_index: service.modify_index,
        tenancy,
    })
}

/// An instance of a task, and all of its checks, those of its node included; `None` if its metadata has no task ID.
pub(super) fn instance_with_checks(
    answer: InstanceHealth,
    tenancy: &Tenancy,
) -> Option<(ServiceInstance, Vec<HealthCheck>)> {
    let InstanceHealth { node: NodeName { node }, service, checks } = answer;
    let instance = instance(service, &node, tenancy).ok()?;
    let of_it = |answer| HealthCheck { service_id: instance.id.clone(), ..any_check(answer, tenancy) };
    let checks = checks.into_iter().map(of_it).collect();
    Some((instance, checks))
}

/// The tenancy of an object in an answer for all namespaces of a partition.
fn in_namespace(tenancy: &Tenancy, namespace: Option<&str>) -> Tenancy {
    match (tenancy, namespace.and_then(|namespace| namespace.parse().ok())) {
        (Tenancy::Enterprise { partition, .. }, Some(namespace)) => {
            Tenancy::Enterprise { partition: partition.clone(), namespace }
        }
        (tenancy, _) => tenancy.clone(),
    }
}

/// A health check; `None` if it has a definition, by which another program runs it:
/// <https://developer.hashicorp.com/consul/api-docs/catalog#healthcheckdefinition>. A check of `mesh-init` has none.
pub(super) fn check(answer: CheckAnswer, tenancy: &Tenancy) -> Option<HealthCheck> {
    let is_run = answer.definition.as_ref().is_some_and(|definition| !definition.is_empty());
    (!is_run).then(|| any_check(answer, tenancy))
}

/// A health check, whichever program runs it.
pub(super) fn any_check(answer: CheckAnswer, tenancy: &Tenancy) -> HealthCheck {
    HealthCheck {
        node: answer.node,
        id: answer.check_id,
        name: answer.name,
        kind: answer.kind,
        notes: answer.notes,
        service_id: answer.service_id,
        service_name: answer.service_name,
        status: answer.status.parse().unwrap_or(CheckStatus::Critical),
        output: answer.output,
        modify_index: answer.modify_index,
        tenancy: in_namespace(tenancy, answer.namespace.as_deref()),
    }
}
