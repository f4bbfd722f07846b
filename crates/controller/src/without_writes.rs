//! The writes of mode `observe`: each sends nothing, logs what would have been sent, and answers as if it had succeeded.
//!
//! Nothing that the controller would have written is there at the next read. What waits for its own writes asks
//! [`Mode::acts`] first.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use async_trait::async_trait;
use aws::{
    events::{EventPublisher, EventsError},
    queue::{MessageSender, MessageVisibility, QueueError},
    secrets::{SecretWrites, SecretsError},
};
use consul::{
    AgentWrites, CatalogWrites, ConsulError, Fields, Grant, NewToken, Object, ObjectKind, ObjectWrites, Token,
    TokenWrites,
};
use mesh::{
    catalog::{HealthCheck, ServiceInstance},
    consul_ecs::{Registration, TASK_ID_META},
    secret::{SecretState, StoredSecret},
    settings::Mode,
    tenancy::Tenancy,
    token::AccessorId,
};
use observe::{ConsulReads, Reads};
use report::Event;
use serde_json::Value;

use crate::edges::{Edges, SystemEntropy, Writes};

/// Nothing is written. Policies are read, because their deletion depends on what Consul has.
struct WithoutWrites(Arc<dyn ConsulReads>);

/// The writes of a mode.
pub(crate) fn in_mode(mode: Mode, edges: &Edges) -> Writes {
    if mode.acts() {
        return edges.writes.clone();
    }
    let none = Arc::new(WithoutWrites(Arc::clone(&edges.reads.consul)));
    Writes { consul: none.clone(), secrets: none }
}

/// The edges of a controller without a stack: it has no queue and no event bus of its own either.
pub(crate) fn edges(reads: Reads) -> Edges {
    let none = Arc::new(WithoutWrites(Arc::clone(&reads.consul)));
    let writes = Writes { consul: none.clone(), secrets: none.clone() };
    Edges { reads, writes, queue: none.clone(), events: none, entropy: Arc::new(SystemEntropy) }
}

#[async_trait]
impl MessageSender for WithoutWrites {
    async fn send_later(&self, _: &[String], _: Duration) -> Result<(), QueueError> {
        Ok(())
    }
}

#[async_trait]
impl MessageVisibility for WithoutWrites {
    async fn return_after(&self, _: &[(String, Duration)]) -> Result<(), QueueError> {
        Ok(())
    }
}

#[async_trait]
impl EventPublisher for WithoutWrites {
    async fn publish(&self, _: &[Event]) -> Result<(), EventsError> {
        Ok(())
    }
}

/// Logs a call that mode `observe` does not send, with its subject.
macro_rules! not_sent {
    ($call:expr, $($subject:tt)+) => {
        tracing::info!(action = report::LogAction::Observe.as_str(), outcome = report::LogOutcome::Observed.as_str(), call = $call, $($subject)+)
    };
}

/// The distinct names, joined with commas.
fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: BTreeSet<&str> = names.collect();
    names.into_iter().collect::<Vec<_>>().join(", ")
}

#[async_trait]
impl TokenWrites for WithoutWrites {
    async fn create_token(&self, new: &NewToken) -> Result<Token, ConsulError> {
        let (accessor, service) = (new.pair.accessor, service_of(new));
        not_sent!("PUT /v1/acl/token", accessor_id = %accessor, service, description = new.description.as_str());
        let grants = match &new.grant {
            Grant::AsBefore(grants) => grants.clone(),
            Grant::ServiceIdentity(_) | Grant::Policy(_) => Fields::new(),
        };
        let (pair, tenancy) = (new.pair.clone(), new.tenancy.clone());
        Ok(Token { pair, description: new.description.clone(), grants, tenancy })
    }

    async fn update_token(&self, token: &NewToken) -> Result<(), ConsulError> {
        let accessor = token.pair.accessor;
        not_sent!("PUT /v1/acl/token", accessor_id = %accessor, description = token.description.as_str());
        Ok(())
    }

    async fn delete_token(&self, _: &Tenancy, accessor: AccessorId) -> Result<(), ConsulError> {
        not_sent!("DELETE /v1/acl/token", accessor_id = %accessor);
        Ok(())
    }

    async fn create_policy(&self, policy: &Object) -> Result<(), ConsulError> {
        if self.0.read(policy).await?.is_none() {
            not_sent!("PUT /v1/acl/policy", object = %policy);
        }
        Ok(())
    }

