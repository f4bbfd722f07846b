//! Takes the steps that [`next_step`] decides until there is nothing left to do.

use consul::Token;
use mesh::{
    field::InvalidField,
    lifecycle::{HeldToken, Idle, Requirement, Step, Usage, next_step},
    mark::HolderMark,
    plan::is_awaited,
    secret::{Retirement, SecretState, StoredSecret},
    service_name::ServiceName,
    token::TokenHolder,
    token_mode::TokenMode,
};
use tracing::{info, warn};

use super::{
    attempt::{Attempt, Progress},
    demand::Demand,
};
use crate::{error::ControllerError, outcome::Effect};

/// Why a token is reconciled.
pub(crate) enum Case<'a> {
    /// A task requires it, or will soon.
    Needed(&'a Demand<'a>),
    /// No task uses it.
    Idle {
        /// Since when.
        idle: &'a Idle,
        /// The length of the chain of own messages that led to the check.
        hops: u32,
    },
    /// The stack is deleted.
    Ended(&'a Retirement),
}

impl Attempt<'_> {
    pub(super) async fn run(&self, case: &Case<'_>, mut seen: Option<StoredSecret>) -> Result<Effect, ControllerError> {
        let mut effect = Effect::Unchanged;
        loop {
            let secret = match seen.take() {
                Some(secret) => secret,
                None => self.read().await?,
            };
            match self.take_step(&secret, case).await? {
                Progress::Done(done) => return Ok(done.max(effect)),
                // A further step would find the secret and Consul as they were.
                Progress::Again if !self.tokens.scope.operation.acts() => return Ok(Effect::Done),
                Progress::Again => effect = Effect::Done,
                Progress::Conflict(read) => seen = Some(self.read_after(&secret, read).await?),
            }
        }
    }

    async fn take_step(&self, secret: &StoredSecret, case: &Case<'_>) -> Result<Progress, ControllerError> {
        let token = self.named_token(secret, case).await?;
        if let Some(other) = token.as_ref().and_then(|token| self.other_service(token)) {
            return self.replace_token_of(&other, secret, case).await;
        }
        let held = token.as_ref().map(|token| self.held(secret, token));
        let (bounds, now) = (&self.tokens.scope.bounds, self.tokens.clock.now());
        let step = next_step(secret, held.as_ref(), &self.usage(case), bounds, now);
        match (case, step) {
            (Case::Needed(demand), Step::Nothing) => self.update_in_use(secret, token, demand).await,
            (Case::Needed(demand), step) => {
                let Some(cluster) = self.tokens.cluster_of_demand(demand).await? else {
                    info!(action = "provision", outcome = "skipped", holder = %self.holder, "the task is gone already");
                    return Ok(Progress::Done(Effect::Unchanged));
                };
                match step {
                    Step::Create => self.create_and_show(secret, &cluster, demand).await,
                    Step::Restore(pair) => self.restore(secret, &pair, &cluster, demand).await,
                    Step::Show(pair) => self.show(secret, pair, token, demand).await,
                    Step::Nothing | Step::Hide(..) | Step::Remove(..) => Ok(Progress::Done(Effect::Unchanged)),
                }
            }
            (Case::Idle { hops, .. }, Step::Hide(pair, why)) => {
                self.mark_for_secret(token.as_ref()).await?;
                self.hide(secret, pair, why, *hops).await
            }
            (Case::Ended(_), Step::Remove(pair, why)) => {
                self.mark_for_secret(token.as_ref()).await?;
                self.remove(secret, &pair, &why, "the stack is deleted").await
            }
            (Case::Idle { .. }, Step::Remove(pair, why)) => self.remove(secret, &pair, &why, "idle").await,
            (Case::Ended(_), Step::Hide(..))
            | (Case::Idle { .. } | Case::Ended(_), Step::Nothing | Step::Create | Step::Restore(_) | Step::Show(_)) => {
                Ok(Progress::Done(Effect::Unchanged))
            }
        }
    }

    fn may_create(&self) -> bool {
        self.tokens.scope.mode != TokenMode::AuthMethod
    }

    fn usage(&self, case: &Case<'_>) -> Usage {
        match case {
            Case::Idle { idle, .. } => Usage::Idle((*idle).clone()),
            Case::Ended(retirement) => Usage::Ended((*retirement).clone()),
            Case::Needed(demand) => Usage::Needed(Requirement {
                may_create: self.may_create(),
                is_by_event: !matches!(demand, Demand::Listed(_)),
            }),
        }
    }

    /// The token in Consul with the accessor ID in the secret. Not read for a hidden token of an idle service in a
    /// secret of the controller, which is deleted whether Consul has it or not.
    async fn named_token(&self, secret: &StoredSecret, case: &Case<'_>) -> Result<Option<Token>, ControllerError> {
        match (&secret.state, case) {
            (SecretState::Missing | SecretState::Empty, _) => Ok(None),
            (SecretState::Retiring(..), Case::Idle { .. }) if secret.is_ours => Ok(None),
            (SecretState::Active(pair) | SecretState::Retiring(pair, _), _) => {
                Ok(self.tokens.acl.token(self.holder.tenancy(), pair.accessor).await?)
            }
        }
    }

    /// Replaces the token of another service, whose family has the name of this one. The service that the secret is named
    /// by has precedence: a family does not take its secret.
    async fn replace_token_of(
        &self,
        other: &ServiceName,
        secret: &StoredSecret,
        case: &Case<'_>,
    ) -> Result<Progress, ControllerError> {
        match (self.holder, case) {
            (TokenHolder::Service(_), Case::Needed(demand)) if self.may_create() => {
                let Some(cluster) = self.tokens.cluster_of_demand(demand).await? else {
                    return Ok(Progress::Done(Effect::Unchanged));
                };
                self.create_and_show(secret, &cluster, demand).await
            }
            (_, Case::Needed(_)) => {
                let found = format!("{} with the token of the service {other}", self.name);
                let expected = "a secret of this service; rename the other service, or the family of this one";
                Err(InvalidField::new("secret", &found, expected).into())
            }
            _ => {
                warn!(holder = %self.holder, secret = self.name, service = %other, outcome = "left", "the secret holds the token of another service");
                Ok(Progress::Done(Effect::Unchanged))
            }
        }
    }

    /// The other service of these clusters that the token is marked for: the family of one service may be the name of
    /// another.
    fn other_service(&self, token: &Token) -> Option<ServiceName> {
        let mark = HolderMark::parse(&token.description).filter(|mark| mark.is_of(&self.tokens.scope.clusters))?;
        let own = self.holder.service().map(|service| &service.name);
        mark.service.filter(|marked| Some(marked) != own)
    }

    fn held(&self, secret: &StoredSecret, token: &Token) -> HeldToken {
        let unused_since = HolderMark::parse(&token.description).and_then(|mark| mark.unused_since);
        // What a credential that only reads does not see is assumed to be the same.
        let is_same = token.hides_its_secret() || secret.state.pair().is_some_and(|pair| pair.is_same_as(&token.pair));
        HeldToken {
            is_marked: self.is_marked(token),
            is_awaited: is_awaited(unused_since, self.tokens.rules()),
            differs: (!is_same).then(|| token.pair.clone()),
        }
    }
}
