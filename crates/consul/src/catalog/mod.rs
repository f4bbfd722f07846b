//! The catalog: <https://developer.hashicorp.com/consul/api-docs/catalog>, `/health`, and `/txn` to remove services.

mod answers;
mod writes;

use async_trait::async_trait;
use mesh::{
    arn::{ClusterArn, TaskId},
    catalog::{CatalogNode, HealthCheck, ServiceInstance},
    consul_ecs::{Registration, TASK_ID_META},
    names::ServiceName,
    tenancy::{Tenancy, TenancyName},
};
use serde_json::{Value, json};

use self::{
    answers::{
        CheckAnswer, InstanceHealth, NodeName, NodeServices, SYNTHETIC_META, ServiceAnswer, ServiceOfNode, any_check,
        check, instance, instance_with_checks,
    },
    writes::{check_body, check_deletion, deletion, registration_body},
};
use crate::{array::ArrayReader, error::ConsulError, http::HttpConsul, request::Request};

/// The most operations that one transaction takes, on every version of Consul.
pub const MAX_TRANSACTION_OPERATIONS: usize = 64;
/// The most terms of a filter: load balancers in front of Consul reject longer URLs.
const MAX_FILTER_TERMS: usize = 64;

/// Reads the catalog: nodes, the services on them, and their checks.
#[async_trait]
pub trait CatalogReads: Send + Sync {
    /// The admin partitions (Enterprise), except those in deletion, whose content Consul deletes too.
    async fn partitions(&self) -> Result<Vec<TenancyName>, ConsulError>;

    /// The service instances on the cluster's synthetic node whose metadata names one of `tasks`, with the name of the node that
    /// Consul returns, which may differ in case; `None` if the node does not exist. The answer includes every earlier write.
    async fn instances(
        &self,
        cluster: &ClusterArn,
        tenancy: &Tenancy,
        tasks: &[TaskId],
    ) -> Result<Option<Vec<ServiceInstance>>, ConsulError>;

    /// The instances of a service, on any node, whose metadata names one of `tasks`. The answer includes every earlier write.
    async fn instances_of(
        &self,
        service: &ServiceName,
        tenancy: &Tenancy,
        tasks: &[TaskId],
    ) -> Result<Vec<ServiceInstance>, ConsulError>;

    /// The names of the nodes without an agent, which the controllers of ECS clusters create.
    async fn synthetic_nodes(&self, tenancy: &Tenancy) -> Result<Vec<String>, ConsulError>;

    /// The services on a node, in every namespace of the tenancy's partition; `None` if the node does not exist. Consul ignores the
    /// case of the name: the node that it returns may be another's. The answer includes every earlier write (<https://developer.hashicorp.com/consul/api-docs/features/consistency>).
    async fn node(&self, name: &str, tenancy: &Tenancy) -> Result<Option<CatalogNode>, ConsulError>;

    /// The health checks of a node, in every namespace of the tenancy's partition, except those with a definition, which
    /// another program runs. The answer includes every earlier write.
    async fn node_checks(&self, node: &str, tenancy: &Tenancy) -> Result<Vec<HealthCheck>, ConsulError>;

    /// The health checks of a cluster's instances whose IDs contain the ID of one of `tasks`, as consul-ecs registers
    /// them. The answer includes every earlier write.
    async fn checks(
        &self,
        cluster: &ClusterArn,
        tenancy: &Tenancy,
        tasks: &[TaskId],
    ) -> Result<Vec<HealthCheck>, ConsulError>;
}

/// Changes the catalog.
#[async_trait]
pub trait CatalogWrites: Send + Sync {
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

    /// Deregisters up to [`MAX_TRANSACTION_OPERATIONS`] checks of one partition in one atomic transaction.
    ///
    /// # Errors
    /// [`ConsulError::Conflict`] if a check has changed since it was read.
    async fn deregister_checks(&self, checks: &[HealthCheck]) -> Result<(), ConsulError>;

    /// Deregisters one service instance with its checks, whether or not it has changed.
    async fn deregister_service(&self, node: &str, id: &str, tenancy: &Tenancy) -> Result<(), ConsulError>;

    /// Registers or replaces an instance with all of its checks in one write. A node that does not exist is created as
    /// a synthetic one; a node that exists is not changed.
    async fn register(&self, registration: &Registration) -> Result<(), ConsulError>;

    /// Deregisters a node with its services.
    async fn deregister_node(&self, node: &str, tenancy: &Tenancy) -> Result<(), ConsulError>;
}

