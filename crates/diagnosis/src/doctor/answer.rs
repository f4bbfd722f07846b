//! What the function `reconcile` answers to `{"check": true}`.

use aws::installation::Invoked;
use report::CheckReport;
use serde::Deserialize;
use serde_json::{Value, json};

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
pub(super) fn read(invoked: Invoked) -> Result<CheckReport, NoAnswer> {
    match invoked {
        Invoked::Answer(value) => CheckReport::deserialize(value)
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
