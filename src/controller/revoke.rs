//! Revoking the token of an idle service: delete, then verify.
//!
//! What is deleted is remembered. If the look afterwards finds a living task, or cannot be had, the same tokens are put
//! back, so that a task which started in between keeps a valid one. Only a revocation that stands blanks the secret; and
//! because ECS's lists may lag behind, another look follows it.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use futures::{StreamExt, stream};
use tokio::time::timeout;
use tracing::{info, warn};

use super::{CONCURRENCY, Controller, ControllerError, Deadline, ECS_LAG, message::Message};
use crate::{
    consul::ConsulError,
    mesh::{
        arn::{ClusterArn, TaskArn},
        identity::MeshService,
        idleness::{Idleness, ServiceTask, judge},
        plan::TokenMode,
        secret::{SecretState, StoredSecret},
        token::{AccessorId, Grant, NewToken, Token, TokenHolder},
    },
    secrets::SecretsError,
};

/// No deletion is begun with less time than this: what follows it has to fit in.
const TIME_TO_REVOKE: Duration = Duration::from_secs(30);
/// The share of it that the deletions may take, and the look afterwards. The rest is kept for putting back.
const TIME_TO_DELETE: Duration = Duration::from_secs(6);
const TIME_TO_VERIFY: Duration = Duration::from_secs(10);

/// How each look that failed did.
pub(super) type LookFailures = BTreeMap<MeshService, Arc<ControllerError>>;

impl Controller {
    /// Looks at services that lost a task a grace period ago, and revokes the tokens of those that are idle.
    pub(super) async fn check_idleness(&self, services: Vec<MeshService>, deadline: Deadline) -> LookFailures {
        if services.is_empty() {
            return LookFailures::new();
        }
        let tasks = match deadline.run(self.all_service_tasks()).await {
            Ok(tasks) => tasks,
            Err(error) => {
                let error = Arc::new(error);
                return services.into_iter().map(|service| (service, Arc::clone(&error))).collect();
            }
        };
        let looks = services.into_iter().map(|service| {
            let tasks = &tasks;
            async move { self.look(&service, tasks, deadline).await.map_err(|error| (service, Arc::new(error))).err() }
        });
        stream::iter(looks).buffer_unordered(CONCURRENCY).filter_map(std::future::ready).collect().await
    }

    async fn look(
        &self,
        service: &MeshService,
        tasks: &[ServiceTask],
        deadline: Deadline,
    ) -> Result<(), ControllerError> {
        let holder = TokenHolder::Service(service.clone());
        match judge(service, tasks, self.edges.clock.now(), self.scope.grace) {
            Idleness::Living(task) => {
                info!(action = "revoke", outcome = "kept", service = %service.name, task_id = %task.id(), "the service has a task");
                // A revocation may have died between its deletion and its verification.
                match self.cluster_of(&task) {
                    Some(cluster) if self.scope.mode == TokenMode::SecretsManager => {
                        deadline.run(self.provision_for_living(&holder, cluster)).await
                    }
                    _ => Ok(()),
                }
            }
            Idleness::RecentlyStopped(task) => {
                info!(action = "revoke", outcome = "kept", service = %service.name, task_id = %task.id(), "a task stopped a moment ago");
                Ok(())
            }
            Idleness::Idle => self.revoke(&holder, service, deadline).await,
        }
    }

    async fn revoke(
        &self,
        holder: &TokenHolder,
        service: &MeshService,
        deadline: Deadline,
    ) -> Result<(), ControllerError> {
        let (secret, tokens) = deadline.run(self.revocable_tokens(holder)).await?;
        self.distrust(holder);
        if tokens.is_empty() {
            return deadline.run(self.blank_secret(holder, &secret, &tokens)).await;
        }
        if deadline.left() < TIME_TO_REVOKE {
            return Err(ControllerError::OutOfTime);
        }
        let verdict = match within(TIME_TO_DELETE, self.delete_all(holder, &tokens)).await {
            Ok(()) => within(TIME_TO_VERIFY, self.all_service_tasks()).await,
            Err(error) => Err(error),
        };
        match verdict.map(|tasks| judge(service, &tasks, self.edges.clock.now(), self.scope.grace)) {
            Ok(Idleness::Idle | Idleness::RecentlyStopped(_)) => {
                for token in &tokens {
                    info!(action = "revoke", outcome = "done", service = %service.name, accessor_id = %token.pair.accessor);
                }
                self.blank_secret(holder, &secret, &tokens).await?;
                self.look_again(service).await
            }
            Ok(Idleness::Living(task)) => {
                info!(action = "revoke", outcome = "put_back", service = %service.name, task_id = %task.id(), "a task appeared meanwhile");
                self.put_back(holder, &tokens).await?;
                match self.cluster_of(&task) {
                    Some(cluster) if self.scope.mode == TokenMode::SecretsManager => {
                        self.provision_for_living(holder, cluster).await
                    }
                    _ => Ok(()),
                }
            }
            // Not knowing is no licence to leave a living task without its token.
            Err(error) => {
                warn!(action = "revoke", outcome = "put_back", service = %service.name, reason = %error);
                self.put_back(holder, &tokens).await?;
                Err(error)
            }
        }
    }

