//! The catalog: <https://developer.hashicorp.com/consul/api-docs/catalog>, `/health`, and `/txn` to remove services.

mod answers;
mod registration;
mod writes;

use async_trait::async_trait;
use mesh::{
    arn::{ClusterArn, TaskId},
    catalog::{CatalogNode, HealthCheck, ServiceInstance},
    registration::{Registration, TASK_ID_META},
    service_name::ServiceName,
    tenancy::{Tenancy, TenancyName},
};
use serde_json::{Value, json};

pub(crate) use self::answers::{InstanceHealth, instance_with_checks};
use self::{
    answers::{CheckAnswer, NodeName, NodeServices, SYNTHETIC_META, ServiceAnswer, ServiceOfNode, check, instance},
    registration::registration_body,
    writes::{check_body, deletion},
};
use crate::{array::ArrayReader, client::HttpConsul, error::ConsulError, names, request::Request};

/// The most operations that one transaction takes, on every version of Consul.
pub const MAX_TRANSACTION_OPERATIONS: usize = 64;
/// The most terms of a filter: load balancers in front of Consul reject longer URLs.
const MAX_FILTER_TERMS: usize = 64;

/// The catalog: nodes, the services on them, and their checks.
#[async_trait]
pub trait Catalog: Send + Sync {
    /// The admin partitions (Enterprise), except those in deletion, whose content Consul deletes too.
    async fn partitions(&self) -> Result<Vec<TenancyName>, ConsulError>;

    /// The service instances on the cluster's synthetic node whose metadata names one of `tasks`.
    async fn instances(
        &self,
        cluster: &ClusterArn,
        tenancy: &Tenancy,
        tasks: &[TaskId],
    ) -> Result<Vec<ServiceInstance>, ConsulError>;

    /// The instances of a service, on any node, whose metadata names one of `tasks`.
    async fn instances_of(
        &self,
        service: &ServiceName,
        tenancy: &Tenancy,
        tasks: &[TaskId],
    ) -> Result<Vec<ServiceInstance>, ConsulError>;

    /// The names of the nodes without an agent, which the controllers of ECS clusters create.
    async fn synthetic_nodes(&self, tenancy: &Tenancy) -> Result<Vec<String>, ConsulError>;

    /// The services on a node, in every namespace of the tenancy's partition; `None` if the node does not exist. The answer
    /// includes every earlier write (<https://developer.hashicorp.com/consul/api-docs/features/consistency>).
    async fn node(&self, name: &str, tenancy: &Tenancy) -> Result<Option<CatalogNode>, ConsulError>;

    /// The health checks of a node, in every namespace of the tenancy's partition, except those with a definition, which
    /// another program runs. The answer includes every earlier write.
    async fn node_checks(&self, node: &str, tenancy: &Tenancy) -> Result<Vec<HealthCheck>, ConsulError>;

    /// The health checks of `instances`, which are all of one node and tenancy, as [`Self::node_checks`].
    async fn checks(&self, instances: &[ServiceInstance]) -> Result<Vec<HealthCheck>, ConsulError>;

    /// Deregisters up to [`MAX_TRANSACTION_OPERATIONS`] instances of one partition, and their checks, in one atomic
    /// transaction.
    ///
    /// # Errors
    /// [`ConsulError::Conflict`] if an instance has changed since it was read.
    async fn deregister(&self, instances: &[ServiceInstance]) -> Result<(), ConsulError>;

    /// Registers or replaces checks of one node and tenancy in one write.
    ///
    /// # Errors
    /// [`ConsulError::Conflict`] if an instance is no longer registered.
    async fn set_checks(&self, checks: &[HealthCheck]) -> Result<(), ConsulError>;

    /// Deregisters one service instance with its checks, whether or not it has changed.
    async fn deregister_service(&self, node: &str, id: &str, tenancy: &Tenancy) -> Result<(), ConsulError>;

    /// Registers or replaces an instance with all of its checks in one write. A node that does not exist is created as
    /// a synthetic one; a node that exists is not changed.
    async fn register(&self, registration: &Registration) -> Result<(), ConsulError>;

    /// Deregisters a node with its services.
    async fn deregister_node(&self, node: &str, tenancy: &Tenancy) -> Result<(), ConsulError>;
}

