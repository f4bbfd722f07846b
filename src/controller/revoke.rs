//! Revoking the tokens of idle services: reserve, delete, then verify.
//!
//! First the pair is reserved in the secret: no task can read it any more, and it stays decided on. Whoever has read it
//! before is old enough to be seen by the look that follows the deletion. If that look finds a living task, or cannot be
//! had, the same tokens are put back, so that the task keeps a valid one. Only a revocation that stands blanks the secret,
//! and only if nobody has written it meanwhile: then a task has started, and the tokens are put back, too.
//!
//! ECS's lists may lag behind, and an environment may be about to create what was just deleted; so another look follows
//! every revocation, later than any invocation lasts, and mends what it finds.

use std::{collections::BTreeMap, slice, sync::Arc, time::Duration};

use futures::{StreamExt, stream};
use tokio::time::timeout;
use tracing::{info, warn};

use super::{CONCURRENCY, Controller, ControllerError, Deadline, apply::Effect, put_back::Revocation};
use crate::secrets::SecretsError;
use mesh::{
    identity::MeshService,
    idleness::{Idleness, ServiceTask, judge},
    mark::HolderMark,
    mutant::{self, Mutant},
    plan::is_awaited,
    secret::SecretState,
    token::{AccessorId, ListedToken, TokenHolder},
};

/// No revocation is begun with less time than this: what follows it has to fit in.
const TIME_TO_REVOKE: Duration = Duration::from_secs(35);
/// The share of it that reserving the pair may take, the deletions, and the look afterwards. The rest is kept for putting
/// back.
const TIME_TO_RESERVE: Duration = Duration::from_secs(5);
const TIME_TO_DELETE: Duration = Duration::from_secs(6);
const TIME_TO_VERIFY: Duration = Duration::from_secs(10);
type Verdict = Result<Vec<ServiceTask>, Arc<ControllerError>>;

/// What came of each revocation.
pub(super) type Revoked = BTreeMap<MeshService, Result<Effect, Arc<ControllerError>>>;

impl Controller {
    /// Revokes the tokens of idle services: reads all of them, deletes, verifies once for all, and blanks or puts back.
    pub(super) async fn revoke_all(&self, idle: Vec<MeshService>, deadline: Deadline) -> Revoked {
        let (revocations, mut results) = self.prepare_all(idle, deadline).await;
        results.extend(self.carry_out(revocations, deadline).await);
        results
    }

    async fn prepare_all(&self, idle: Vec<MeshService>, deadline: Deadline) -> (Vec<Revocation>, Revoked) {
        let mut partitions: BTreeMap<_, Vec<MeshService>> = BTreeMap::new();
        for service in idle {
            partitions.entry(service.tenancy.partition().cloned()).or_default().push(service);
        }
        let (mut revocations, mut results) = (Vec::new(), Revoked::new());
        for services in partitions.into_values() {
            let Some(first) = services.first() else { continue };
            let listed = deadline.run(self.edges.consul.tokens(&first.tenancy)).await.map_err(Arc::new);
            let preparations = services.into_iter().map(|service| {
                let listed = &listed;
                async move {
                    let tokens = listed.as_ref().map_err(Arc::clone);
                    let prepared = match tokens {
                        Ok(tokens) => deadline.run(self.prepare(&service, tokens)).await.map_err(Arc::new),
                        Err(error) => Err(error),
                    };
                    (service, prepared)
                }
            });
            let prepared: Vec<_> = stream::iter(preparations).buffer_unordered(CONCURRENCY).collect().await;
            for (service, prepared) in prepared {
                match prepared {
                    Ok(Some(revocation)) => revocations.push(revocation),
                    Ok(None) => drop(results.insert(service, Ok(Effect::Unchanged))),
                    Err(error) => drop(results.insert(service, Err(error))),
                }
            }
        }
        (revocations, results)
    }

