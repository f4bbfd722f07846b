//! The spellings of a service's secret: task definitions may write its name with other upper and lower case, and each spelling is
//! a secret of its own.
//!
//! A service gets a token in one spelling, and in a further one only if tasks of that one ran before: then its secret exists. The
//! service's own name is always one of them, so that definitions can be corrected. Without this bound, one definition with
//! hundreds of spellings makes as many secrets and tokens. A bound on existing secrets would let a task that claims a service's
//! name lock the service's own tasks out.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    holder::TokenHolder,
    names::InvalidField,
    secret::{SecretState, StoredSecret},
    secret_name::SecretNames,
    token::ListedToken,
};

/// Whether a token may be created for a holder, if `others` is the number of other spellings of its service with a token.
pub fn may_create(holder: &TokenHolder, has_run: bool, others: usize) -> bool {
    match holder {
        TokenHolder::Spelled { .. } => others == 0 || has_run,
        TokenHolder::Service(_) | TokenHolder::Client { .. } => true,
    }
}

/// Whether tasks may have run with the spelling of this secret: it exists. Only people delete secrets.
pub fn has_run(secret: &StoredSecret) -> bool {
    !matches!(secret.state, SecretState::Missing)
}

/// The holder of a token that was created for one spelling of its service's secret in this deployment; `None` for other tokens.
pub fn spelled(token: &ListedToken, names: &SecretNames) -> Option<TokenHolder> {
    let mark = token.mark()?;
    let holder = names.holder_of(mark, &token.tenancy)?;
    let is_its = mark.secret.as_ref()? == &names.place_of(&holder);
    (is_its && holder.service().is_some()).then_some(holder)
}

/// Whether the token was created ahead, and no task has needed it.
pub fn is_unused(token: &ListedToken) -> bool {
    token.mark().is_some_and(|mark| mark.unused_since.is_some())
}

/// The refusal of further spellings; the error names them.
pub fn refusal<'a>(further: impl Iterator<Item = &'a TokenHolder>, names: &SecretNames) -> InvalidField {
    let further: Vec<String> = further.map(|holder| names.of(holder)).collect();
    let expected = "the spelling that has the service's token already, or the service's name; let all task definitions of the \
                    service read one spelling";
    InvalidField::new("secret name", &further.join(", "), expected)
}

