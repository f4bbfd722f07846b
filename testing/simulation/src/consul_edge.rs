//! Simulated Consul, as one environment reaches it. Unsuccessful answers are treated as [`consul::HttpConsul`] treats them.

use std::sync::MutexGuard;

use async_trait::async_trait;
use consul::{
    AgentReads, AgentWrites, CatalogReads, CatalogWrites, ConsulError, NewToken, Object, ObjectReads as _,
    ObjectWrites as _, Refusal, Token, TokenFilter, TokenOwner, TokenReads, TokenSearch, TokenWrites, classify,
};
use mesh::{
    arn::{ClusterArn, TaskId},
    catalog::{CatalogNode, HealthCheck, Member, ServiceInstance},
    consul_ecs::Registration,
    names::ServiceName,
    tenancy::{Tenancy, TenancyName},
    token::{AccessorId, ListedToken},
};

use super::{
    calls::{Connection, Fault, Service},
    dialect::{Answer, Dialect},
    world::World,
};

/// The subject of an error, unless it is an object.
const SUBJECT: &str = "call";

/// Consul's edge.
pub(crate) struct ConsulEdge {
    pub(crate) connection: Connection,
    pub(crate) dialect: Dialect,
}

fn classified(subject: &str, answer: &Answer) -> Refusal {
    classify(subject, TokenOwner::Controller, answer.status, None, &answer.text)
}

/// What an answer becomes. If it is ambiguous, `own_token` decides: the answer to the request for the controller's own token.
fn error(subject: &str, answer: &Answer, own_token: Result<(), Answer>) -> ConsulError {
    let classified = |answer: &Answer| classified(subject, answer);
    let (refusal, own_token) = (classified(answer), own_token.map_err(|answer| classified(&answer)));
    let subject = subject.to_owned();
    match (refusal, own_token) {
        (Refusal::Ambiguous, Ok(())) => ConsulError::NotFound { subject },
        (Refusal::Ambiguous, Err(Refusal::Ambiguous)) => {
            ConsulError::CredentialRejected { subject, token: TokenOwner::Controller }
        }
        (Refusal::NoServers(error) | Refusal::Known(error), _)
        | (_, Err(Refusal::NoServers(error) | Refusal::Known(error))) => error,
    }
}

impl ConsulEdge {
    pub(crate) fn world(&self) -> MutexGuard<'_, World> {
        self.connection.shared.world.lock().unwrap()
    }

    pub(crate) async fn call<T: std::fmt::Debug + Send + 'static>(
        &self,
        label: impl FnOnce() -> String,
        effect: impl FnMut(&mut World) -> Result<T, Answer> + Send + 'static,
    ) -> Result<T, ConsulError> {
        self.call_about(SUBJECT.to_owned(), label, effect).await
    }

    /// A call whose errors are about this subject.
    async fn call_about<T: std::fmt::Debug + Send + 'static>(
        &self,
        subject: String,
        label: impl FnOnce() -> String,
        effect: impl FnMut(&mut World) -> Result<T, Answer> + Send + 'static,
    ) -> Result<T, ConsulError> {
        self.call_refused_by(|_| Answer::unknown_credential(), subject, label, effect).await
    }

    /// A call, and the answer to it if Consul does not know the controller's token.
    async fn call_refused_by<T: std::fmt::Debug + Send + 'static>(
        &self,
        unknown_credential: fn(Dialect) -> Answer,
        subject: String,
        label: impl FnOnce() -> String,
        mut effect: impl FnMut(&mut World) -> Result<T, Answer> + Send + 'static,
    ) -> Result<T, ConsulError> {
        let (dialect, failed) = (self.dialect, subject.clone());
        let effect = move |world: &mut World| effect(world).map_err(|answer| error(&subject, &answer, Ok(())));
        let failure = move |fault| match fault {
            Fault::Throttled => error(&failed, &Answer::throttled(), Ok(())),
            Fault::Unavailable => error(&failed, &Answer::no_leader(), Ok(())),
            Fault::Credential => {
                error(&failed, &unknown_credential(dialect), Err(dialect.unknown_credential_reads_itself()))
            }
            Fault::NoAnswer => no_answer(&failed),
        };
        self.connection.call(Service::Consul, label, effect, failure).await
    }
}

/// What an answer found, if it found something.
fn found<T>(answer: Result<T, ConsulError>) -> Result<Option<T>, ConsulError> {
    match answer {
        Err(ConsulError::NotFound { .. }) => Ok(None),
        answer => answer.map(Some),
    }
}

