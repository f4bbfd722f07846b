//! Consul's HTTP API, as far as the controller needs it.
//!
//! Every call may be repeated: tokens are created as a given pair, policies under a name, and a transaction compares
//! before it deletes.

mod acl;
mod address;
mod bootstrap;
mod catalog;
mod credential;
mod endpoints;
mod error;
mod http;
mod members;
mod partitions;
mod request;
mod servers;
mod tls;

use std::sync::Arc;

use async_trait::async_trait;

pub use self::{
    address::{ConsulAddresses, ConsulUrls, EcsServers},
    bootstrap::{ConsulBootstrap, Fields},
    credential::CredentialSource,
    error::ConsulError,
    http::RetryPolicy,
    servers::{NoServers, Server, ServerSource},
    tls::{TlsSettings, choose_tls_backend},
};
use self::{http::Http, request::Request};
use mesh::{
    arn::{ClusterArn, TaskId},
    catalog::{CatalogNode, HealthCheck, Member, ServiceInstance},
    service_name::ServiceName,
    tenancy::{Tenancy, TenancyName},
    token::{AccessorId, ListedToken, NewToken, Token},
};

/// The most operations that one transaction takes, on every version of Consul.
pub const MAX_TRANSACTION_OPERATIONS: usize = 64;

/// What the controller needs of Consul.
#[async_trait]
pub trait Consul: Send + Sync {
    /// The token with this accessor ID. `None` only where its absence is proven: `ACL not found` and status 404 are
    /// believed only after the controller's own token was seen to be good.
    async fn token(&self, tenancy: &Tenancy, accessor: AccessorId) -> Result<Option<Token>, ConsulError>;

    /// Creates a token with both halves given.
    ///
    /// Consul refuses an accessor ID that exists, but it does not lock: of two concurrent creations with one accessor ID
    /// and *different* secret halves both may succeed, and one of them can then never be deleted. So the secret half is
    /// agreed upon first, so that concurrent creations are of the same pair.
    ///
    /// # Errors
    /// [`ConsulError::Conflict`] where a token with this accessor ID exists.
    async fn create_token(&self, new: &NewToken) -> Result<Token, ConsulError>;

    /// Gives a token another description and other grants; what is not given, it has no more. Its secret half has to be
    /// given as it is.
    ///
    /// # Errors
    /// [`ConsulError::NotFound`] where it was deleted meanwhile.
    async fn update_token(&self, token: &NewToken) -> Result<(), ConsulError>;

    /// Deletes a token; one that is not there is deleted already.
    async fn delete_token(&self, tenancy: &Tenancy, accessor: AccessorId) -> Result<(), ConsulError>;

    /// All tokens of the tenancy's partition, without their secret halves.
    async fn tokens(&self, tenancy: &Tenancy) -> Result<Vec<ListedToken>, ConsulError>;

    /// Creates the policy that client agents' tokens carry, if there is none of that name.
    async fn ensure_client_policy(&self, tenancy: &Tenancy, name: &str) -> Result<(), ConsulError>;

    /// Deletes that policy, if it is there and was made by a controller; whether it did.
    async fn delete_client_policy(&self, tenancy: &Tenancy, name: &str) -> Result<bool, ConsulError>;

    /// The admin partitions (Enterprise), without those that are being deleted, and all that is in them with them.
    async fn partitions(&self) -> Result<Vec<TenancyName>, ConsulError>;

    /// The service instances on the cluster's synthetic node whose meta names one of `tasks`.
    async fn instances(
        &self,
        cluster: &ClusterArn,
        tenancy: &Tenancy,
        tasks: &[TaskId],
    ) -> Result<Vec<ServiceInstance>, ConsulError>;

    /// The instances of a service, on whatever node, whose meta names one of `tasks`.
    async fn instances_of(
        &self,
        service: &ServiceName,
        tenancy: &Tenancy,
        tasks: &[TaskId],
    ) -> Result<Vec<ServiceInstance>, ConsulError>;

    /// All that is registered on a node, in every namespace of the tenancy's partition; `None` if there is no such node.
    async fn node(&self, name: &str, tenancy: &Tenancy) -> Result<Option<CatalogNode>, ConsulError>;

    /// The health checks of a node, in the tenancy's namespace.
    async fn node_checks(&self, node: &str, tenancy: &Tenancy) -> Result<Vec<HealthCheck>, ConsulError>;

    /// The agents of the tenancy's partition.
    async fn members(&self, tenancy: &Tenancy) -> Result<Vec<Member>, ConsulError>;

    /// Makes Consul forget a failed agent, and takes its node out of the catalog.
    async fn force_leave(&self, node: &str, tenancy: &Tenancy) -> Result<(), ConsulError>;

    /// Takes a node out of the catalog, and all that is on it.
    async fn deregister_node(&self, node: &str, tenancy: &Tenancy) -> Result<(), ConsulError>;

    /// Takes one check out of the catalog.
    async fn deregister_check(&self, check: &HealthCheck) -> Result<(), ConsulError>;

    /// The health checks of `instances`, which are all of one node and tenancy.
    async fn checks(&self, instances: &[ServiceInstance]) -> Result<Vec<HealthCheck>, ConsulError>;

