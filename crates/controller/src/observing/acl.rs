//! ACL tokens, policies, and what decides about logins.

use async_trait::async_trait;
use consul::{Acl, ConsulError, Datacenter, Fields, Grant, Logins, NewToken, Object, Token, TokenFilter};
use mesh::{
    admission::AuthMethod,
    tenancy::Tenancy,
    token::{AccessorId, Grants, ListedToken},
};
use serde_json::Value;

use super::Observing;

#[async_trait]
impl Acl for Observing {
    async fn token(&self, tenancy: &Tenancy, accessor: AccessorId) -> Result<Option<Token>, ConsulError> {
        self.0.consul.token(tenancy, accessor).await
    }

    async fn create_token(&self, new: &NewToken) -> Result<Token, ConsulError> {
        let (accessor, service) = (new.pair.accessor, service_of(new));
        observed!("PUT /v1/acl/token", accessor_id = %accessor, service, description = new.description);
        let grants = match &new.grant {
            Grant::AsBefore(grants) => grants.clone(),
            Grant::ServiceIdentity(_) | Grant::Policy(_) => Fields::new(),
        };
        let (pair, tenancy) = (new.pair.clone(), new.tenancy.clone());
        Ok(Token { pair, description: new.description.clone(), grants, tenancy })
    }

    async fn update_token(&self, token: &NewToken) -> Result<(), ConsulError> {
        let accessor = token.pair.accessor;
        observed!("PUT /v1/acl/token", accessor_id = %accessor, description = token.description);
        Ok(())
    }

    async fn delete_token(&self, _: &Tenancy, accessor: AccessorId) -> Result<(), ConsulError> {
        observed!("DELETE /v1/acl/token", accessor_id = %accessor);
        Ok(())
    }

    async fn tokens(&self, tenancy: &Tenancy, keep: &TokenFilter<'_>) -> Result<Option<Vec<ListedToken>>, ConsulError> {
        self.0.consul.tokens(tenancy, keep).await
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
