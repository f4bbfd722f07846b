//! The value of a secret in Secrets Manager. The format that tasks read is consul-ecs' own:
//! <https://github.com/hashicorp/consul-ecs>.
//!
//! | value | meaning |
//! | --- | --- |
//! | `{"accessor_id": A, "token": T, "nonce": N}` | tasks read `T` (`valueFrom: "<secret arn>:token::"`) |
//! | `{"accessor_id": A, "retiring": T, "trigger": …, "idle_since": …, "last_task": …, "nonce": N}` | the service is idle: no task reads `T` |
//! | `{"nonce": N}` | no token |
//!
//! The nonce makes each write unique, and shows that the controller has written the value: it starts with the accessor
//! ID, or with `empty`, so that it is invalid for a value that an operator has edited. Unknown fields are ignored.

use std::{borrow::Cow, collections::HashMap};

use jiff::Timestamp;
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize, de::IgnoredAny};
use uuid::Uuid;

use crate::{
    arn::TaskArn,
    names::{InvalidField, words},
    token::{AccessorId, TokenPair},
};

#[derive(Debug, Clone)]
pub struct StoredSecret {
    pub state: SecretState,
    /// Whether the controller has written it.
    pub is_ours: bool,
    /// The version ID: a write succeeds only if it is still the current one. `None`: there is no version.
    pub version: Option<String>,
    /// When the version was written, by the clock of Secrets Manager.
    pub written_at: Option<Timestamp>,
}

impl StoredSecret {
    pub fn names(&self, accessor: AccessorId) -> bool {
        self.state.pair().is_some_and(|pair| pair.accessor == accessor)
    }
}

#[derive(Debug, Clone)]
pub enum SecretState {
    /// The secret does not exist, or has no value.
    Missing,
    /// It contains no token.
    Empty,
    /// A token that tasks read.
    Active(TokenPair),
    /// A token that tasks cannot read, because its service is idle. It will be deleted or shown again.
    Retiring(TokenPair, Retirement),
}

words! {
    /// The trigger of a revocation, as in logs and in the secret.
    Trigger, "trigger" {
        /// The stop of a task, or the deletion of a cluster.
        Event = "event",
        /// The scheduled sweep.
        Sweep = "sweep",
        /// An operator, who invoked the sweep or deletes the stack.
        Person = "person",
    }
}

/// Why a token is retired.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Retirement {
    /// What caused the hiding; `None` if the value does not say it.
    pub trigger: Option<Trigger>,
    /// When the last task of the service stopped; `None` if ECS lists none.
    pub idle_since: Option<Timestamp>,
    /// That task.
    pub last_task: Option<TaskArn>,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct Payload<'a> {
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    accessor_id: Option<&'a str>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    token: Option<&'a str>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    retiring: Option<&'a str>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    trigger: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    idle_since: Option<Cow<'a, str>>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    last_task: Option<&'a str>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    nonce: Option<&'a str>,
    #[serde(borrow, flatten, skip_serializing)]
    #[expect(clippy::zero_sized_map_values, reason = "what is flattened is a map")]
    unknown: HashMap<&'a str, IgnoredAny>,
}

/// The start of the nonce of a value without a token.
const EMPTY: &str = "empty";

impl Payload<'_> {
    fn accessor(&self) -> &str {
        self.accessor_id.unwrap_or_default()
    }

    fn is_ours(&self) -> bool {
        let expected = if self.accessor().is_empty() { EMPTY } else { self.accessor() };
        self.nonce.and_then(|nonce| nonce.split_once('/')).is_some_and(|(start, _)| start == expected)
    }

    fn pair(&self, secret: &str) -> Result<TokenPair, InvalidField> {
        Ok(TokenPair { accessor: self.accessor().parse()?, secret: SecretString::from(secret) })
    }

    fn retirement(&self) -> Retirement {
        Retirement {
            trigger: self.trigger.and_then(|trigger| trigger.parse().ok()),
            idle_since: self.idle_since.as_deref().and_then(|at| at.parse().ok()),
            last_task: self.last_task.and_then(|arn| arn.parse().ok()),
        }
    }
}

impl SecretState {
    /// The token, whether tasks read it or not.
    pub fn pair(&self) -> Option<&TokenPair> {
        match self {
            Self::Active(pair) | Self::Retiring(pair, _) => Some(pair),
            Self::Missing | Self::Empty => None,
        }
    }

    pub fn shown(&self) -> Option<&TokenPair> {
        match self {
            Self::Active(pair) => Some(pair),
            Self::Missing | Self::Empty | Self::Retiring(..) => None,
        }
    }

    /// Parses the value of the secret `name`: its state, and whether the controller has written it.
    ///
    /// # Errors
    /// The value has another format; such a secret is not overwritten. The error does not contain the value.
    pub fn parse(name: &str, value: &SecretString) -> Result<(Self, bool), InvalidField> {
        let invalid = || {
            InvalidField::new(
                format!("secret {name}"),
                "(not shown)",
                "{\"accessor_id\": \"<uuid>\", \"token\": \"<uuid>\"}, or {} for the controller to fill in",
            )
        };
        let payload: Payload<'_> = serde_json::from_str(value.expose_secret()).map_err(|_| invalid())?;
        let is_ours = payload.is_ours();
        let state = match (payload.accessor(), payload.token.unwrap_or_default(), payload.retiring.unwrap_or_default())
        {
            ("", "", "") if is_ours || payload.unknown.is_empty() => Ok(Self::Empty),
            (_, "", "") => Err(invalid()),
            (_, token, "") => payload.pair(token).map(Self::Active),
            (_, "", hidden) => payload.pair(hidden).map(|pair| Self::Retiring(pair, payload.retirement())),
            _ => Err(invalid()),
        };
        Ok((state.map_err(|_| invalid())?, is_ours))
    }

    /// The value of a secret in this state. Each `nonce` gives another value.
    pub fn render(&self, nonce: Uuid) -> SecretString {
        let accessor = self.pair().map(|pair| pair.accessor.to_string());
        let nonce = format!("{}/{nonce}", accessor.as_deref().unwrap_or(EMPTY));
        let mut payload = Payload { accessor_id: accessor.as_deref(), nonce: Some(&nonce), ..Payload::default() };
        let secret = self.pair().map(|pair| pair.secret.expose_secret());
        if let Self::Retiring(_, retirement) = self {
            payload.retiring = secret;
            payload.trigger = retirement.trigger.map(Trigger::as_str);
            payload.idle_since = retirement.idle_since.map(|at| at.to_string().into());
            payload.last_task = retirement.last_task.as_ref().map(TaskArn::as_str);
        } else {
            payload.token = secret;
        }
        // Serializing strings cannot fail.
        SecretString::from(serde_json::to_string(&payload).unwrap_or_default())
    }
}

/// Removes `secret` from the text of an answer, which may repeat the request.
pub fn redact(text: &str, secret: &str) -> String {
    if secret.is_empty() { text.to_owned() } else { text.replace(secret, "(secret)") }
}

#[cfg(test)]
mod tests;