    /// Takes up to [`MAX_TRANSACTION_OPERATIONS`] instances of one partition out of the catalog, and their checks with
    /// them, in one transaction: all or nothing.
    ///
    /// # Errors
    /// [`ConsulError::Conflict`] where an instance has changed since it was seen: look again.
    async fn deregister(&self, instances: &[ServiceInstance]) -> Result<(), ConsulError>;

    /// Registers checks of one node and tenancy as they should be, in one write: those that are new, and those that are
    /// there already.
    ///
    /// # Errors
    /// [`ConsulError::Conflict`] where an instance is registered no more: look again.
    async fn set_checks(&self, checks: &[HealthCheck]) -> Result<(), ConsulError>;
}

/// A real Consul datacenter.
pub struct HttpConsul {
    http: Http,
}

impl HttpConsul {
    /// A client that looks for its servers, and reads its token from `credential`, at the first call.
    ///
    /// # Errors
    /// The CA certificate or the server name is not usable.
    pub fn new(
        servers: Arc<dyn ServerSource>,
        tls: &TlsSettings,
        credential: Arc<dyn CredentialSource>,
        retry_policy: RetryPolicy,
    ) -> Result<Self, String> {
        Ok(Self { http: Http::new(servers, tls, credential, retry_policy)? })
    }
}

/// Names the partition and the namespace, only where they are configured: Community Edition refuses them.
fn within(request: Request, tenancy: &Tenancy) -> Request {
    match tenancy {
        Tenancy::Community => request,
        Tenancy::Enterprise { partition, namespace } => {
            request.query("partition", partition.as_str()).query("ns", namespace.as_str())
        }
    }
}

#[async_trait]
impl Consul for HttpConsul {
    async fn token(&self, tenancy: &Tenancy, accessor: AccessorId) -> Result<Option<Token>, ConsulError> {
        acl::token(&self.http, tenancy, accessor).await
    }

    async fn create_token(&self, new: &NewToken) -> Result<Token, ConsulError> {
        acl::create_token(&self.http, new).await
    }

    async fn delete_token(&self, tenancy: &Tenancy, accessor: AccessorId) -> Result<(), ConsulError> {
        acl::delete_token(&self.http, tenancy, accessor).await
    }

    async fn tokens(&self, tenancy: &Tenancy) -> Result<Vec<ListedToken>, ConsulError> {
        acl::tokens(&self.http, tenancy).await
    }

    async fn ensure_client_policy(&self, tenancy: &Tenancy, name: &str) -> Result<(), ConsulError> {
        acl::ensure_client_policy(&self.http, tenancy, name).await
    }

    async fn instances(
        &self,
        cluster: &ClusterArn,
        tenancy: &Tenancy,
        tasks: &[TaskId],
    ) -> Result<Vec<ServiceInstance>, ConsulError> {
        catalog::instances(&self.http, cluster, tenancy, tasks).await
    }

    async fn checks(&self, instances: &[ServiceInstance]) -> Result<Vec<HealthCheck>, ConsulError> {
        catalog::checks(&self.http, instances).await
    }

    async fn deregister(&self, instances: &[ServiceInstance]) -> Result<(), ConsulError> {
        catalog::deregister(&self.http, instances).await
    }

    async fn set_checks(&self, checks: &[HealthCheck]) -> Result<(), ConsulError> {
        catalog::set_checks(&self.http, checks).await
    }

    async fn update_token(&self, token: &NewToken) -> Result<(), ConsulError> {
        acl::update_token(&self.http, token).await
    }

    async fn delete_client_policy(&self, tenancy: &Tenancy, name: &str) -> Result<bool, ConsulError> {
        acl::delete_own_policy(&self.http, tenancy, name).await
    }

    async fn partitions(&self) -> Result<Vec<TenancyName>, ConsulError> {
        partitions::partitions(&self.http).await
    }

    async fn instances_of(
        &self,
        service: &ServiceName,
        tenancy: &Tenancy,
        tasks: &[TaskId],
    ) -> Result<Vec<ServiceInstance>, ConsulError> {
        catalog::instances_of(&self.http, service, tenancy, tasks).await
    }

    async fn node(&self, name: &str, tenancy: &Tenancy) -> Result<Option<CatalogNode>, ConsulError> {
        catalog::node(&self.http, name, tenancy).await
    }

    async fn node_checks(&self, node: &str, tenancy: &Tenancy) -> Result<Vec<HealthCheck>, ConsulError> {
        catalog::node_checks(&self.http, node, tenancy).await
    }

    async fn members(&self, tenancy: &Tenancy) -> Result<Vec<Member>, ConsulError> {
        members::members(&self.http, tenancy).await
    }

    async fn force_leave(&self, node: &str, tenancy: &Tenancy) -> Result<(), ConsulError> {
        members::force_leave(&self.http, node, tenancy).await
    }

    async fn deregister_node(&self, node: &str, tenancy: &Tenancy) -> Result<(), ConsulError> {
        members::deregister_node(&self.http, node, tenancy).await
    }

    async fn deregister_check(&self, check: &HealthCheck) -> Result<(), ConsulError> {
        members::deregister_check(&self.http, check).await
    }
}
