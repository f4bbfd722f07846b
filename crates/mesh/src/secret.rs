//! What a secret in Secrets Manager holds: `{"accessor_id": "<uuid>", "token": "<uuid>"}`, or `{}` before there is a token.
//!
//! Tasks read the key `token` (`valueFrom: "<secret arn>:token::"`). Between the two there is
//! `{"accessor_id": "<uuid>", "reserved": "<uuid>"}`: the pair is decided on, so that all who create it create the same, but
//! no task can read it, because Consul does not hold it yet, or any more.
//!
//! A pair of the old controller's that we have written is marked with `"adopted": true`: from then on it is ours, and made
//! again if Consul loses it, because it may be us who deleted it.
//!
//! A `"claim"` makes one write unlike every other: see `SecretStore::claim`.

use jiff::Timestamp;
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{
    field::InvalidField,
    token::{AccessorId, TokenPair},
};

/// A secret as it was read.
#[derive(Debug, Clone)]
pub struct StoredSecret {
    /// What it holds.
    pub state: SecretState,
    /// Which version that was: a write holds only for the version that was seen. `None`: there was none.
    pub version: Option<String>,
    /// When that version was written.
    pub written_at: Option<Timestamp>,
}

/// What a secret holds now.
#[derive(Debug, Clone)]
pub enum SecretState {
    /// There is no such secret, or it has no value yet.
    Missing,
    /// It holds `{}`: not yet provisioned, or revoked.
    Blank,
    /// It holds a token that no task can read: it is just being made, or revoked.
    Reserved(TokenPair),
    /// It holds a token.
    Holds(TokenPair),
    /// It holds a token of the old controller's that we have taken over.
    Adopted(TokenPair),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Payload<'a> {
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    accessor_id: Option<&'a str>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    token: Option<&'a str>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    reserved: Option<&'a str>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    adopted: bool,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    claim: Option<&'a str>,
}

impl SecretState {
    /// What a secret holds that shows a pair of ours to tasks: one with the holder's `derived` accessor ID, or an adopted one.
    #[must_use]
    pub fn shows(pair: TokenPair, derived: AccessorId) -> Self {
        if pair.accessor == derived { Self::Holds(pair) } else { Self::Adopted(pair) }
    }

    /// The pair that tasks read, if it holds one.
    #[must_use]
    pub fn pair(&self) -> Option<&TokenPair> {
        match self {
            Self::Holds(pair) | Self::Adopted(pair) => Some(pair),
            Self::Missing | Self::Blank | Self::Reserved(_) => None,
        }
    }

    /// The pair that it decides on, whether tasks can read it or not.
    #[must_use]
    pub fn decided(&self) -> Option<&TokenPair> {
        match self {
            Self::Holds(pair) | Self::Adopted(pair) | Self::Reserved(pair) => Some(pair),
            Self::Missing | Self::Blank => None,
        }
    }

    /// What the value of the secret called `name` means.
    ///
    /// # Errors
    /// The value is something else: it is somebody's, and not overwritten. The error never repeats it.
    pub fn parse(name: &str, value: &SecretString) -> Result<Self, InvalidField> {
        let invalid = || {
            InvalidField::new(
                format!("secret {name}"),
                "(not shown)",
                "{\"accessor_id\": \"<uuid>\", \"token\": \"<uuid>\"}, or {} for the controller to fill in",
            )
        };
        let payload: Payload<'_> = serde_json::from_str(value.expose_secret()).map_err(|_| invalid())?;
        let pair = |secret: &str| {
            let accessor = payload.accessor_id.unwrap_or_default().parse().map_err(|_| invalid())?;
            Ok(TokenPair { accessor, secret: SecretString::from(secret) })
        };
        let is_blank = payload.accessor_id.unwrap_or_default().is_empty();
        match (payload.token.unwrap_or_default(), payload.reserved.unwrap_or_default(), payload.adopted) {
            ("", "", false) if is_blank => Ok(Self::Blank),
            ("", reserved, false) if !reserved.is_empty() => pair(reserved).map(Self::Reserved),
            (token, "", false) if !token.is_empty() => pair(token).map(Self::Holds),
            (token, "", true) if !token.is_empty() => pair(token).map(Self::Adopted),
            _ => Err(invalid()),
        }
    }

    /// The value of a secret in this state.
    #[must_use]
    pub fn render(&self) -> SecretString {
        self.render_with(None)
    }

    /// The same, unlike any other value for the same state.
    #[must_use]
    pub fn render_claim(&self, claim: Uuid) -> SecretString {
        self.render_with(Some(&claim.to_string()))
    }

