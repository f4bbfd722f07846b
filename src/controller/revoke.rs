//! Revoking the tokens of idle services: delete, then verify.
//!
//! What is deleted is remembered. If the look afterwards finds a living task, or cannot be had, the same tokens are put
//! back, so that a task which started in between keeps a valid one. Only a revocation that stands blanks the secret.
//! ECS's lists may lag behind, and an environment may be about to create what was just deleted; so another look follows
//! every revocation, later than any invocation lasts, and mends what it finds.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use futures::{StreamExt, stream};
use jiff::SignedDuration;
use tokio::time::timeout;
use tracing::{info, warn};

use super::{CONCURRENCY, Controller, ControllerError, Deadline, apply::Effect, message::Message};
use crate::{
    consul::ConsulError,
    mesh::{
        identity::MeshService,
        idleness::{Idleness, ServiceTask, judge},
        mark::HolderMark,
        plan::is_awaited,
        secret::{SecretState, StoredSecret},
        token::{AccessorId, Grant, ListedToken, NewToken, Token, TokenHolder},
    },
    mutant::{self, Mutant},
    secrets::SecretsError,
};

/// No deletion is begun with less time than this: what follows it has to fit in.
const TIME_TO_REVOKE: Duration = Duration::from_secs(30);
/// The share of it that the deletions may take, and the look afterwards. The rest is kept for putting back.
const TIME_TO_DELETE: Duration = Duration::from_secs(6);
const TIME_TO_VERIFY: Duration = Duration::from_secs(10);
/// When a revocation is followed by another look. Longer than the function's time-out: whoever was at work during the
/// revocation has ended by then.
const FOLLOW_UP: Duration = Duration::from_secs(70);

