//! What the controller reads and creates when it is set up.

use async_trait::async_trait;
use consul::{
    ConsulError, Fields, Object, ObjectKind, ObjectReads, ObjectWrites, OwnToken, Permissions, ServerVersion,
};
use mesh::{
    permissions::Permission,
    tenancy::{Tenancy, TenancyName},
};

use super::ConsulEdge;

fn not_simulated() -> ConsulError {
    ConsulError::Refused { subject: "set-up".to_owned(), status: 500, reason: "not simulated".to_owned() }
}

#[async_trait]
impl ObjectReads for ConsulEdge {
    async fn is_primary(&self) -> Result<bool, ConsulError> {
        Err(not_simulated())
    }

    async fn namespaces(&self, _: &TenancyName) -> Result<Vec<TenancyName>, ConsulError> {
        Err(not_simulated())
    }

    /// Only of policies, which mode `observe` reads instead of writing them.
    async fn read(&self, object: &Object) -> Result<Option<Fields>, ConsulError> {
        if object.kind != ObjectKind::Policy {
            return Err(not_simulated());
        }
        Ok(self.policy(object).await?.map(|()| object.body.clone()))
    }
}

#[async_trait]
impl ObjectWrites for ConsulEdge {
    async fn create(&self, _: &Object, _: Fields) -> Result<(), ConsulError> {
        Err(not_simulated())
    }

    async fn update(&self, _: &Object, _: Fields) -> Result<(), ConsulError> {
        Err(not_simulated())
    }
}

#[async_trait]
impl Permissions for ConsulEdge {
    /// The controller's token has them all.
    async fn missing_permissions(&self, _: &Tenancy, _: &[Permission]) -> Result<Vec<Permission>, ConsulError> {
        self.call(|| "POST authorize".to_owned(), |_| Ok(Vec::new())).await
    }

    async fn own_token(&self) -> Result<Option<OwnToken>, ConsulError> {
        Err(not_simulated())
    }
}

#[async_trait]
impl ServerVersion for ConsulEdge {
    async fn version(&self) -> Result<String, ConsulError> {
        Err(not_simulated())
    }
}