#[async_trait]
impl CatalogReads for HttpConsul {
    async fn instances(
        &self,
        cluster: &ClusterArn,
        tenancy: &Tenancy,
        tasks: &[TaskId],
    ) -> Result<Option<Vec<ServiceInstance>>, ConsulError> {
        let node = cluster.as_str();
        let mut instances = Vec::new();
        for filter in filters(tasks.iter().map(|task| format!(r#"Meta["{TASK_ID_META}"] == "{task}""#))) {
            let path = ["catalog", "node-services", node];
            let request = Request::part_of_list(format!("services of node {node}"), &path, filter);
            // A node that is not registered returns null.
            let answer: Option<NodeServices> = self.json(&request.within(tenancy).consistent()).await?;
            let Some(NodeServices { node: Some(found), services }) = answer else { return Ok(None) };
            let services = services.unwrap_or_default();
            instances.extend(services.into_iter().filter_map(|service| instance(service, &found.node, tenancy).ok()));
        }
        Ok(Some(instances))
    }

    async fn node(&self, node: &str, tenancy: &Tenancy) -> Result<Option<CatalogNode>, ConsulError> {
        let request = Request::list(format!("services of node {node}"), &["catalog", "node-services", node]);
        let request = request.in_all_namespaces_of(tenancy).consistent();
        let answer: Option<NodeServices> = self.json(&request).await?;
        let Some(NodeServices { node: Some(about), services }) = answer else { return Ok(None) };
        let (key, value) = SYNTHETIC_META;
        let is_synthetic = about.meta.is_some_and(|meta| meta.get(key).is_some_and(|it| it == value));
        let mut found = CatalogNode { name: about.node, is_synthetic, ..CatalogNode::default() };
        for service in services.unwrap_or_default() {
            match instance(service, &found.name, tenancy) {
                Ok(instance) => found.instances.push(instance),
                Err(other) => found.others.push(other),
            }
        }
        Ok(Some(found))
    }

    async fn synthetic_nodes(&self, tenancy: &Tenancy) -> Result<Vec<String>, ConsulError> {
        let (key, value) = SYNTHETIC_META;
        let request = Request::get("the list of synthetic nodes", &["catalog", "nodes"]);
        let request = request.query("filter", format!(r#"Meta["{key}"] == "{value}""#)).in_partition_of(tenancy);
        let nodes: Vec<NodeName> = self.json(&request).await?;
        Ok(nodes.into_iter().map(|node| node.node).collect())
    }

    async fn instances_of(
        &self,
        service: &ServiceName,
        tenancy: &Tenancy,
        tasks: &[TaskId],
    ) -> Result<Vec<ServiceInstance>, ConsulError> {
        let mut instances = Vec::new();
        for filter in filters(tasks.iter().map(|task| format!(r#"ServiceMeta["{TASK_ID_META}"] == "{task}""#))) {
            let path = ["catalog", "service", service.as_str()];
            let request = Request::part_of_list(format!("instances of service {service}"), &path, filter);
            let answers: Vec<ServiceOfNode> = self.json(&request.within(tenancy).consistent()).await?;
            instances.extend(answers.into_iter().filter_map(|answer| {
                let ServiceOfNode { node, id, service, kind, address, meta, modify_index } = answer;
                let answer = ServiceAnswer { id, service, kind, address, meta, modify_index, namespace: None };
                instance(answer, &node, tenancy).ok()
            }));
        }
        Ok(instances)
    }

    async fn checks(
        &self,
        cluster: &ClusterArn,
        tenancy: &Tenancy,
        tasks: &[TaskId],
    ) -> Result<Vec<HealthCheck>, ConsulError> {
        let node = cluster.as_str();
        let mut checks = Vec::new();
        for filter in filters(tasks.iter().map(|task| format!(r#""{task}" in ServiceID"#))) {
            let request = Request::part_of_list(format!("checks of node {node}"), &["health", "node", node], filter);
            let answers: Vec<CheckAnswer> = self.json(&request.within(tenancy).consistent()).await?;
            checks.extend(answers.into_iter().filter_map(|answer| check(answer, tenancy)));
        }
        Ok(checks)
    }

    async fn node_checks(&self, node: &str, tenancy: &Tenancy) -> Result<Vec<HealthCheck>, ConsulError> {
        self.checks_of_node(node, tenancy, |answer| check(answer, tenancy)).await
    }

    async fn partitions(&self) -> Result<Vec<TenancyName>, ConsulError> {
        self.remaining_names(&Request::get("the list of partitions", &["partitions"])).await
    }
}

#[async_trait]
impl CatalogWrites for HttpConsul {
    async fn deregister(&self, instances: &[ServiceInstance]) -> Result<(), ConsulError> {
        let Some(first) = instances.first() else { return Ok(()) };
        self.transact(instances.iter().map(deletion), &first.tenancy).await
    }

    async fn deregister_checks(&self, checks: &[HealthCheck]) -> Result<(), ConsulError> {
        let Some(first) = checks.first() else { return Ok(()) };
        self.transact(checks.iter().map(check_deletion), &first.tenancy).await
    }

    async fn set_checks(&self, checks: &[HealthCheck]) -> Result<(), ConsulError> {
        let Some(first) = checks.first() else { return Ok(()) };
        let body = json!({
            "Node": first.node,
            "SkipNodeUpdate": true,
            "Checks": checks.iter().map(check_body).collect::<Vec<Value>>(),
        });
        let request = Request::put(format!("checks of node {}", first.node), &["catalog", "register"], body);
        self.send(&request.within(&first.tenancy)).await.map(drop)
    }

    async fn deregister_service(&self, node: &str, id: &str, tenancy: &Tenancy) -> Result<(), ConsulError> {
        let body = json!({ "Node": node, "ServiceID": id });
        let request = Request::put(format!("service {id}"), &["catalog", "deregister"], body);
        self.send(&request.within(tenancy)).await.map(drop)
    }

    async fn register(&self, registration: &Registration) -> Result<(), ConsulError> {
        let subject = format!("service instance {}", registration.id);
        let request = Request::put(subject, &["catalog", "register"], registration_body(registration));
        self.send(&request.within(&registration.tenancy)).await.map(drop)
    }

    async fn deregister_node(&self, node: &str, tenancy: &Tenancy) -> Result<(), ConsulError> {
        let request = Request::put(format!("node {node}"), &["catalog", "deregister"], json!({ "Node": node }));
        let request = request.in_partition_of(tenancy);
        self.send(&request).await.map(drop)
    }
}

impl HttpConsul {
    /// One atomic transaction in the partition of `tenancy`. Each operation contains its namespace.
    async fn transact(&self, operations: impl Iterator<Item = Value>, tenancy: &Tenancy) -> Result<(), ConsulError> {
        let operations: Vec<Value> = operations.collect();
        let subject = format!("catalog transaction of {} operations", operations.len());
        let request = Request::put(subject, &["txn"], Value::Array(operations)).in_partition_of(tenancy);
        self.send(&request).await.map(drop)
    }

    /// Every health check of a node, in every namespace of the tenancy's partition, also those that another program runs, such as
    /// consul-esm: they decide too whether an instance gets traffic. The answer includes every earlier write.
    pub async fn every_node_check(&self, node: &str, tenancy: &Tenancy) -> Result<Vec<HealthCheck>, ConsulError> {
        self.checks_of_node(node, tenancy, |answer| Some(any_check(answer, tenancy))).await
    }

    async fn checks_of_node(
        &self,
        node: &str,
        tenancy: &Tenancy,
        read: impl Fn(CheckAnswer) -> Option<HealthCheck> + Copy + Send + Sync,
    ) -> Result<Vec<HealthCheck>, ConsulError> {
        let request = Request::streamed_list(format!("checks of node {node}"), &["health", "node", node]);
        let request = request.in_all_namespaces_of(tenancy).consistent();
        self.stream(&request, || ArrayReader::new(read)).await
    }

    /// The instances of a service whose metadata names a task, on any node, and all checks that decide whether they get traffic,
    /// also the checks of their nodes:
    /// <https://developer.hashicorp.com/consul/api-docs/health#list-service-instances-for-service>
    pub async fn service_health(
        &self,
        service: &ServiceName,
        tenancy: &Tenancy,
    ) -> Result<Vec<(ServiceInstance, Vec<HealthCheck>)>, ConsulError> {
        let request = Request::list(format!("health of service {service}"), &["health", "service", service.as_str()]);
        let answers: Vec<InstanceHealth> = self.json(&request.within(tenancy).consistent()).await?;
        Ok(answers.into_iter().filter_map(|answer| instance_with_checks(answer, tenancy)).collect())
    }
}

/// The filters for objects that fulfil one of `terms`. Task IDs are hexadecimal, and need no escaping.
fn filters(terms: impl Iterator<Item = String>) -> Vec<String> {
    let terms: Vec<String> = terms.collect();
    terms.chunks(MAX_FILTER_TERMS).map(|chunk| chunk.join(" or ")).collect()
}
