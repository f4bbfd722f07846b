//! Revoking the token of an idle service: delete, then verify.
//!
//! The pair that is deleted is remembered. If the look afterwards finds a living task, the same pair is put back, so
//! that a task which started in between keeps a valid token. Only a revocation that stands blanks the secret.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use futures::{StreamExt, stream};
use tracing::info;

use super::{CONCURRENCY, Controller, ControllerError, Deadline};
use crate::{
    consul::ConsulError,
    mesh::{
        arn::{ClusterArn, TaskArn},
        identity::MeshService,
        idleness::{Idleness, ServiceTask, judge},
        plan::TokenMode,
        secret::SecretState,
        token::{AccessorId, Token, TokenHolder},
    },
};

/// The time that a revocation needs at most: none is begun with less, so that a deletion is always verified.
const REVOCATION_TIME: Duration = Duration::from_secs(20);

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
            Idleness::Idle if deadline.left() < REVOCATION_TIME => Err(ControllerError::OutOfTime),
            Idleness::Idle => self.revoke(&holder, service).await,
        }
    }

    async fn revoke(&self, holder: &TokenHolder, service: &MeshService) -> Result<(), ControllerError> {
        let secret = self.edges.secrets.read(&self.secret_name(holder)?).await?;
        let tokens = self.revocable_tokens(holder, &secret).await?;
        self.distrust(holder);
        for token in &tokens {
            self.edges.consul.delete_token(holder.tenancy(), token.pair.accessor).await?;
        }
        let after = self.all_service_tasks().await;
        let verdict = after.map(|tasks| judge(service, &tasks, self.edges.clock.now(), self.scope.grace));
        match verdict {
            Ok(Idleness::Idle | Idleness::RecentlyStopped(_)) => {
                for token in &tokens {
                    info!(action = "revoke", outcome = "done", service = %service.name, accessor_id = %token.pair.accessor);
                }
                self.blank_secret(holder, &secret, &tokens).await
            }
            Ok(Idleness::Living(task)) => {
                info!(action = "revoke", outcome = "put_back", service = %service.name, task_id = %task.id(), "a task appeared meanwhile");
                let cluster = self.cluster_of(&task);
                self.put_back(holder, &tokens, cluster).await
            }
            // Not knowing is no licence to leave a living task without its token.
            Err(error) => {
                self.put_back(holder, &tokens, None).await?;
                Err(error)
            }
        }
    }

    /// Our tokens of the holder: the derived one, and one of the old controller's that the secret still holds.
    async fn revocable_tokens(
        &self,
        holder: &TokenHolder,
        secret: &SecretState,
    ) -> Result<Vec<Token>, ControllerError> {
        let derived = AccessorId::derived(holder, &self.scope.names);
        let mut tokens = Vec::new();
        tokens.extend(self.edges.consul.token(holder.tenancy(), derived).await?);
        if let SecretState::Holds(held) = secret
            && held.accessor != derived
        {
            let adopted = self.edges.consul.token(holder.tenancy(), held.accessor).await?;
            tokens.extend(adopted.filter(|token| self.bears_our_marks(&token.description, holder)));
        }
        Ok(tokens)
    }

    async fn put_back(
        &self,
        holder: &TokenHolder,
        tokens: &[Token],
        cluster: Option<&ClusterArn>,
    ) -> Result<(), ControllerError> {
        let Some(cluster) = cluster.or(self.scope.clusters.first()) else {
            return Ok(());
        };
        for token in tokens {
            match self.create_token(holder, cluster, Some(&token.pair)).await {
                // In use already: an event of the new task was faster, and made or put back a token of its own.
                Ok(_) | Err(ConsulError::Conflict { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        match self.scope.mode {
            TokenMode::SecretsManager => self.provision_for_living(holder, cluster).await,
            TokenMode::AuthMethod => Ok(()),
        }
    }

    /// Blanks the secret, then makes sure that no token was made meanwhile: the last writer has to be right.
    async fn blank_secret(
        &self,
        holder: &TokenHolder,
        secret: &SecretState,
        revoked: &[Token],
    ) -> Result<(), ControllerError> {
        let SecretState::Holds(held) = secret else {
            return Ok(());
        };
        let derived = AccessorId::derived(holder, &self.scope.names);
        let is_ours = held.accessor == derived || revoked.iter().any(|token| token.pair.accessor == held.accessor);
        if !is_ours {
            return Ok(());
        }
        self.edges.secrets.write(&self.secret_name(holder)?, secret, None).await?;
        info!(action = "blank_secret", outcome = "done", holder = %holder, accessor_id = %held.accessor);
        match self.edges.consul.token(holder.tenancy(), derived).await? {
            Some(token) => self.write_secret(holder, &SecretState::Blank, &token.pair).await,
            None => Ok(()),
        }
    }

    fn cluster_of(&self, task: &TaskArn) -> Option<&ClusterArn> {
        self.scope.clusters.iter().find(|cluster| task.is_in(cluster))
    }
}