#[async_trait]
impl Catalog for HttpConsul {
    async fn instances(
        &self,
        cluster: &ClusterArn,
        tenancy: &Tenancy,
        tasks: &[TaskId],
    ) -> Result<Vec<ServiceInstance>, ConsulError> {
        let node = cluster.as_str();
        let mut instances = Vec::new();
        for chunk in tasks.chunks(MAX_FILTER_TERMS) {
            // Task IDs are hexadecimal, and need no escaping.
            let terms: Vec<String> =
                chunk.iter().map(|task| format!(r#"Meta["{TASK_ID_META}"] == "{task}""#)).collect();
            let request = Request::list(format!("services of node {node}"), &["catalog", "node-services", node])
                .query("filter", terms.join(" or "));
            // A node that is not registered returns null.
            let answer: Option<NodeServices> = self.http.json(&request.within(tenancy)).await?;
            let services = answer.and_then(|answer| answer.services).unwrap_or_default();
            instances.extend(services.into_iter().filter_map(|service| instance(service, node, tenancy).ok()));
        }
        Ok(instances)
    }

    async fn node(&self, node: &str, tenancy: &Tenancy) -> Result<Option<CatalogNode>, ConsulError> {
        let request = Request::list(format!("services of node {node}"), &["catalog", "node-services", node]);
        let request = request.in_all_namespaces_of(tenancy).consistent();
        let answer: Option<NodeServices> = self.http.json(&request).await?;
        let Some((answer, about)) = answer.and_then(|mut answer| answer.node.take().map(|about| (answer, about)))
        else {
            return Ok(None);
        };
        let is_synthetic =
            about.meta.is_some_and(|meta| meta.get(SYNTHETIC_META.0).is_some_and(|v| v == SYNTHETIC_META.1));
        let mut found = CatalogNode { is_synthetic, ..CatalogNode::default() };
        for service in answer.services.unwrap_or_default() {
            match instance(service, node, tenancy) {
                Ok(instance) => found.instances.push(instance),
                Err(unmarked) => found.others.push(unmarked.service),
            }
        }
        Ok(Some(found))
    }

    async fn synthetic_nodes(&self, tenancy: &Tenancy) -> Result<Vec<String>, ConsulError> {
        let (key, value) = SYNTHETIC_META;
        let request = Request::get("the list of synthetic nodes", &["catalog", "nodes"]);
        let request = request.query("filter", format!(r#"Meta["{key}"] == "{value}""#)).in_partition_of(tenancy);
        let nodes: Vec<NodeName> = self.http.json(&request).await?;
        Ok(nodes.into_iter().map(|node| node.node).collect())
    }

    async fn instances_of(
        &self,
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
                Request::list(format!("instances of service {service}"), &path).query("filter", terms.join(" or "));
            let answers: Vec<ServiceOfNode> = self.http.json(&request.within(tenancy)).await?;
            instances.extend(answers.into_iter().filter_map(|answer| {
                let ServiceOfNode { node, id, service, kind, meta, modify_index } = answer;
                instance(ServiceAnswer { id, service, kind, meta, modify_index, namespace: None }, &node, tenancy).ok()
            }));
        }
        Ok(instances)
    }

    async fn checks(&self, instances: &[ServiceInstance]) -> Result<Vec<HealthCheck>, ConsulError> {
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
            let request = Request::list(format!("checks of node {}", first.node), &["health", "node", &first.node])
                .query("filter", chunk.join(" or "));
            let answers: Vec<CheckAnswer> = self.http.json(&request.within(&first.tenancy)).await?;
            checks.extend(answers.into_iter().filter_map(|answer| check(answer, &first.tenancy)));
        }
        Ok(checks)
    }

    async fn node_checks(&self, node: &str, tenancy: &Tenancy) -> Result<Vec<HealthCheck>, ConsulError> {
        let request = Request::list(format!("checks of node {node}"), &["health", "node", node]);
        let request = request.in_all_namespaces_of(tenancy).consistent();
        self.http.read(&request, || ArrayReader::new(|answer| check(answer, tenancy))).await
    }

    async fn deregister(&self, instances: &[ServiceInstance]) -> Result<(), ConsulError> {
        let Some(first) = instances.first() else { return Ok(()) };
        let operations: Vec<Value> = instances.iter().map(deletion).collect();
        let subject = format!("catalog transaction of {} operations", operations.len());
        let request = Request::put(subject, &["txn"], Value::Array(operations));
        // Each operation contains its namespace.
        let request = request.in_partition_of(&first.tenancy);
        self.http.send(&request).await.map(drop)
    }

    async fn set_checks(&self, checks: &[HealthCheck]) -> Result<(), ConsulError> {
        let Some(first) = checks.first() else { return Ok(()) };
        let body = json!({
            "Node": first.node,
            "SkipNodeUpdate": true,
            "Checks": checks.iter().map(check_body).collect::<Vec<Value>>(),
        });
        let request = Request::put(format!("checks of node {}", first.node), &["catalog", "register"], body);
        self.http.send(&request.within(&first.tenancy)).await.map(drop)
    }

    async fn deregister_service(&self, node: &str, id: &str, tenancy: &Tenancy) -> Result<(), ConsulError> {
        let body = json!({ "Node": node, "ServiceID": id });
        let request = Request::put(format!("service {id}"), &["catalog", "deregister"], body);
        self.http.send(&request.within(tenancy)).await.map(drop)
    }

    async fn register(&self, registration: &Registration) -> Result<(), ConsulError> {
        let subject = format!("service instance {}", registration.id);
        let request = Request::put(subject, &["catalog", "register"], registration_body(registration));
        self.http.send(&request.within(&registration.tenancy)).await.map(drop)
    }

    async fn deregister_node(&self, node: &str, tenancy: &Tenancy) -> Result<(), ConsulError> {
        let request = Request::put(format!("node {node}"), &["catalog", "deregister"], json!({ "Node": node }));
        let request = request.in_partition_of(tenancy);
        self.http.send(&request).await.map(drop)
    }

    async fn partitions(&self) -> Result<Vec<TenancyName>, ConsulError> {
        names::remaining(&self.http, &Request::get("the list of partitions", &["partitions"])).await
    }
}

/// Whether an ID needs no escaping in a filter. IDs of consul-ecs, of a service name and a task ID, need none; other
/// IDs are left out.
fn is_safe_in_a_filter(id: &str) -> bool {
    id.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))
}