/// The holders among `required` that get no token, because other spellings of their service have one. Of several new ones the
/// service's name is first, then the order of the names decides.
pub fn refused<'a>(
    required: &'a BTreeSet<TokenHolder>,
    tokens: &[ListedToken],
    secrets: &BTreeMap<TokenHolder, StoredSecret>,
    names: &SecretNames,
) -> BTreeSet<&'a TokenHolder> {
    let has_pair = |(_, secret): &(&TokenHolder, &StoredSecret)| secret.is_ours && secret.state.pair().is_some();
    let with_pairs = secrets.iter().filter(has_pair).map(|(holder, _)| holder.clone());
    let mut held: BTreeSet<TokenHolder> =
        tokens.iter().filter_map(|token| spelled(token, names)).chain(with_pairs).collect();
    // A definition that no task has run blocks no spelling.
    for unused in tokens.iter().filter(|token| is_unused(token)).filter_map(|token| spelled(token, names)) {
        held.remove(&unused);
    }
    let mut refused = BTreeSet::new();
    // The service's own name sorts before its spellings.
    for holder in required {
        let Some(service) = holder.service() else { continue };
        let others = held.iter().filter(|other| *other != holder && other.service() == Some(service)).count();
        match secrets.get(holder) {
            Some(secret) if secret.state.pair().is_none() => {
                if may_create(holder, has_run(secret), others) {
                    held.insert(holder.clone());
                } else {
                    refused.insert(holder);
                }
            }
            // It has a token; or its secret could not be read, and an attempt decides.
            _ => {}
        }
    }
    refused
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;
    use crate::{
        examples::{cluster, clusters, service, token},
        tenancy::Tenancy,
        token::TokenPair,
    };

    fn names() -> SecretNames {
        SecretNames::new("mesh".parse().unwrap(), None, Tenancy::Community, &clusters("prod"))
    }

    fn holder(secret: &str) -> TokenHolder {
        TokenHolder::in_secret(service("web"), secret).unwrap()
    }

    fn secret(state: SecretState) -> StoredSecret {
        StoredSecret { state, is_ours: true, version: None, written_at: None }
    }

    fn token_of(secret: &str) -> ListedToken {
        let holder = holder(secret);
        let description = holder.token_description(&cluster("prod")).for_secret(&names().place_of(&holder));
        token(1, description.as_str())
    }

    /// The refused spellings among these, whose secrets are missing unless they are `emptied`.
    fn refused_of(required: &[&str], tokens: &[&str], emptied: &[&str]) -> Vec<String> {
        let holders = |all: &[&str]| all.iter().map(|secret| holder(secret)).collect::<BTreeSet<_>>();
        let missing = holders(required).into_iter().map(|holder| (holder, secret(SecretState::Missing)));
        let mut secrets: BTreeMap<_, _> = missing.collect();
        secrets.extend(holders(emptied).into_iter().map(|holder| (holder, secret(SecretState::Empty))));
        for name in tokens {
            let pair = TokenPair { accessor: token_of(name).accessor, secret: "s3cret".to_owned().into() };
            secrets.insert(holder(name), secret(SecretState::Active(pair)));
        }
        let tokens: Vec<_> = tokens.iter().map(|secret| token_of(secret)).collect();
        let required = holders(required);
        let refused = refused(&required, &tokens, &secrets, &names());
        refused.into_iter().map(|holder| names().of(holder)).collect()
    }

    #[test]
    fn one_new_spelling_gets_a_token_and_the_service_s_name_is_first() {
        assert_eq!(refused_of(&["web", "Web", "WEB"], &[], &[]), ["mesh-WEB", "mesh-Web"]);
        assert_eq!(
            refused_of(&["wEb", "Web", "WEB"], &[], &[]),
            ["mesh-Web", "mesh-wEb"],
            "then the order of the names"
        );
        assert_eq!(refused_of(&["Web"], &[], &[]), [""; 0]);
    }

    #[test]
    fn another_spelling_with_a_token_is_the_only_one() {
        assert_eq!(refused_of(&["WEB", "Web"], &["Web"], &[]), ["mesh-WEB"]);
        assert_eq!(refused_of(&["web", "Web"], &["Web"], &[]), [""; 0], "definitions can be corrected");
        assert_eq!(refused_of(&["Web"], &["web"], &[]), ["mesh-Web"]);
    }

    #[test]
    fn a_spelling_that_ran_before_keeps_its_token() {
        assert_eq!(refused_of(&["WEB", "Web"], &["Web"], &["WEB"]), [""; 0]);
        assert_eq!(
            refused_of(&["WEB"], &["Web", "web"], &["WEB"]),
            [""; 0],
            "a task that claims the service's name locks none out"
        );
        assert_eq!(refused_of(&["WEB"], &["Web", "web"], &[]), ["mesh-WEB"], "a new one does not");
    }

    #[test]
    fn token_that_no_task_has_used_blocks_no_spelling() {
        let unused = token(1, token_of("WEB").description.with_unused_since(Timestamp::UNIX_EPOCH).as_str());
        let secrets = BTreeMap::from([(holder("Web"), secret(SecretState::Missing))]);
        let required = BTreeSet::from([holder("Web")]);
        assert_eq!(refused(&required, &[unused], &secrets, &names()), BTreeSet::new());
        assert_eq!(refused(&required, &[token_of("WEB")], &secrets, &names()).len(), 1);
    }

    #[test]
    fn tokens_without_the_mark_of_a_secret_and_of_others_count_for_no_spelling() {
        let unmarked = token(1, holder("web").token_description(&cluster("prod")).as_str());
        assert_eq!(spelled(&unmarked, &names()), None, "of consul-ecs");
        assert_eq!(spelled(&token_of("Web"), &names()), Some(holder("Web")));
        let elsewhere = SecretNames::new("other".parse().unwrap(), None, Tenancy::Community, &clusters("prod"));
        assert_eq!(spelled(&token_of("Web"), &elsewhere), None, "of another deployment");
    }
}