/// The tokens of an idle service, as they were before they are deleted.
struct Revocation {
    service: MeshService,
    holder: TokenHolder,
    secret: StoredSecret,
    tokens: Vec<Token>,
}

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
            let is_in_secret = secret.state.pair().is_some_and(|pair| pair.accessor == token.accessor);
            if !mark.is_certainly_of(&self.scope.clusters) && !is_in_secret {
                // Another account may have a cluster of that name, in the same Consul.
                warn!(action = "revoke", outcome = "kept", service = %service.name, accessor_id = %token.accessor,
                    "its mark names the cluster without an account, and our secret does not hold it");
                continue;
            }
            tokens.extend(self.edges.consul.token(holder.tenancy(), token.accessor).await?);
        }
        self.distrust(&holder);
        if tokens.is_empty() {
            self.blank_dead_pair(&holder, service, &secret).await?;
            return Ok(None);
        }
        Ok(Some(Revocation { service: service.clone(), holder, secret, tokens }))
    }

    async fn carry_out(&self, revocations: Vec<Revocation>, deadline: Deadline) -> Revoked {
        if revocations.is_empty() {
            return Revoked::new();
        }
        if deadline.left() < TIME_TO_REVOKE {
            let error = Arc::new(ControllerError::OutOfTime);
            return revocations.into_iter().map(|revocation| (revocation.service, Err(Arc::clone(&error)))).collect();
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
        stream::iter(ends).buffer_unordered(CONCURRENCY).collect().await
    }

    async fn finish(&self, revocation: &Revocation, verdict: Verdict) -> Result<Effect, Arc<ControllerError>> {
        let Revocation { service, tokens, .. } = revocation;
        let verdict = verdict.map(|tasks| judge(service, &tasks, self.edges.clock.now(), self.scope.grace));
        match verdict {
            Ok(Idleness::Idle | Idleness::RecentlyStopped(_)) => {
                for token in tokens {
                    info!(action = "revoke", outcome = "done", service = %service.name, accessor_id = %token.pair.accessor);
                }
                // First, so that whatever fails afterwards is looked at again.
                self.look_again(service).await?;
                self.blank_secret(revocation).await?;
                Ok(Effect::Done)
            }
            Ok(Idleness::Living(task)) => {
                info!(action = "revoke", outcome = "put_back", service = %service.name, task_id = %task.id(), "a task appeared meanwhile");
                self.put_back(revocation).await?;
                self.look_again(service).await?;
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

    /// Puts the tokens back as they were: both halves, description and grants.
    async fn put_back(&self, revocation: &Revocation) -> Result<(), ControllerError> {
        if mutant::is(Mutant::NoPutBack) {
            return Ok(());
        }
        for token in &revocation.tokens {
            let new = NewToken {
                pair: token.pair.clone(),
                description: token.description.clone(),
                grant: Grant::AsBefore(token.grants.clone()),
                tenancy: revocation.holder.tenancy().clone(),
            };
            match self.edges.consul.create_token(&new).await {
                // In use: it was never deleted, or an event of the new task was faster.
                Ok(_) | Err(ConsulError::Conflict { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Blanks the secret of a service whose tokens were revoked, then makes sure that no token was made meanwhile: the
    /// last writer has to be right.
    async fn blank_secret(&self, revocation: &Revocation) -> Result<(), ControllerError> {
        let Revocation { holder, secret, tokens, .. } = revocation;
        let Some(held) = secret.state.pair().map(|pair| pair.accessor) else { return Ok(()) };
        if !tokens.iter().any(|token| token.pair.accessor == held) {
            return Ok(());
        }
        let name = self.secret_name(holder)?;
        if !self.blank(holder, &name, secret).await? {
            return Ok(());
        }
        let derived = AccessorId::derived(holder, &self.scope.names);
        if let Some(token) = self.edges.consul.token(holder.tenancy(), derived).await? {
            let now = self.edges.secrets.read(&name).await?;
            if !matches!(now.state, SecretState::Holds(_)) {
                self.edges.secrets.write(&name, &now, Some(&token.pair)).await?;
            }
        }
        Ok(())
    }

    /// Blanks a derived pair that Consul does not know: a crash has left it. But whoever wrote it may be about to create
    /// its token; so only one that has stood for longer than an invocation lasts.
    async fn blank_dead_pair(
        &self,
        holder: &TokenHolder,
        service: &MeshService,
        secret: &StoredSecret,
    ) -> Result<(), ControllerError> {
        let derived = AccessorId::derived(holder, &self.scope.names);
        let is_derived = secret.state.pair().is_some_and(|pair| pair.accessor == derived);
        if !is_derived || self.edges.consul.token(holder.tenancy(), derived).await?.is_some() {
            return Ok(());
        }
        self.look_again(service).await?;
        let follow_up = SignedDuration::try_from(FOLLOW_UP).unwrap_or(SignedDuration::MAX);
        let now = self.edges.clock.now();
        if secret.written_at.is_some_and(|at| now.duration_since(at) > follow_up) {
            self.blank(holder, &self.secret_name(holder)?, secret).await?;
        }
        Ok(())
    }

    /// Blanks a secret, unless somebody else has written it since it was seen: then a task has started.
    async fn blank(&self, holder: &TokenHolder, name: &str, seen: &StoredSecret) -> Result<bool, ControllerError> {
        match self.edges.secrets.write(name, seen, None).await {
            Ok(()) => {
                info!(action = "blank_secret", outcome = "done", holder = %holder, secret = name);
                Ok(true)
            }
            Err(SecretsError::Changed { .. }) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    async fn look_again(&self, service: &MeshService) -> Result<(), ControllerError> {
        if mutant::is(Mutant::NoFollowUp) {
            return Ok(());
        }
        Ok(self.edges.queue.send_later(&[Message::idle_check(service)], FOLLOW_UP).await?)
    }
}

async fn within<T>(
    time: Duration,
    work: impl Future<Output = Result<T, ControllerError>>,
) -> Result<T, ControllerError> {
    timeout(time, work).await.unwrap_or(Err(ControllerError::OutOfTime))
}
