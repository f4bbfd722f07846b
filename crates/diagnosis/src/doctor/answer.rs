//! What the function `reconcile` answers to `{"check": true}`.

use aws::stack::Invoked;
use serde::Deserialize;
use serde_json::{Value, json};

/// What the functions find out about their installation, from where they run.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Answer {
    /// Why Consul could not be asked.
    pub(super) consul: Option<Problem>,
    /// The version of Consul.
    pub(super) version: Option<String>,
    /// The rules that the policy of the controller's token lacks.
    pub(super) missing_permissions: Vec<String>,
    /// `None` if ACLs are off, or if it could not be read.
    pub(super) token: Option<Token>,
    /// Whether ACLs are off.
    #[serde(default)]
    pub(super) acls_disabled: bool,
    pub(super) set_up: SetUp,
    /// What a sweep could not read.
    pub(super) problems: Vec<Problem>,
    /// What a sweep would hold back.
    pub(super) held_back: Vec<String>,
}

/// What could not be read.
#[derive(Debug, Clone, Default, Deserialize)]
pub(super) struct Problem {
    /// A label of the log's.
    pub(super) label: String,
    pub(super) reason: String,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Token {
    pub(super) accessor_id: String,
    /// The names of its policies.
    pub(super) policies: Vec<String>,
    /// The rules of its policies that the controller does not need.
    #[serde(default)]
    pub(super) excess: Vec<String>,
}

/// What is missing of what tasks need in Consul.
#[derive(Debug, Clone, Default, Deserialize)]
pub(super) struct SetUp {
    pub(super) missing: Vec<String>,
    /// Objects that have to be extended.
    pub(super) incomplete: Vec<String>,
    /// Objects that this Consul cannot have.
    pub(super) skipped: Vec<String>,
    /// Why objects could not be compared.
    pub(super) failed: Vec<String>,
    /// How many objects are as they should be.
    pub(super) complete: usize,
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum NoAnswer {
    /// The function does not start, or fails.
    Failed(String),
    /// It could not be asked.
    Unasked(String),
}

/// The payload that asks for it.
pub(super) fn question() -> Value {
    json!({ "check": true })
}

/// The answer of the function.
///
/// # Errors
/// The function does not start, or is of a release that does not know the question.
pub(super) fn read(invoked: Invoked) -> Result<Answer, NoAnswer> {
    match invoked {
        Invoked::Answer(value) => Answer::deserialize(value)
            .map_err(|error| NoAnswer::Unasked(format!("the answer of reconcile could not be read: {error}"))),
        Invoked::Error(message) if message.contains("unknown field `check`") => {
            let why = "the function reconcile is older than this command, and cannot be asked; update the stack";
            Err(NoAnswer::Unasked(why.to_owned()))
        }
        Invoked::Error(message) => Err(NoAnswer::Failed(format!("the function reconcile failed: {message}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn function_that_does_not_start_says_why() {
        let why = read(Invoked::Error("CONSUL_HTTP_ADDR: got \"\"".to_owned())).unwrap_err();
        assert_eq!(why, NoAnswer::Failed("the function reconcile failed: CONSUL_HTTP_ADDR: got \"\"".to_owned()));
        let old = "payload: got {\"check\":true}, expected …: unknown field `check`, expected one of `clusters`";
        let why = read(Invoked::Error(old.to_owned())).unwrap_err();
        assert!(matches!(&why, NoAnswer::Unasked(why) if why.contains("update the stack")), "{why:?}");
    }
}
