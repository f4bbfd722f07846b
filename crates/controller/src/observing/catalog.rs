//! The catalog.

use async_trait::async_trait;
use consul::{Catalog, ConsulError};
use mesh::{
    arn::{ClusterArn, TaskId},
    catalog::{CatalogNode, HealthCheck, ServiceInstance},
    registration::{Registration, TASK_ID_META},
    service_name::ServiceName,
    tenancy::{Tenancy, TenancyName},
};

use super::{Observing, line::listed};

const REGISTER: &str = "PUT /v1/catalog/register";
const DEREGISTER: &str = "PUT /v1/catalog/deregister";

#[async_trait]
impl Catalog for Observing {
    async fn partitions(&self) -> Result<Vec<TenancyName>, ConsulError> {
        self.0.consul.partitions().await
    }

    async fn instances(
        &self,
        cluster: &ClusterArn,
        tenancy: &Tenancy,
        tasks: &[TaskId],
    ) -> Result<Vec<ServiceInstance>, ConsulError> {
        self.0.consul.instances(cluster, tenancy, tasks).await
    }

    async fn instances_of(
        &self,
        service: &ServiceName,
        tenancy: &Tenancy,
        tasks: &[TaskId],
    ) -> Result<Vec<ServiceInstance>, ConsulError> {
        self.0.consul.instances_of(service, tenancy, tasks).await
    }

    async fn synthetic_nodes(&self, tenancy: &Tenancy) -> Result<Vec<String>, ConsulError> {
        self.0.consul.synthetic_nodes(tenancy).await
    }

    async fn node(&self, name: &str, tenancy: &Tenancy) -> Result<Option<CatalogNode>, ConsulError> {
        self.0.consul.node(name, tenancy).await
    }

    async fn node_checks(&self, node: &str, tenancy: &Tenancy) -> Result<Vec<HealthCheck>, ConsulError> {
        self.0.consul.node_checks(node, tenancy).await
    }

    async fn checks(&self, instances: &[ServiceInstance]) -> Result<Vec<HealthCheck>, ConsulError> {
        self.0.consul.checks(instances).await
    }

    async fn deregister(&self, instances: &[ServiceInstance]) -> Result<(), ConsulError> {
        observed!(
            "PUT /v1/txn",
            cluster_arn = listed(instances.iter().map(|instance| instance.node.as_str())),
            task_id = listed(instances.iter().map(|instance| instance.task.as_str())),
            service = listed(instances.iter().map(|instance| instance.name.as_str())),
            service_id = listed(instances.iter().map(|instance| instance.id.as_str()))
        );
        Ok(())
    }

    async fn set_checks(&self, checks: &[HealthCheck]) -> Result<(), ConsulError> {
        observed!(
            REGISTER,
            cluster_arn = listed(checks.iter().map(|check| check.node.as_str())),
            service = listed(checks.iter().map(|check| check.service_name.as_str())),
            check_id = listed(checks.iter().map(|check| check.id.as_str()))
        );
        Ok(())
    }

    async fn deregister_service(&self, node: &str, id: &str, _: &Tenancy) -> Result<(), ConsulError> {
        observed!(DEREGISTER, cluster_arn = node, service_id = id);
        Ok(())
    }

    async fn register(&self, registration: &Registration) -> Result<(), ConsulError> {
        observed!(
            REGISTER,
            cluster_arn = registration.node,
            task_id = registration.meta.get(TASK_ID_META),
            service = registration.name,
            service_id = registration.id
        );
        Ok(())
    }

    async fn deregister_node(&self, node: &str, _: &Tenancy) -> Result<(), ConsulError> {
        observed!(DEREGISTER, cluster_arn = node);
        Ok(())
    }
}
