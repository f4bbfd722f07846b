//! Services and health checks of the catalog: <https://developer.hashicorp.com/consul/api-docs/catalog>, `/health`, and
//! `/txn` to remove services.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};

use super::{error::ConsulError, http::Http, request::Request, within};
use mesh::{
    arn::{ClusterArn, TaskId},
    catalog::{CatalogNode, CheckStatus, HealthCheck, ServiceInstance},
    service_name::ServiceName,
    tenancy::Tenancy,
};

/// The key of the mark that says whose instance it is.
const TASK_ID_META: &str = "task-id";
/// The key of the mark that says in which cluster its task is.
const TASK_ARN_META: &str = "task-arn";
/// The key and value by which a synthetic node is known.
const SYNTHETIC_META: (&str, &str) = ("synthetic-node", "true");
/// How many terms a filter has at most: load balancers before Consul refuse longer URLs.
const MAX_FILTER_TERMS: usize = 64;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct NodeServices {
    node: Option<NodeAnswer>,
    services: Option<Vec<ServiceAnswer>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct NodeAnswer {
    meta: Option<BTreeMap<String, String>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct ServiceAnswer {
    #[serde(rename = "ID")]
    id: String,
    service: String,
    meta: Option<BTreeMap<String, String>>,
    modify_index: u64,
    namespace: Option<String>,
}

/// The same service as another endpoint spells it.
#[derive(Deserialize)]
struct ServiceOfNode {
    #[serde(rename = "Node")]
    node: String,
    #[serde(rename = "ServiceID")]
    id: String,
    #[serde(rename = "ServiceName")]
    service: String,
    #[serde(rename = "ServiceMeta")]
    meta: Option<BTreeMap<String, String>>,
    #[serde(rename = "ModifyIndex")]
    modify_index: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct CheckAnswer {
    node: String,
    #[serde(rename = "CheckID")]
    check_id: String,
    name: String,
    #[serde(rename = "Type", default)]
    kind: String,
    #[serde(default)]
    notes: String,
    #[serde(rename = "ServiceID")]
    service_id: String,
    service_name: String,
    status: String,
    #[serde(default)]
    output: String,
    #[serde(default)]
    definition: Value,
}

pub(super) async fn instances(
    http: &Http,
    cluster: &ClusterArn,
    tenancy: &Tenancy,
    tasks: &[TaskId],
) -> Result<Vec<ServiceInstance>, ConsulError> {
    let node = cluster.as_str();
    let mut instances = Vec::new();
    for chunk in tasks.chunks(MAX_FILTER_TERMS) {
        // Task IDs are hexadecimal: nothing in them can change the expression.
        let terms: Vec<String> = chunk.iter().map(|task| format!(r#"Meta["{TASK_ID_META}"] == "{task}""#)).collect();
        let request = Request::get(format!("services of node {node}"), &["catalog", "node-services", node])
            .query("filter", terms.join(" or "));
        // A node that nobody has registered yet answers null.
        let answer: Option<NodeServices> = http.json(&within(request, tenancy)).await?;
        let services = answer.and_then(|answer| answer.services).unwrap_or_default();
        instances.extend(services.into_iter().filter_map(|service| instance(service, node, tenancy).ok()));
    }
    Ok(instances)
}

/// All services of a node, in all namespaces of the tenancy's partition. `None` if there is no such node.
pub(super) async fn node(http: &Http, node: &str, tenancy: &Tenancy) -> Result<Option<CatalogNode>, ConsulError> {
    let mut request = Request::get(format!("services of node {node}"), &["catalog", "node-services", node]);
    if let Some(partition) = tenancy.partition() {
        request = request.query("partition", partition.as_str()).query("ns", "*");
    }
    let answer: Option<NodeServices> = http.json(&request).await?;
    let Some((answer, about)) = answer.and_then(|mut answer| answer.node.take().map(|about| (answer, about))) else {
        return Ok(None);
    };
    let is_synthetic = about.meta.is_some_and(|meta| meta.get(SYNTHETIC_META.0).is_some_and(|v| v == SYNTHETIC_META.1));
    let mut found = CatalogNode { is_synthetic, ..CatalogNode::default() };
    for service in answer.services.unwrap_or_default() {
        match instance(service, node, tenancy) {
            Ok(instance) => found.instances.push(instance),
            Err(id) => found.others.push(id),
        }
    }
    Ok(Some(found))
}

/// The instances of a service, on any node, whose meta names one of `tasks`.
pub(super) async fn instances_of(
    http: &Http,
    service: &ServiceName,
    tenancy: &Tenancy,
    tasks: &[TaskId],
) -> Result<Vec<ServiceInstance>, ConsulError> {
    let mut instances = Vec::new();
    for chunk in tasks.chunks(MAX_FILTER_TERMS) {
        let terms: Vec<String> =
            chunk.iter().map(|task| format!(r#"ServiceMeta["{TASK_ID_META}"] == "{task}""#)).collect();
        let path = ["catalog", "service", service.as_str()];
        let request =
            Request::get(format!("instances of service {service}"), &path).query("filter", terms.join(" or "));
        let answers: Vec<ServiceOfNode> = http.json(&within(request, tenancy)).await?;
        instances.extend(answers.into_iter().filter_map(|answer| {
            let ServiceOfNode { node, id, service, meta, modify_index } = answer;
            instance(ServiceAnswer { id, service, meta, modify_index, namespace: None }, &node, tenancy).ok()
        }));
    }
    Ok(instances)
}

/// An instance with a task's mark, or the ID of one without: that is not ours.
fn instance(service: ServiceAnswer, node: &str, tenancy: &Tenancy) -> Result<ServiceInstance, String> {
    let meta = service.meta.unwrap_or_default();
    let Some(task) = meta.get(TASK_ID_META).and_then(|id| id.parse().ok()) else { return Err(service.id) };
    let namespace = service.namespace.and_then(|namespace| namespace.parse().ok());
    let tenancy = match (tenancy, namespace) {
        (Tenancy::Enterprise { partition, .. }, Some(namespace)) => {
            Tenancy::Enterprise { partition: partition.clone(), namespace }
        }
        (tenancy, _) => tenancy.clone(),
    };
    Ok(ServiceInstance {
        node: node.to_owned(),
        id: service.id,
        name: service.service,
        task,
        task_arn: meta.get(TASK_ARN_META).and_then(|arn| arn.parse().ok()),
        modify_index: service.modify_index,
        tenancy,
    })
}

pub(super) async fn checks(http: &Http, instances: &[ServiceInstance]) -> Result<Vec<HealthCheck>, ConsulError> {
    let Some(first) = instances.first() else {
        return Ok(Vec::new());
    };
    let terms: Vec<String> = instances
        .iter()
        .filter(|instance| is_safe_in_a_filter(&instance.id))
        .map(|instance| format!(r#"ServiceID == "{}""#, instance.id))
        .collect();
    let mut checks = Vec::new();
    for chunk in terms.chunks(MAX_FILTER_TERMS) {
        let request = Request::get(format!("checks of node {}", first.node), &["health", "node", &first.node])
            .query("filter", chunk.join(" or "));
        let answers: Vec<CheckAnswer> = http.json(&within(request, &first.tenancy)).await?;
        checks.extend(answers.into_iter().map(|answer| check(answer, &first.tenancy)));
    }
    Ok(checks)
}

/// All checks of a node, in the tenancy's namespace.
pub(super) async fn node_checks(http: &Http, node: &str, tenancy: &Tenancy) -> Result<Vec<HealthCheck>, ConsulError> {
    let request = Request::get(format!("checks of node {node}"), &["health", "node", node]);
    let answers: Vec<CheckAnswer> = http.json(&within(request, tenancy)).await?;
    Ok(answers.into_iter().map(|answer| check(answer, tenancy)).collect())
}

/// consul-ecs makes instance IDs of a service name and a task ID. Whatever else somebody registered must not be able
/// to change the expression.
fn is_safe_in_a_filter(id: &str) -> bool {
    id.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))
}

fn check(answer: CheckAnswer, tenancy: &Tenancy) -> HealthCheck {
    HealthCheck {
        node: answer.node,
        id: answer.check_id,
        name: answer.name,
        kind: answer.kind,
        notes: answer.notes,
        service_id: answer.service_id,
        service_name: answer.service_name,
        status: match answer.status.as_str() {
            "passing" => CheckStatus::Passing,
            "warning" => CheckStatus::Warning,
            _ => CheckStatus::Critical,
        },
        output: answer.output,
        definition: answer.definition,
        tenancy: tenancy.clone(),
    }
}

pub(super) async fn deregister(http: &Http, instances: &[ServiceInstance]) -> Result<(), ConsulError> {
    let Some(first) = instances.first() else { return Ok(()) };
    let operations: Vec<Value> = instances.iter().map(deletion).collect();
    let subject = format!("catalog transaction of {} operations", operations.len());
    let request = Request::put(subject, &["txn"], Value::Array(operations));
    // The namespace stands in each operation.
    let request = match first.tenancy.partition() {
        Some(partition) => request.query("partition", partition.as_str()),
        None => request,
    };
    http.send(&request).await.map(drop)
}

fn deletion(instance: &ServiceInstance) -> Value {
    let service = json!({ "ID": instance.id, "Service": instance.name, "ModifyIndex": instance.modify_index });
    let service = with_tenancy(service, &instance.tenancy);
    json!({ "Service": { "Verb": "delete-cas", "Node": instance.node, "Service": service } })
}

/// Writes through a registration, not a transaction: a transaction loses a check's type (seen on Consul 1.8).
pub(super) async fn set_checks(http: &Http, checks: &[HealthCheck]) -> Result<(), ConsulError> {
    let Some(first) = checks.first() else { return Ok(()) };
    let body = json!({
        "Node": first.node,
        "SkipNodeUpdate": true,
        "Checks": checks.iter().map(registration).collect::<Vec<Value>>(),
    });
    let request = Request::put(format!("checks of node {}", first.node), &["catalog", "register"], body);
    http.send(&within(request, &first.tenancy)).await.map(drop)
}

fn registration(check: &HealthCheck) -> Value {
    let body = json!({
        "Node": check.node,
        "CheckID": check.id,
        "Name": check.name,
        "Type": check.kind,
        "Notes": check.notes,
        "Status": check.status.as_str(),
        "Output": check.output,
        "ServiceID": check.service_id,
        "ServiceName": check.service_name,
        "Definition": check.definition,
    });
    with_tenancy(body, &check.tenancy)
}

fn with_tenancy(mut body: Value, tenancy: &Tenancy) -> Value {
    if let (Tenancy::Enterprise { partition, namespace }, Some(fields)) = (tenancy, body.as_object_mut()) {
        fields.insert("Partition".to_owned(), json!(partition.as_str()));
        fields.insert("Namespace".to_owned(), json!(namespace.as_str()));
    }
    body
}
