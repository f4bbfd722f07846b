//! The external services in mode `observe`: reads pass through. A write sends nothing, logs what would have been sent, and
//! answers as if it had succeeded. The queue is the stack's own, and so it stays as it is.
//!
//! Nothing that the controller would have written is there at the next read. What waits for its own writes asks
//! [`Mode::acts`] first.

use std::sync::Arc;

use async_trait::async_trait;
use aws::secrets::{SecretStore, SecretsError};
use consul::{
    Acl, Agents, Catalog, ConsulBootstrap, ConsulError, Datacenter, Fields, Grant, Kind, Logins, NewToken, Object,
    OwnToken, Permissions, Release, Token, TokenFilter, TokenSearch,
};
use mesh::{
    admission::AuthMethod,
    arn::{ClusterArn, TaskId},
    catalog::{CatalogNode, HealthCheck, Member, ServiceInstance},
    consul_ecs::{Registration, TASK_ID_META},
    names::ServiceName,
    permissions::Permission,
    secret::{SecretState, StoredSecret},
    settings::Mode,
    tenancy::{Tenancy, TenancyName},
    token::{AccessorId, Grants, ListedToken},
};
use serde_json::Value;

use crate::edges::Edges;

/// The external services, without their writes.
struct Observing(Edges);

/// The services of a mode.
pub(crate) fn in_mode(mode: Mode, edges: Edges) -> Edges {
    if mode.acts() {
        return edges;
    }
    let observing = Arc::new(Observing(edges.clone()));
    Edges { consul: observing.clone(), bootstrap: observing.clone(), secrets: observing, ..edges }
}

/// Logs a call that mode `observe` does not send, with its subject.
macro_rules! observed {
    ($call:expr, $($subject:tt)+) => {
        tracing::info!(action = report::LogAction::Observe.as_str(), outcome = report::LogOutcome::Observed.as_str(), call = $call, $($subject)+)
    };
}

/// The distinct names, joined with commas.
fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: std::collections::BTreeSet<&str> = names.collect();
    names.into_iter().collect::<Vec<_>>().join(", ")
}

#[async_trait]
impl Acl for Observing {
    async fn token(&self, tenancy: &Tenancy, accessor: AccessorId) -> Result<Option<Token>, ConsulError> {
        self.0.consul.token(tenancy, accessor).await
    }

    async fn create_token(&self, new: &NewToken) -> Result<Token, ConsulError> {
        let (accessor, service) = (new.pair.accessor, service_of(new));
        observed!("PUT /v1/acl/token", accessor_id = %accessor, service, description = new.description.as_str());
        let grants = match &new.grant {
            Grant::AsBefore(grants) => grants.clone(),
            Grant::ServiceIdentity(_) | Grant::Policy(_) => Fields::new(),
        };
        let (pair, tenancy) = (new.pair.clone(), new.tenancy.clone());
        Ok(Token { pair, description: new.description.clone(), grants, tenancy })
    }

    async fn update_token(&self, token: &NewToken) -> Result<(), ConsulError> {
        let accessor = token.pair.accessor;
        observed!("PUT /v1/acl/token", accessor_id = %accessor, description = token.description.as_str());
        Ok(())
    }

    async fn delete_token(&self, _: &Tenancy, accessor: AccessorId) -> Result<(), ConsulError> {
        observed!("DELETE /v1/acl/token", accessor_id = %accessor);
        Ok(())
    }

    async fn tokens_with(
        &self,
        tenancy: &Tenancy,
        search: TokenSearch<'_>,
        keep: &TokenFilter<'_>,
    ) -> Result<Option<Vec<ListedToken>>, ConsulError> {
        self.0.consul.tokens_with(tenancy, search, keep).await
    }

    async fn create_policy(&self, policy: &Object) -> Result<(), ConsulError> {
        if self.0.bootstrap.read(policy).await?.is_none() {
            observed!("PUT /v1/acl/policy", object = %policy);
        }
        Ok(())
    }

    async fn delete_policy(&self, policy: &Object) -> Result<bool, ConsulError> {
        let found = match self.0.bootstrap.read(policy).await {
            Err(ConsulError::AclsDisabled { .. }) => None,
            found => found?,
        };
        let description = found.as_ref().and_then(|found| found.get("Description")).and_then(Value::as_str);
        if found.is_none() || description != policy.text("Description") {
            return Ok(false);
        }
        observed!("DELETE /v1/acl/policy", object = %policy);
        Ok(true)
    }
}