fn no_answer(subject: &str) -> ConsulError {
    ConsulError::Unavailable { subject: subject.to_owned(), reason: "timed out".to_owned(), had_no_effect: false }
}

#[async_trait]
impl TokenReads for ConsulEdge {
    async fn token(&self, tenancy: &Tenancy, accessor: AccessorId) -> Result<Option<Token>, ConsulError> {
        let tenancy = tenancy.clone();
        found(self.call(|| format!("GET token {accessor}"), move |world| world.token(&tenancy, accessor)).await)
    }

    async fn tokens_with(
        &self,
        tenancy: &Tenancy,
        search: TokenSearch<'_>,
        keep: &TokenFilter<'_>,
    ) -> Result<Option<Vec<ListedToken>>, ConsulError> {
        let tenancy = tenancy.clone();
        let service = search.service.filter(|_| self.dialect.filters_tokens_by_service()).cloned();
        let label = || format!("GET tokens of {service:?}");
        let asked = service.clone();
        let mut all = self.call(label, move |world| Ok(world.listed_tokens(&tenancy, asked.as_ref()))).await?;
        let has_text = |token: &ListedToken| search.texts.iter().any(|text| token.description.as_str().contains(text));
        all.retain(|token| (search.texts.is_empty() || has_text(token)) && keep(token));
        Ok(Some(all))
    }
}

#[async_trait]
impl TokenWrites for ConsulEdge {
    async fn create_token(&self, new: &NewToken) -> Result<Token, ConsulError> {
        let asked = new.clone();
        let label = || format!("PUT token {}: the check", new.pair.accessor);
        self.call(label, move |world| world.check_new_token(&asked)).await?;
        let (asked, mut is_done) = (new.clone(), false);
        let label = || format!("PUT token {} {:?}: the write", new.pair.accessor, new.description.as_str());
        let effect = move |world: &mut World| {
            // The client has retried its request.
            if std::mem::replace(&mut is_done, true) {
                world.check_new_token(&asked)?;
            }
            Ok(world.commit_token(&asked))
        };
        self.call(label, effect).await
    }

    async fn update_token(&self, token: &NewToken) -> Result<(), ConsulError> {
        let asked = token.clone();
        let label = || format!("PUT token {} {:?}: update", token.pair.accessor, token.description.as_str());
        self.call(label, move |world| world.update_token(&asked)).await.map(drop)
    }

    async fn delete_token(&self, _: &Tenancy, accessor: AccessorId) -> Result<(), ConsulError> {
        let (subject, label) = (SUBJECT.to_owned(), || format!("DELETE token {accessor}"));
        let refused_by = Dialect::unknown_credential_deletes_token;
        let deleted = self.call_refused_by(refused_by, subject, label, move |world| world.delete_token(accessor));
        found(deleted.await).map(drop)
    }