    async fn delete_policy(&self, policy: &Object) -> Result<bool, ConsulError> {
        let found = match self.0.read(policy).await {
            Err(ConsulError::AclsDisabled { .. }) => None,
            found => found?,
        };
        let description = found.as_ref().and_then(|found| found.get("Description")).and_then(Value::as_str);
        if found.is_none() || description != policy.text("Description") {
            return Ok(false);
        }
        not_sent!("DELETE /v1/acl/policy", object = %policy);
        Ok(true)
    }
}

fn service_of(new: &NewToken) -> Option<&str> {
    match &new.grant {
        Grant::ServiceIdentity(service) => Some(service.as_str()),
        Grant::Policy(_) | Grant::AsBefore(_) => None,
    }
}

#[async_trait]
impl AgentWrites for WithoutWrites {
    async fn force_leave(&self, node: &str, _: &Tenancy) -> Result<(), ConsulError> {
        not_sent!("PUT /v1/agent/force-leave", node);
        Ok(())
    }
}

const REGISTER: &str = "PUT /v1/catalog/register";
const DEREGISTER: &str = "PUT /v1/catalog/deregister";

#[async_trait]
impl CatalogWrites for WithoutWrites {
    async fn deregister(&self, instances: &[ServiceInstance]) -> Result<(), ConsulError> {
        not_sent!(
            "PUT /v1/txn",
            cluster_arn = listed(instances.iter().map(|instance| instance.node.as_str())),
            task_id = listed(instances.iter().map(|instance| instance.task.as_str())),
            service = listed(instances.iter().map(|instance| instance.name.as_str())),
            service_id = listed(instances.iter().map(|instance| instance.id.as_str()))
        );
        Ok(())
    }

    async fn deregister_checks(&self, checks: &[HealthCheck]) -> Result<(), ConsulError> {
        not_sent!(
            "PUT /v1/txn",
            cluster_arn = listed(checks.iter().map(|check| check.node.as_str())),
            service = listed(checks.iter().map(|check| check.service_name.as_str())),
            check_id = listed(checks.iter().map(|check| check.id.as_str()))
        );
        Ok(())
    }

    async fn set_checks(&self, checks: &[HealthCheck]) -> Result<(), ConsulError> {
        not_sent!(
            REGISTER,
            cluster_arn = listed(checks.iter().map(|check| check.node.as_str())),
            service = listed(checks.iter().map(|check| check.service_name.as_str())),
            check_id = listed(checks.iter().map(|check| check.id.as_str()))
        );
        Ok(())
    }

    async fn deregister_service(&self, node: &str, id: &str, _: &Tenancy) -> Result<(), ConsulError> {
        not_sent!(DEREGISTER, cluster_arn = node, service_id = id);
        Ok(())
    }

    async fn register(&self, registration: &Registration) -> Result<(), ConsulError> {
        not_sent!(
            REGISTER,
            cluster_arn = registration.node,
            task_id = registration.meta.get(TASK_ID_META),
            service = registration.name,
            service_id = registration.id
        );
        Ok(())
    }

    async fn deregister_node(&self, node: &str, _: &Tenancy) -> Result<(), ConsulError> {
        not_sent!(DEREGISTER, cluster_arn = node);
        Ok(())
    }
}

#[async_trait]
impl SecretWrites for WithoutWrites {
    async fn write(&self, name: &str, seen: &StoredSecret, state: &SecretState) -> Result<String, SecretsError> {
        let call = match seen.state {
            SecretState::Missing => "secretsmanager:CreateSecret",
            _ => "secretsmanager:PutSecretValue",
        };
        let accessor_id = state.pair().map(|pair| tracing::field::display(pair.accessor));
        not_sent!(call, secret = name, accessor_id);
        Ok("observed".to_owned())
    }
}

#[async_trait]
impl ObjectWrites for WithoutWrites {
    async fn create(&self, object: &Object, _: Fields) -> Result<(), ConsulError> {
        not_sent!(write(object.kind), %object);
        Ok(())
    }

    async fn update(&self, object: &Object, _: Fields) -> Result<(), ConsulError> {
        not_sent!(write(object.kind), %object);
        Ok(())
    }
}

/// The call that writes an object of a kind.
fn write(kind: ObjectKind) -> &'static str {
    match kind {
        ObjectKind::Partition => "PUT /v1/partition",
        ObjectKind::Namespace => "PUT /v1/namespace",
        ObjectKind::Policy => "PUT /v1/acl/policy",
        ObjectKind::Role => "PUT /v1/acl/role",
        ObjectKind::AuthMethod => "PUT /v1/acl/auth-method",
        ObjectKind::BindingRule => "PUT /v1/acl/binding-rule",
        ObjectKind::AnonymousToken => "PUT /v1/acl/token",
        ObjectKind::SyntheticNode => REGISTER,
    }
}
