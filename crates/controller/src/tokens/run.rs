//! Takes the steps that [`next_step`] decides until there is nothing left to do.

use consul::Token;
use mesh::{
    field::InvalidField,
    lifecycle::{HeldToken, Idle, Requirement, Step, Usage, next_step},
    mark::HolderMark,
    plan::is_awaited,
    secret::{Retirement, SecretState, StoredSecret},
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
        if let Some((token, mark)) = token.as_ref().and_then(|token| self.foreign(token, case)) {
            return self.replace(token, &mark, secret, case).await;
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

    /// Whether the first step would write something.
    pub(super) async fn would_change(
        &self,
        case: &Case<'_>,
        seen: Option<StoredSecret>,
    ) -> Result<Effect, ControllerError> {
        let secret = match seen {
            Some(secret) => secret,
            None => self.read().await?,
        };
        let token = self.named_token(&secret, case).await?;
        let foreign = token.as_ref().and_then(|token| self.foreign(token, case));
        let is_due = if let Some((token, mark)) = foreign {
            let is_needed = matches!(case, Case::Needed(_));
            if is_needed {
                self.check_precedence(token, &mark)?;
            }
            is_needed && self.may_create()
        } else {
            let held = token.as_ref().map(|token| self.held(&secret, token));
            let (bounds, now) = (&self.tokens.scope.bounds, self.tokens.clock.now());
            match (case, next_step(&secret, held.as_ref(), &self.usage(case), bounds, now)) {
                (Case::Needed(demand), Step::Nothing) => {
                    token.is_some_and(|token| self.update_of(&secret, &token, demand).is_some())
                }
                (Case::Needed(_), Step::Create | Step::Restore(_) | Step::Show(_))
                | (Case::Idle { .. }, Step::Hide(..) | Step::Remove(..)) => true,
                _ => false,
            }
        };
        Ok(if is_due { Effect::Done } else { Effect::Unchanged })
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
            (SecretState::Active(pair) | SecretState::Retiring(pair, _), _) => self.find(pair.accessor).await,
        }
    }

    /// Replaces a token that is not this service's: the secret's name decides. Refused if the name is that of the token's
    /// service too, in another namespace: the first one has precedence.
    async fn replace(
        &self,
        token: &Token,
        mark: &HolderMark,
        secret: &StoredSecret,
        case: &Case<'_>,
    ) -> Result<Progress, ControllerError> {
        let Case::Needed(demand) = case else {
            warn!(holder = %self.holder, secret = self.name, outcome = "left", "the secret holds the token of another service");
            return Ok(Progress::Done(Effect::Unchanged));
        };
        self.check_precedence(token, mark)?;
        if !self.may_create() {
            return Ok(Progress::Done(Effect::Unchanged));
        }
        let Some(cluster) = self.tokens.cluster_of_demand(demand).await? else {
            return Ok(Progress::Done(Effect::Unchanged));
        };
        if mark.is_for(self.holder) {
            self.mark_for_secret(Some(token)).await?;
        }
        self.create_and_show(secret, &cluster, demand).await
    }

    /// Refuses the secret if its name is that of the token's service too, in another namespace.
    fn check_precedence(&self, token: &Token, mark: &HolderMark) -> Result<(), InvalidField> {
        let other = mark.service_in(&token.tenancy).map(TokenHolder::Service).filter(|_| !mark.is_for(self.holder));
        match other.filter(|other| self.tokens.scope.names.of(other).eq_ignore_ascii_case(&self.name)) {
            Some(other) => {
                let found = format!("{} with the token of the {other} of another namespace", self.name);
                Err(InvalidField::new("secret", &found, "a secret of this service; rename one of the services"))
            }
            None => Ok(()),
        }
    }

    /// The token, with its mark, if it is marked for another holder; or if a task needs it, and it is in another namespace
    /// than its service.
    fn foreign<'a>(&self, token: &'a Token, case: &Case<'_>) -> Option<(&'a Token, HolderMark)> {
        let mark = HolderMark::parse(&token.description)?;
        let is_misplaced = matches!(case, Case::Needed(_)) && token.tenancy != *self.holder.tenancy();
        (is_misplaced || mark.is_for_another_than(self.holder)).then_some((token, mark))
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