    /// What there is to revoke of an idle service: all tokens that bear our marks, whoever of us made them.
    async fn prepare(
        &self,
        service: &MeshService,
        listed: &[ListedToken],
    ) -> Result<Option<Revocation>, ControllerError> {
        let holder = TokenHolder::Service(service.clone());
        let secret = self.edges.secrets.read(&self.secret_name(&holder)?).await?;
        let mut tokens = Vec::new();
        let ours: Vec<(&ListedToken, HolderMark)> = listed
            .iter()
            .filter(|token| token.tenancy == *holder.tenancy() && self.bears_our_marks(&token.description, &holder))
            .filter_map(|token| Some((token, HolderMark::parse(&token.description)?)))
            .collect();
        if is_awaited(&ours, self.rules()) {
            info!(action = "revoke", outcome = "kept", service = %service.name, "made ahead or a moment ago; its task may still come");
            return Ok(None);
        }
        for (token, mark) in ours {
            let is_in_secret = secret.state.decided().is_some_and(|pair| pair.accessor == token.accessor);
            if !mark.is_certainly_of(&self.scope.clusters) && !is_in_secret {
                // Another account may have a cluster of that name, in the same Consul.
                warn!(action = "revoke", outcome = "kept", service = %service.name, accessor_id = %token.accessor,
                    "its mark names the cluster without an account, and our secret does not hold it");
                continue;
            }
            tokens.extend(self.edges.consul.token(holder.tenancy(), token.accessor).await?);
        }
        self.trusted.forget(&holder);
        if tokens.is_empty() {
            // A task may read it, too, until it is reserved.
            let dead = self.dead_pair(&holder, service, &secret).await?;
            let revocation =
                |pair| Revocation { service: service.clone(), holder, secret, reserved: Some(pair), tokens };
            return Ok(dead.map(revocation));
        }
        let decided = secret
            .state
            .decided()
            .map_or_else(|| AccessorId::derived(&holder, &self.scope.names), |pair| pair.accessor);
        let reserved = tokens.iter().find(|token| token.pair.accessor == decided).map(|token| token.pair.clone());
        Ok(Some(Revocation { service: service.clone(), holder, secret, reserved, tokens }))
    }

    async fn carry_out(&self, revocations: Vec<Revocation>, deadline: Deadline) -> Revoked {
        if revocations.is_empty() {
            return Revoked::new();
        }
        if deadline.left() < TIME_TO_REVOKE {
            let error = Arc::new(ControllerError::OutOfTime);
            return revocations.into_iter().map(|revocation| (revocation.service, Err(Arc::clone(&error)))).collect();
        }
        let (revocations, mut results) = self.reserve_all(revocations).await;
        if revocations.is_empty() {
            return results;
        }
        let deletions = revocations.iter().map(|revocation| within(TIME_TO_DELETE, self.delete_tokens(revocation)));
        let deleted: Vec<_> = stream::iter(deletions).buffered(CONCURRENCY).collect().await;
        let listed = if mutant::is(Mutant::NoVerify) {
            Ok(Vec::new())
        } else {
            within(TIME_TO_VERIFY, self.all_service_tasks(deadline)).await.map_err(Arc::new)
        };
        let ends = revocations.iter().zip(deleted).map(|(revocation, deleted)| {
            let listed = &listed;
            async move {
                let verdict = match deleted {
                    Ok(()) => listed.clone(),
                    Err(error) => Err(Arc::new(error)),
                };
                (revocation.service.clone(), self.finish(revocation, verdict).await)
            }
        });
        results.extend(stream::iter(ends).buffer_unordered(CONCURRENCY).collect::<Vec<_>>().await);
        results
    }

