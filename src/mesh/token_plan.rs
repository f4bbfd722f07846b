//! What to do about one holder's token, given its secret and what Consul holds under the secret's accessor ID.
//! Consul is the truth, the secret a projection of it.

use super::{
    secret::SecretState,
    token::{AccessorId, Token, TokenPair},
};

/// The next step towards a valid token in its secret.
#[derive(Debug, Clone)]
pub enum TokenStep {
    /// The secret holds a valid token. `ours` is false for one that somebody else made and put there: it is left
    /// alone, and never revoked.
    InPlace {
        /// Whether we (or the old controller) made it.
        ours: bool,
    },
    /// Consul has our token, but the secret holds another secret half: write this pair.
    WriteSecret(TokenPair),
    /// There is no token that the secret could hold: create the derived one, then write it.
    Create,
}

/// Decides the next step. `token` is what Consul holds under the accessor ID in the secret, and `None` only if it
/// is proven to hold nothing. `is_ours` says whether a description bears our marks.
#[must_use]
pub fn next_step(
    secret: &SecretState,
    token: Option<&Token>,
    derived: AccessorId,
    is_ours: impl Fn(&str) -> bool,
) -> TokenStep {
    let (SecretState::Holds(held), Some(token)) = (secret, token) else {
        return TokenStep::Create;
    };
    let ours = token.pair.accessor == derived || is_ours(&token.description);
    match (held.is_same_as(&token.pair), ours) {
        (true, ours) => TokenStep::InPlace { ours },
        (false, true) => TokenStep::WriteSecret(token.pair.clone()),
        (false, false) => TokenStep::Create,
    }
}

#[cfg(test)]
mod tests {
    use secrecy::SecretString;

    use super::*;

    const DERIVED: &str = "00000000-0000-5000-8000-000000000001";
    const RANDOM: &str = "00000000-0000-4000-8000-000000000002";

    fn pair(accessor: &str, secret: &str) -> TokenPair {
        TokenPair { accessor: accessor.parse().unwrap(), secret: SecretString::from(secret) }
    }

    fn step(secret: &SecretState, token: Option<(&str, &str, &str)>) -> TokenStep {
        let token = token.map(|(accessor, secret, description)| Token {
            pair: pair(accessor, secret),
            description: description.to_owned(),
        });
        next_step(secret, token.as_ref(), DERIVED.parse().unwrap(), |description| description == "ours")
    }

    #[test]
    fn without_a_token_one_is_created() {
        assert!(matches!(step(&SecretState::Missing, None), TokenStep::Create));
        assert!(matches!(step(&SecretState::Blank, None), TokenStep::Create));
        assert!(matches!(step(&SecretState::Holds(pair(DERIVED, "s")), None), TokenStep::Create));
    }

    #[test]
    fn a_valid_token_stays_whoever_made_it() {
        let derived = step(&SecretState::Holds(pair(DERIVED, "s")), Some((DERIVED, "s", "edited by hand")));
        assert!(matches!(derived, TokenStep::InPlace { ours: true }));
        let adopted = step(&SecretState::Holds(pair(RANDOM, "s")), Some((RANDOM, "s", "ours")));
        assert!(matches!(adopted, TokenStep::InPlace { ours: true }));
        let foreign = step(&SecretState::Holds(pair(RANDOM, "s")), Some((RANDOM, "s", "by hand")));
        assert!(matches!(foreign, TokenStep::InPlace { ours: false }));
    }

    #[test]
    fn a_secret_that_lags_behind_is_rewritten_from_consul() {
        let secret = SecretState::Holds(pair(DERIVED, "old"));
        let TokenStep::WriteSecret(written) = step(&secret, Some((DERIVED, "new", "ours"))) else {
            panic!("expected the secret to be written");
        };
        assert!(written.is_same_as(&pair(DERIVED, "new")));
    }

    #[test]
    fn a_foreign_token_that_does_not_match_is_not_copied_into_the_secret() {
        let secret = SecretState::Holds(pair(RANDOM, "old"));
        assert!(matches!(step(&secret, Some((RANDOM, "new", "by hand"))), TokenStep::Create));
    }
}