    async fn create_policy(&self, policy: &Object) -> Result<(), ConsulError> {
        match self.create(policy, policy.body.clone()).await {
            Ok(()) | Err(ConsulError::Conflict { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    async fn delete_policy(&self, policy: &Object) -> Result<bool, ConsulError> {
        if self.read(policy).await?.is_none() {
            return Ok(false);
        }
        let asked = policy.clone();
        found(self.call(|| format!("DELETE {policy}"), move |world| world.delete_policy(&asked)).await)?;
        Ok(true)
    }
}

#[async_trait]
impl CatalogReads for ConsulEdge {
    async fn partitions(&self) -> Result<Vec<TenancyName>, ConsulError> {
        self.call(|| "GET partitions".to_owned(), |world| world.partitions()).await
    }

    async fn instances(
        &self,
        cluster: &ClusterArn,
        tenancy: &Tenancy,
        tasks: &[TaskId],
    ) -> Result<Option<Vec<ServiceInstance>>, ConsulError> {
        let (node, tenancy, asked) = (cluster.as_str().to_owned(), tenancy.clone(), tasks.to_vec());
        let label = || format!("GET instances of {tasks:?}");
        self.call(label, move |world| Ok(world.instances_on(&node, &tenancy, &asked))).await
    }

    async fn instances_of(
        &self,
        service: &ServiceName,
        tenancy: &Tenancy,
        tasks: &[TaskId],
    ) -> Result<Vec<ServiceInstance>, ConsulError> {
        let (name, tenancy, asked) = (service.to_string(), tenancy.clone(), tasks.to_vec());
        let label = || format!("GET instances of {service}, {tasks:?}");
        self.call(label, move |world| Ok(world.instances_of(&name, &tenancy, &asked))).await
    }

    async fn synthetic_nodes(&self, _: &Tenancy) -> Result<Vec<String>, ConsulError> {
        self.call(|| "GET synthetic nodes".to_owned(), |world| Ok(world.synthetic_nodes())).await
    }

    async fn node(&self, name: &str, tenancy: &Tenancy) -> Result<Option<CatalogNode>, ConsulError> {
        let (asked, tenancy) = (name.to_owned(), tenancy.clone());
        let read = self.call(|| format!("GET node {name}"), move |world| Ok(world.node(&asked, &tenancy))).await;
        self.world().was_node_read(self.connection.environment, name, read.as_ref());
        read
    }

    async fn node_checks(&self, node: &str, _: &Tenancy) -> Result<Vec<HealthCheck>, ConsulError> {
        let asked = node.to_owned();
        let effect = move |world: &mut World| Ok((world.now, world.node_checks(&asked)));
        let (at, checks) = self.call(|| format!("GET checks of {node}"), effect).await?;
        self.world().were_checks_read(self.connection.environment, node, at, &checks);
        Ok(checks)
    }

    async fn checks(
        &self,
        cluster: &ClusterArn,
        _: &Tenancy,
        tasks: &[TaskId],
    ) -> Result<Vec<HealthCheck>, ConsulError> {
        if tasks.is_empty() {
            return Ok(Vec::new());
        }
        let (node, asked) = (cluster.to_string(), tasks.to_vec());
        self.call(|| "GET checks".to_owned(), move |world| Ok(world.checks_of(&node, &asked))).await
    }
}

#[async_trait]
impl CatalogWrites for ConsulEdge {
    async fn deregister(&self, instances: &[ServiceInstance]) -> Result<(), ConsulError> {
        let asked = instances.to_vec();
        let label = || format!("PUT txn: delete {:?}", instances.iter().map(|i| &i.id).collect::<Vec<_>>());
        self.call(label, move |world| world.deregister(&asked)).await
    }

    async fn deregister_checks(&self, checks: &[HealthCheck]) -> Result<(), ConsulError> {
        let asked = checks.to_vec();
        let label = || format!("PUT txn: delete {:?}", checks.iter().map(|check| &check.id).collect::<Vec<_>>());
        self.call(label, move |world| world.deregister_checks(&asked)).await
    }

    async fn set_checks(&self, checks: &[HealthCheck]) -> Result<(), ConsulError> {
        let asked = checks.to_vec();
        self.world().check_may_correct(self.connection.environment, checks);
        let label = || format!("PUT checks {:?}", checks.iter().map(|check| &check.id).collect::<Vec<_>>());
        self.call(label, move |world| world.set_checks(&asked)).await
    }

    async fn register(&self, registration: &Registration) -> Result<(), ConsulError> {
        let (asked, environment) = (registration.clone(), self.connection.environment);
        let sweep_began = {
            let mut world = self.world();
            world.check_may_register(environment, registration);
            world.check_admitted(&registration.id);
            world.sweep_reads.get(&environment).map(|sweep| sweep.began)
        };
        let effect = move |world: &mut World| {
            world.register_again(&asked);
            world.was_registered(environment, sweep_began, &asked);
            Ok(())
        };
        self.call(|| format!("PUT register {}", registration.id), effect).await
    }

    async fn deregister_service(&self, node: &str, id: &str, _: &Tenancy) -> Result<(), ConsulError> {
        let (node, asked) = (node.to_owned(), id.to_owned());
        let effect = move |world: &mut World| {
            world.deregister_service(&node, &asked);
            Ok(())
        };
        self.call(|| format!("PUT deregister service {id}"), effect).await
    }

    async fn deregister_node(&self, node: &str, _: &Tenancy) -> Result<(), ConsulError> {
        let asked = node.to_owned();
        let effect = move |world: &mut World| {
            world.deregister_node(&asked);
            Ok(())
        };
        self.call(|| format!("PUT deregister node {node}"), effect).await
    }
}

#[async_trait]
impl AgentReads for ConsulEdge {
    async fn members(&self, _: &Tenancy) -> Result<Vec<Member>, ConsulError> {
        self.call(|| "GET members".to_owned(), |world| Ok(world.members())).await
    }
}

#[async_trait]
impl AgentWrites for ConsulEdge {
    async fn force_leave(&self, node: &str, _: &Tenancy) -> Result<(), ConsulError> {
        let asked = node.to_owned();
        match self.call(|| format!("PUT force-leave {node}"), move |world| world.force_leave(&asked)).await {
            Err(ConsulError::Refused { reason, .. }) if reason.contains("No node found") => Ok(()),
            answer => answer,
        }
    }
}

mod objects;
#[cfg(test)]
mod tests;
