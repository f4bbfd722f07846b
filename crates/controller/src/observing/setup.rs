//! What the bootstrap writes.

use async_trait::async_trait;
use consul::{ConsulBootstrap, ConsulError, Fields, Kind, Object, OwnToken, Permissions, Release};
use mesh::{
    permission::Permission,
    tenancy::{Tenancy, TenancyName},
};

use super::Observing;

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
