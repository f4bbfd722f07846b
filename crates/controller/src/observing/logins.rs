//! What decides about logins.

use async_trait::async_trait;
use consul::{ConsulError, Datacenter, Logins};
use mesh::{admission::AuthMethod, tenancy::Tenancy, token::Grants};

use super::Observing;

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
