//! How a revocation ends: its secret is blanked, or its tokens are put back.

use std::{slice, time::Duration};

use jiff::SignedDuration;
use tokio::time::{sleep, timeout};

use super::{Controller, ControllerError, message::Message};
use crate::consul::ConsulError;
use mesh::{
    identity::MeshService,
    mutant::{self, Mutant},
    secret::{SecretState, StoredSecret},
    token::{AccessorId, Grant, NewToken, Token, TokenHolder, TokenPair},
};

/// When a revocation is followed by another look. Longer than the function's time-out: whoever was at work during the
/// revocation has ended by then.
const FOLLOW_UP: Duration = Duration::from_secs(70);

/// How often the secret is claimed for the pair before another's word on the same pair is good enough.
const CLAIMS: usize = 4;
/// The pause before the secret is read again.
const PAUSE: Duration = Duration::from_millis(100);
/// How long all of that may take: the tokens are put back in any case, and soon.
const TIME_TO_DECIDE: Duration = Duration::from_secs(6);

/// The tokens of an idle service, as they were before they are deleted.
pub(super) struct Revocation {
    pub(super) service: MeshService,
    pub(super) holder: TokenHolder,
    /// The secret as it was seen, and later as it was written.
    pub(super) secret: StoredSecret,
    /// The pair that the secret has to decide on until the revocation is over. A foreign one stays in it.
    pub(super) reserved: Option<TokenPair>,
    /// None where Consul does not know the pair, which a crash has left in the secret.
    pub(super) tokens: Vec<Token>,
}

/// On what a secret decides when a revocation is undone.
enum Decided {
    /// On the pair that it had, because we have claimed it.
    ByUs(StoredSecret),
    /// On the same pair, which others go on claiming.
    BySomebody,
    /// On another pair, or on none.
    Otherwise,
    /// It cannot be reached: it still decides on what it did a moment ago.
    Unreachable(ControllerError),
}

impl Revocation {
    fn is_reserved(&self, token: &Token) -> bool {
        self.reserved.as_ref().is_some_and(|pair| pair.is_same_as(&token.pair))
    }
}

impl Controller {
    /// Puts the tokens back as they were: both halves, description and grants. The secret decides on the pair once more
    /// before: if it has gone on to another, that one stays. Tasks see the pair again when Consul holds it.
    pub(super) async fn put_back(&self, revocation: &Revocation) -> Result<(), ControllerError> {
        // A pair that Consul did not know stays reserved: whose task needs it creates it.
        if mutant::is(Mutant::NoPutBack) || revocation.tokens.is_empty() {
            return Ok(());
        }
        let decided = timeout(TIME_TO_DECIDE, self.decide_again(revocation)).await;
        let decided = decided.unwrap_or(Err(ControllerError::OutOfTime)).unwrap_or_else(Decided::Unreachable);
        for token in &revocation.tokens {
            if revocation.is_reserved(token) && matches!(decided, Decided::Otherwise) {
                continue;
            }
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
        self.show(revocation, decided).await
    }

    /// Shows the pair again where nothing was deleted, but where it may have been reserved.
    pub(super) async fn show_again(&self, revocation: &Revocation) -> Result<(), ControllerError> {
        // One that Consul did not know is nothing to show.
        if revocation.tokens.is_empty() {
            return Ok(());
        }
        let decided = timeout(TIME_TO_DECIDE, self.decide_again(revocation)).await;
        self.show(revocation, decided.unwrap_or(Err(ControllerError::OutOfTime))?).await
    }

    async fn show(&self, revocation: &Revocation, decided: Decided) -> Result<(), ControllerError> {
        match (decided, &revocation.reserved) {
            (Decided::ByUs(secret), Some(pair)) if secret.state.pair().is_none() => {
                // If somebody else has written it since, they show it.
                let shown = self.shows(&revocation.holder, pair.clone());
                self.write_state(&revocation.holder, &secret, &shown).await.map(drop)
            }
            (Decided::Unreachable(error), _) => Err(error),
            _ => Ok(()),
        }
    }

    async fn decide_again(&self, revocation: &Revocation) -> Result<Decided, ControllerError> {
        let Revocation { holder, secret, reserved: Some(pair), .. } = revocation else {
            return Ok(Decided::Otherwise);
        };
        let (mut seen, mut state) = (secret.clone(), SecretState::Reserved(pair.clone()));
        for _ in 0..CLAIMS {
            if let Some(claimed) = self.claim_state(holder, &seen, &state).await? {
                return Ok(Decided::ByUs(claimed));
            }
            // Somebody starts a task, or revokes as well.
            let refused = seen.version;
            loop {
                sleep(PAUSE).await;
                seen = self.edges.secrets.read(&self.secret_name(holder)?).await?;
                // Secrets Manager may go on showing for a moment what has been replaced.
                if seen.version != refused {
                    break;
                }
            }
            if !seen.state.decided().is_some_and(|decided| decided.is_same_as(pair)) {
                return Ok(Decided::Otherwise);
            }
            state = seen.state.clone();
        }
        Ok(Decided::BySomebody)
    }

    /// Blanks the secret of a service whose tokens were revoked; `false` where somebody has written it since.
    pub(super) async fn blank_secret(&self, revocation: &Revocation) -> Result<bool, ControllerError> {
        let Revocation { holder, secret, reserved, .. } = revocation;
        Ok(reserved.is_none() || self.write_state(holder, secret, &SecretState::Blank).await?.is_some())
    }

    /// The pair of ours in a secret that Consul does not know: a crash has left it, or a deletion that came late. But whoever wrote
    /// it may be about to create its token; so only one that has stood for longer than an invocation lasts, and another look
    /// at the others.
    pub(super) async fn dead_pair(
        &self,
        holder: &TokenHolder,
        service: &MeshService,
        secret: &StoredSecret,
    ) -> Result<Option<TokenPair>, ControllerError> {
        let derived = AccessorId::derived(holder, &self.scope.names);
        let pair = match &secret.state {
            SecretState::Reserved(pair) | SecretState::Adopted(pair) => pair,
            SecretState::Holds(pair) if pair.accessor == derived => pair,
            // Somebody else's stays.
            _ => return Ok(None),
        };
        if self.edges.consul.token(holder.tenancy(), pair.accessor).await?.is_some() {
            return Ok(None);
        }
        let follow_up = SignedDuration::try_from(FOLLOW_UP).unwrap_or(SignedDuration::MAX);
        let now = self.edges.clock.now();
        if secret.written_at.is_some_and(|at| now.duration_since(at) > follow_up) {
            return Ok(Some(pair.clone()));
        }
        self.look_again(slice::from_ref(service)).await?;
        Ok(None)
    }

    pub(super) async fn look_again(&self, services: &[MeshService]) -> Result<(), ControllerError> {
        let bodies: Vec<String> = services.iter().map(Message::idle_check).collect();
        Ok(self.edges.queue.send_later(&bodies, FOLLOW_UP).await?)
    }
}