    /// The holder's secret, and its tokens that bear our marks: the derived one, and one of the old controller's that the
    /// secret still holds.
    async fn revocable_tokens(&self, holder: &TokenHolder) -> Result<(StoredSecret, Vec<Token>), ControllerError> {
        let secret = self.edges.secrets.read(&self.secret_name(holder)?).await?;
        let derived = AccessorId::derived(holder, &self.scope.names);
        let held = secret.state.pair().map(|pair| pair.accessor).filter(|accessor| *accessor != derived);
        let mut tokens = Vec::new();
        for accessor in [Some(derived), held].into_iter().flatten() {
            let token = self.edges.consul.token(holder.tenancy(), accessor).await?;
            tokens.extend(token.filter(|token| self.bears_our_marks(&token.description, holder)));
        }
        Ok((secret, tokens))
    }

    async fn delete_all(&self, holder: &TokenHolder, tokens: &[Token]) -> Result<(), ControllerError> {
        for token in tokens {
            self.edges.consul.delete_token(holder.tenancy(), token.pair.accessor).await?;
        }
        Ok(())
    }

    /// Puts the tokens back as they were: both halves, description and grants.
    async fn put_back(&self, holder: &TokenHolder, tokens: &[Token]) -> Result<(), ControllerError> {
        for token in tokens {
            let new = NewToken {
                pair: token.pair.clone(),
                description: token.description.clone(),
                grant: Grant::AsBefore(token.grants.clone()),
                tenancy: holder.tenancy().clone(),
            };
            match self.edges.consul.create_token(&new).await {
                // In use: it was never deleted, or an event of the new task was faster.
                Ok(_) | Err(ConsulError::Conflict { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Blanks the secret, then makes sure that no token was made meanwhile: the last writer has to be right.
    async fn blank_secret(
        &self,
        holder: &TokenHolder,
        secret: &StoredSecret,
        revoked: &[Token],
    ) -> Result<(), ControllerError> {
        let SecretState::Holds(held) = &secret.state else { return Ok(()) };
        let derived = AccessorId::derived(holder, &self.scope.names);
        let is_ours = revoked.iter().any(|token| token.pair.accessor == held.accessor);
        // A derived pair that Consul does not know is what a crash has left.
        let is_dead = held.accessor == derived && revoked.is_empty();
        if is_dead && self.edges.consul.token(holder.tenancy(), derived).await?.is_some() {
            return Ok(());
        }
        if !is_ours && !is_dead {
            return Ok(());
        }
        match self.edges.secrets.write(&self.secret_name(holder)?, secret, None).await {
            Ok(()) => {
                info!(action = "blank_secret", outcome = "done", holder = %holder, accessor_id = %held.accessor);
            }
            // A task has started, and its pair stands there now.
            Err(SecretsError::Changed { .. }) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
        if let Some(token) = self.edges.consul.token(holder.tenancy(), derived).await? {
            let blank = self.edges.secrets.read(&self.secret_name(holder)?).await?;
            if !matches!(blank.state, SecretState::Holds(_)) {
                self.edges.secrets.write(&self.secret_name(holder)?, &blank, Some(&token.pair)).await?;
            }
        }
        Ok(())
    }

    /// Asks for another look when ECS's lists have caught up with whatever started during the revocation.
    async fn look_again(&self, service: &MeshService) -> Result<(), ControllerError> {
        let delay = Duration::try_from(ECS_LAG).unwrap_or_default();
        Ok(self.edges.queue.send_later(&[Message::idle_check(service)], delay).await?)
    }

    fn cluster_of(&self, task: &TaskArn) -> Option<&ClusterArn> {
        self.scope.clusters.iter().find(|cluster| task.is_in(cluster))
    }
}

async fn within<T>(
    time: Duration,
    work: impl Future<Output = Result<T, ControllerError>>,
) -> Result<T, ControllerError> {
    timeout(time, work).await.unwrap_or(Err(ControllerError::OutOfTime))
}
