//! What to do about one holder's token, given its secret and what Consul holds under the secret's accessor ID.
//!
//! The secret is written first: it decides on the pair, because Secrets Manager admits only one of several writers, and
//! Consul (which would admit two) is then made to hold that pair.

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
    /// Consul has our token, but tasks cannot read it in the secret: write this pair.
    WriteSecret(TokenPair),
    /// The secret decides on our pair, and Consul has no such token: claim it, create it, and show it if it was reserved.
    /// Whoever wrote it died, or is about to create the token too; or it is just being revoked.
    CreateToken(TokenPair),
    /// There is no pair yet: decide on a new one in the secret, then create the token.
    NewPair,
}

/// Decides the next step. `token` is what Consul holds under the accessor ID that the secret decides on, and `None` only if it
/// is proven to hold nothing. `is_ours` says whether a description bears our marks.
#[must_use]
pub fn next_step(
    secret: &SecretState,
    token: Option<&Token>,
    derived: AccessorId,
    is_ours: impl Fn(&str) -> bool,
) -> TokenStep {
    match (secret, token) {
        (SecretState::Holds(held), None) if held.accessor == derived => TokenStep::CreateToken(held.clone()),
        (SecretState::Reserved(pair) | SecretState::Adopted(pair), None) => TokenStep::CreateToken(pair.clone()),
        (SecretState::Reserved(_), Some(token)) if token.pair.accessor == derived || is_ours(&token.description) => {
            TokenStep::WriteSecret(token.pair.clone())
        }
        (SecretState::Holds(held) | SecretState::Adopted(held), Some(token)) => {
            let ours = token.pair.accessor == derived || is_ours(&token.description);
            match (held.is_same_as(&token.pair), ours) {
                (true, ours) => TokenStep::InPlace { ours },
                (false, true) => TokenStep::WriteSecret(token.pair.clone()),
                (false, false) => TokenStep::NewPair,
            }
        }
        _ => TokenStep::NewPair,
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
            grants: serde_json::Map::new(),
        });
        next_step(secret, token.as_ref(), DERIVED.parse().unwrap(), |description| description == "ours")
    }

    #[test]
    fn without_a_pair_a_new_one_is_written() {
        assert!(matches!(step(&SecretState::Missing, None), TokenStep::NewPair));
        assert!(matches!(step(&SecretState::Blank, None), TokenStep::NewPair));
    }

    #[test]
    fn a_pair_that_is_only_in_the_secret_is_created_as_it_stands() {
        let TokenStep::CreateToken(created) = step(&SecretState::Holds(pair(DERIVED, "s")), None) else {
            panic!("expected the token to be created");
        };
        assert!(created.is_same_as(&pair(DERIVED, "s")));
    }

    #[test]
    fn an_old_controller_s_pair_that_consul_has_lost_is_replaced() {
        assert!(matches!(step(&SecretState::Holds(pair(RANDOM, "s")), None), TokenStep::NewPair));
    }

    #[test]
    fn one_that_we_have_taken_over_is_created_as_it_stands() {
        let TokenStep::CreateToken(created) = step(&SecretState::Adopted(pair(RANDOM, "s")), None) else {
            panic!("expected the token to be created");
        };
        assert!(created.is_same_as(&pair(RANDOM, "s")));
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
    fn a_secret_that_differs_from_consul_is_rewritten_from_consul() {
        let secret = SecretState::Holds(pair(DERIVED, "old"));
        let TokenStep::WriteSecret(written) = step(&secret, Some((DERIVED, "new", "ours"))) else {
            panic!("expected the secret to be written");
        };
        assert!(written.is_same_as(&pair(DERIVED, "new")));
    }

    #[test]
    fn a_reserved_pair_is_created_if_need_be_and_then_shown_to_tasks() {
        for accessor in [DERIVED, RANDOM] {
            let secret = SecretState::Reserved(pair(accessor, "s"));
            assert!(
                matches!(step(&secret, None), TokenStep::CreateToken(created) if created.is_same_as(&pair(accessor, "s")))
            );
            let TokenStep::WriteSecret(written) = step(&secret, Some((accessor, "s", "ours"))) else {
                panic!("expected the secret to be written");
            };
            assert!(written.is_same_as(&pair(accessor, "s")));
        }
        let secret = SecretState::Reserved(pair(RANDOM, "s"));
        assert!(matches!(step(&secret, Some((RANDOM, "s", "by hand"))), TokenStep::NewPair));
    }

    #[test]
    fn a_foreign_token_that_does_not_match_is_not_copied_into_the_secret() {
        let secret = SecretState::Holds(pair(RANDOM, "old"));
        assert!(matches!(step(&secret, Some((RANDOM, "new", "by hand"))), TokenStep::NewPair));
    }
}
