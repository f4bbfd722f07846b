//! The instances of a service on any node, with all checks that decide whether they get traffic:
//! <https://developer.hashicorp.com/consul/api-docs/health#list-service-instances-for-service>

use async_trait::async_trait;
use mesh::{
    catalog::{HealthCheck, ServiceInstance},
    service_name::ServiceName,
    tenancy::Tenancy,
};

use crate::{
    catalog::{InstanceHealth, instance_with_checks},
    client::HttpConsul,
    error::ConsulError,
    request::Request,
};

/// Reads the health of services.
#[async_trait]
pub trait Health: Send + Sync {
    /// The instances of a service whose metadata names a task, and their checks, those of their nodes included.
    async fn service_health(
        &self,
        service: &ServiceName,
        tenancy: &Tenancy,
    ) -> Result<Vec<(ServiceInstance, Vec<HealthCheck>)>, ConsulError>;
}

#[async_trait]
impl Health for HttpConsul {
    async fn service_health(
        &self,
        service: &ServiceName,
        tenancy: &Tenancy,
    ) -> Result<Vec<(ServiceInstance, Vec<HealthCheck>)>, ConsulError> {
        let request = Request::list(format!("health of service {service}"), &["health", "service", service.as_str()]);
        let answers: Vec<InstanceHealth> = self.http.json(&request.within(tenancy).consistent()).await?;
        Ok(answers.into_iter().filter_map(|answer| instance_with_checks(answer, tenancy)).collect())
    }
}