    /// Reserves the pairs, so that no task reads one that is about to go. Where that fails, nothing is deleted.
    async fn reserve_all(&self, revocations: Vec<Revocation>) -> (Vec<Revocation>, Revoked) {
        let reservations = revocations.into_iter().map(|mut revocation| async move {
            let reserved = within(TIME_TO_RESERVE, self.reserve(&mut revocation)).await;
            if let Err(error) = &reserved
                && !matches!(error, ControllerError::Secrets(SecretsError::Changed { .. }))
            {
                self.give_up(&revocation).await;
            }
            (revocation, reserved)
        });
        let reserved: Vec<_> = stream::iter(reservations).buffer_unordered(CONCURRENCY).collect().await;
        let (mut ready, mut results) = (Vec::new(), Revoked::new());
        for (revocation, reserved) in reserved {
            match reserved {
                Ok(()) => ready.push(revocation),
                Err(error) => drop(results.insert(revocation.service, Err(Arc::new(error)))),
            }
        }
        (ready, results)
    }

    /// Shows the pair again: it may have been reserved although the answer was lost, and another delivery of the message may
    /// be acknowledged meanwhile, so that nobody would look before the next sweep.
    async fn give_up(&self, revocation: &Revocation) {
        if let Err(error) = self.show_again(revocation).await {
            warn!(action = "revoke", outcome = "given_up", service = %revocation.service.name, reason = %error);
        }
    }

    async fn reserve(&self, revocation: &mut Revocation) -> Result<(), ControllerError> {
        let Some(pair) = revocation.reserved.clone().filter(|_| !mutant::is(Mutant::NotReserved)) else {
            return Ok(());
        };
        let reserved = SecretState::Reserved(pair);
        let written = self.claim_state(&revocation.holder, &revocation.secret, &reserved).await?;
        // Somebody has started a task, or is revoking as well.
        let name = self.secret_name(&revocation.holder)?;
        revocation.secret = written.ok_or(SecretsError::Changed { name })?;
        Ok(())
    }

    async fn finish(&self, revocation: &Revocation, verdict: Verdict) -> Result<Effect, Arc<ControllerError>> {
        let Revocation { service, tokens, .. } = revocation;
        let verdict = verdict.map(|tasks| judge(service, &tasks, self.edges.clock.now(), self.scope.grace));
        match verdict {
            Ok(Idleness::Idle) => {
                for token in tokens {
                    info!(action = "revoke", outcome = "done", service = %service.name, accessor_id = %token.pair.accessor);
                }
                // First, so that whatever fails afterwards is looked at again.
                self.look_again(slice::from_ref(service)).await?;
                if self.blank_secret(revocation).await? {
                    return Ok(Effect::Done);
                }
                info!(action = "revoke", outcome = "put_back", service = %service.name, "a task was started meanwhile");
                self.put_back(revocation).await?;
                Ok(Effect::Unchanged)
            }
            // It came and went between the two looks. Whoever has seen it trusts the token: see `GracePeriod`. The look that
            // its stop has asked for is still to come.
            Ok(Idleness::RecentlyStopped(task)) => {
                info!(action = "revoke", outcome = "put_back", service = %service.name, task_id = %task.id(), "a task has stopped meanwhile");
                self.put_back(revocation).await?;
                self.look_again(slice::from_ref(service)).await?;
                Ok(Effect::Unchanged)
            }
            Ok(Idleness::Living(task)) => {
                info!(action = "revoke", outcome = "put_back", service = %service.name, task_id = %task.id(), "a task appeared meanwhile");
                self.put_back(revocation).await?;
                self.look_again(slice::from_ref(service)).await?;
                self.provision_for(service, &task).await?;
                Ok(Effect::Unchanged)
            }
            // Not knowing is no licence to leave a living task without its token.
            Err(error) => {
                warn!(action = "revoke", outcome = "put_back", service = %service.name, reason = %error);
                self.put_back(revocation).await?;
                Err(error)
            }
        }
    }

    async fn delete_tokens(&self, revocation: &Revocation) -> Result<(), ControllerError> {
        for token in &revocation.tokens {
            self.edges.consul.delete_token(revocation.holder.tenancy(), token.pair.accessor).await?;
        }
        Ok(())
    }
}

async fn within<T>(
    time: Duration,
    work: impl Future<Output = Result<T, ControllerError>>,
) -> Result<T, ControllerError> {
    timeout(time, work).await.unwrap_or(Err(ControllerError::OutOfTime))
}