    fn render_with(&self, claim: Option<&str>) -> SecretString {
        let accessor = self.decided().map(|pair| pair.accessor.to_string());
        let secret = self.decided().map(|pair| pair.secret.expose_secret());
        let (token, reserved) = if matches!(self, Self::Reserved(_)) { (None, secret) } else { (secret, None) };
        let adopted = matches!(self, Self::Adopted(_));
        let payload = Payload { accessor_id: accessor.as_deref(), token, reserved, adopted, claim };
        // Optional strings always serialise.
        SecretString::from(serde_json::to_string(&payload).unwrap_or_default())
    }
}

/// What somebody said, without `secret`: whoever refuses a request may repeat it.
#[must_use]
pub fn without(said: &str, secret: &str) -> String {
    if secret.is_empty() { said.to_owned() } else { said.replace(secret, "(secret)") }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const CANARY: &str = "canary-5d2f1c";

    fn parse(value: &str) -> Result<SecretState, InvalidField> {
        SecretState::parse("consul-ecs-web", &SecretString::from(value))
    }

    #[test]
    fn the_states_of_a_value() {
        assert!(matches!(parse("{}"), Ok(SecretState::Blank)));
        assert!(matches!(parse(r#"{"accessor_id":"","token":""}"#), Ok(SecretState::Blank)));
        let held = parse(r#"{"accessor_id":"6e4a3bde-6d1e-4d3c-a4cc-1f2d3c4b5a69","token":"t"}"#);
        assert!(matches!(held, Ok(SecretState::Holds(_))));
        let reserved = parse(r#"{"accessor_id":"6e4a3bde-6d1e-4d3c-a4cc-1f2d3c4b5a69","reserved":"t"}"#);
        assert!(matches!(reserved, Ok(SecretState::Reserved(_))));
        let adopted = parse(r#"{"accessor_id":"6e4a3bde-6d1e-4d3c-a4cc-1f2d3c4b5a69","token":"t","adopted":true}"#);
        assert!(matches!(adopted, Ok(SecretState::Adopted(_))));
    }

    #[test]
    fn tasks_find_no_token_in_a_reserved_pair() {
        let accessor = "6e4a3bde-6d1e-4d3c-a4cc-1f2d3c4b5a69".parse().unwrap();
        let pair = TokenPair { accessor, secret: SecretString::from("t") };
        let reserved = SecretState::Reserved(pair);
        let value: serde_json::Value = serde_json::from_str(reserved.render().expose_secret()).unwrap();
        assert_eq!(value.get("token"), None);
        assert!(reserved.pair().is_none());
    }

    #[test]
    fn somebody_else_s_value_is_refused_without_repeating_it() {
        for value in [
            CANARY,
            r#"{"token":"canary-5d2f1c"}"#,
            r#"{"accessor_id":"canary-5d2f1c"}"#,
            r#"{"username":"canary-5d2f1c"}"#,
            r#"{"accessor_id":"6e4a3bde-6d1e-4d3c-a4cc-1f2d3c4b5a69","reserved":"canary-5d2f1c","adopted":true}"#,
            r#"{"adopted":true}"#,
            r#"{"accessor_id":"6e4a3bde-6d1e-4d3c-a4cc-1f2d3c4b5a69","token":"canary-5d2f1c","reserved":"canary-5d2f1c"}"#,
            "[]",
        ] {
            let error = parse(value).unwrap_err();
            assert!(error.to_string().starts_with("secret consul-ecs-web: "), "{error}");
            assert!(!error.to_string().contains(CANARY), "{error}");
        }
    }

    #[test]
    fn a_pair_survives_the_round_trip_and_debug_shows_no_secret() {
        let accessor = "6e4a3bde-6d1e-4d3c-a4cc-1f2d3c4b5a69".parse().unwrap();
        let pair = TokenPair { accessor, secret: SecretString::from(CANARY) };
        let held = [SecretState::Holds, SecretState::Adopted, SecretState::Reserved];
        for state in held.map(|state| state(pair.clone())) {
            let read = SecretState::parse("s", &state.render()).unwrap();
            assert!(!format!("{read:?}").contains(CANARY));
            assert_eq!(std::mem::discriminant(&read), std::mem::discriminant(&state));
            assert!(read.decided().is_some_and(|decided| decided.is_same_as(&pair)));
            let claimed = state.render_claim(Uuid::nil());
            assert_ne!(claimed.expose_secret(), state.render().expose_secret());
            let read = SecretState::parse("s", &claimed).unwrap();
            assert_eq!(read.render().expose_secret(), state.render().expose_secret());
        }
        assert_eq!(SecretState::Blank.render().expose_secret(), "{}");
    }

    proptest! {
        #[test]
        fn parsing_never_panics(value in "\\PC*") {
            let _ = parse(&value);
        }
    }
}