/// The service that a new token is for.
fn service_of(new: &NewToken) -> Option<&str> {
    match &new.grant {
        Grant::ServiceIdentity(service) => Some(service.as_str()),
        Grant::Policy(_) | Grant::AsBefore(_) => None,
    }
}

#[async_trait]
impl Logins for Observing {
    async fn datacenter(&self) -> Result<Datacenter, ConsulError> {
        self.0.consul.datacenter().await
    }

    async fn auth_method(&self, tenancy: &Tenancy, name: &str) -> Result<Option<AuthMethod>, ConsulError> {
        self.0.consul.auth_method(tenancy, name).await
    }

    async fn role(&self, tenancy: &Tenancy, name: &str) -> Result<Option<Grants>, ConsulError> {
        self.0.consul.role(tenancy, name).await
    }
}

#[async_trait]
impl Agents for Observing {
    async fn members(&self, tenancy: &Tenancy) -> Result<Vec<Member>, ConsulError> {
        self.0.consul.members(tenancy).await
    }

    async fn force_leave(&self, node: &str, _: &Tenancy) -> Result<(), ConsulError> {
        observed!("PUT /v1/agent/force-leave", node);
        Ok(())
    }
}

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

    async fn checks(
        &self,
        cluster: &ClusterArn,
        tenancy: &Tenancy,
        tasks: &[TaskId],
    ) -> Result<Vec<HealthCheck>, ConsulError> {
        self.0.consul.checks(cluster, tenancy, tasks).await
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

    async fn deregister_checks(&self, checks: &[HealthCheck]) -> Result<(), ConsulError> {
        observed!(
            "PUT /v1/txn",
            cluster_arn = listed(checks.iter().map(|check| check.node.as_str())),
            service = listed(checks.iter().map(|check| check.service_name.as_str())),
            check_id = listed(checks.iter().map(|check| check.id.as_str()))
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

#[async_trait]
impl SecretStore for Observing {
    async fn read(&self, name: &str) -> Result<StoredSecret, SecretsError> {
        self.0.secrets.read(name).await
    }

    async fn write(&self, name: &str, seen: &StoredSecret, state: &SecretState) -> Result<String, SecretsError> {
        let call = match seen.state {
            SecretState::Missing => "secretsmanager:CreateSecret",
            _ => "secretsmanager:PutSecretValue",
        };
        let accessor_id = state.pair().map(|pair| tracing::field::display(pair.accessor));
        observed!(call, secret = name, accessor_id);
        Ok("observed".to_owned())
    }
}

#[async_trait]
impl ConsulBootstrap for Observing {
    async fn is_primary(&self) -> Result<bool, ConsulError> {
        self.0.bootstrap.is_primary().await
    }

    async fn namespaces(&self, partition: &TenancyName) -> Result<Vec<TenancyName>, ConsulError> {
        self.0.bootstrap.namespaces(partition).await
    }

    async fn read(&self, object: &Object) -> Result<Option<Fields>, ConsulError> {
        self.0.bootstrap.read(object).await
    }

    async fn create(&self, object: &Object, _: Fields) -> Result<(), ConsulError> {
        observed!(write(object.kind), %object);
        Ok(())
    }

    async fn update(&self, object: &Object, _: Fields) -> Result<(), ConsulError> {
        observed!(write(object.kind), %object);
        Ok(())
    }
}

#[async_trait]
impl Permissions for Observing {
    async fn missing_permissions(
        &self,
        tenancy: &Tenancy,
        permissions: &[Permission],
    ) -> Result<Vec<Permission>, ConsulError> {
        self.0.bootstrap.missing_permissions(tenancy, permissions).await
    }

    async fn own_token(&self) -> Result<Option<OwnToken>, ConsulError> {
        self.0.bootstrap.own_token().await
    }
}

#[async_trait]
impl Release for Observing {
    async fn version(&self) -> Result<String, ConsulError> {
        self.0.bootstrap.version().await
    }
}

/// The call that writes an object of a kind.
fn write(kind: Kind) -> &'static str {
    match kind {
        Kind::Partition => "PUT /v1/partition",
        Kind::Namespace => "PUT /v1/namespace",
        Kind::Policy => "PUT /v1/acl/policy",
        Kind::Role => "PUT /v1/acl/role",
        Kind::AuthMethod => "PUT /v1/acl/auth-method",
        Kind::BindingRule => "PUT /v1/acl/binding-rule",
        Kind::AnonymousToken => "PUT /v1/acl/token",
        Kind::SyntheticNode => "PUT /v1/catalog/register",
    }
}
