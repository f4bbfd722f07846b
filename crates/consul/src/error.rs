//! What can go wrong with Consul, told apart by what the caller should do about it.

use std::time::Duration;

/// The longest part of an answer that an error repeats, in characters.
const SHOWN_CHARS: usize = 300;

/// An error of Consul's HTTP API. `subject` says what was asked for, without any secret.
#[derive(Debug, thiserror::Error)]
pub enum ConsulError {
    /// The thing does not exist, and the controller's own credential is proven good.
    #[error("{subject}: not found in Consul")]
    NotFound {
        /// What was asked for.
        subject: String,
    },
    /// Consul does not know the controller's own token.
    #[error(
        "{subject}: Consul does not know the controller's own ACL token; put a valid one into the secret \
         CONSUL_HTTP_TOKEN_SECRET_ARN (or CONSUL_HTTP_TOKEN)"
    )]
    CredentialRejected {
        /// What was asked for.
        subject: String,
    },
    /// The controller's token is valid, but may not do this.
    #[error(
        "{subject}: the controller's ACL token lacks a permission: {reason}; compare its policy with that in docs/deploy.md"
    )]
    PermissionDenied {
        /// What was asked for.
        subject: String,
        /// Consul's words.
        reason: String,
    },
    /// Somebody else was first: the accessor ID or name is taken, or what was seen has changed since.
    #[error("{subject}: changed meanwhile: {reason}")]
    Conflict {
        /// What was asked for.
        subject: String,
        /// Consul's words.
        reason: String,
    },
    /// Consul limits the rate of requests.
    #[error("{subject}: Consul throttled the request")]
    Throttled {
        /// What was asked for.
        subject: String,
        /// How long Consul asks to wait.
        retry_after: Option<Duration>,
    },
    /// No server could answer now: no connection, no leader, a time-out.
    #[error("{subject}: Consul is unavailable: {reason}")]
    Unavailable {
        /// What was asked for.
        subject: String,
        /// What happened.
        reason: String,
        /// Whether the request certainly reached no server that could act on it: then the next address is tried at send_once.
        had_no_effect: bool,
    },
    /// Consul refused the request as such.
    #[error("{subject}: Consul refused with status {status}: {reason}")]
    Refused {
        /// What was asked for.
        subject: String,
        /// The HTTP status.
        status: u16,
        /// Consul's words.
        reason: String,
    },
    /// The answer is not what the API documents.
    #[error("{subject}: Consul's answer could not be read: {reason}")]
    Malformed {
        /// What was asked for.
        subject: String,
        /// Where reading stopped. Never a part of the answer, which may hold secrets.
        reason: String,
    },
    /// The controller's own credential could not be read.
    #[error("the controller's own Consul ACL token could not be read: {reason}")]
    CredentialUnreadable {
        /// What happened.
        reason: String,
    },
}

/// An answer of Consul that is not a success, before it is judged.
pub(super) enum Refusal {
    /// `ACL not found`, or status 404: either what was asked for is gone, or our own token is (from Consul 1.15 on, some
    /// calls answer 404 for both). Only a second question can tell.
    Ambiguous,
    /// There is no server to ask. It was waited for already, so that another attempt is the caller's business.
    NoServers(ConsulError),
    /// Anything that needs no second question.
    Known(ConsulError),
}

/// Sorts an answer by status and body. The traps: one answer for two
/// facts, and status 500 for conflicts and for elections.
pub(super) fn classify(subject: &str, status: u16, retry_after: Option<Duration>, body: &str) -> Refusal {
    let subject = subject.to_owned();
    let reason: String = body.trim().chars().take(SHOWN_CHARS).collect();
    // A check whose service is gone: with ACLs on, Consul notices before it writes.
    let gone = ["Missing service registration", "' for check '"];
    let conflicts = ["is already in use", "already exists", "index is stale"].into_iter().chain(gone);
    let is_conflict = conflicts.into_iter().any(|text| body.contains(text));
    let has_no_leader = body.contains("No cluster leader") || body.contains("No known Consul servers");
    let is_transient = ["leadership lost", "not the leader", "connection refused", "rpc error getting client"];
    let is_transient = is_transient.iter().any(|text| body.contains(text));
    Refusal::Known(match status {
        404 => return Refusal::Ambiguous,
        403 if body.contains("ACL not found") => return Refusal::Ambiguous,
        // A transaction that the token may not do is rolled back like one that conflicts.
        403 | 409 if status == 403 || body.contains("Permission denied") => {
            ConsulError::PermissionDenied { subject, reason }
        }
        409 => ConsulError::Conflict { subject, reason },
        429 => ConsulError::Throttled { subject, retry_after },
        // Of the token that was to be updated: its accessor ID follows.
        500 if body.contains("Cannot find token \"") => ConsulError::NotFound { subject },
        500 if has_no_leader => ConsulError::Unavailable { subject, reason, had_no_effect: true },
        500 if is_transient => ConsulError::Unavailable { subject, reason, had_no_effect: false },
        500 if is_conflict => ConsulError::Conflict { subject, reason },
        502..=504 => ConsulError::Unavailable { subject, reason, had_no_effect: false },
        _ => ConsulError::Refused { subject, status, reason },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted(status: u16, body: &str) -> String {
        match classify("the thing", status, None, body) {
            Refusal::Ambiguous => "ambiguous".to_owned(),
            Refusal::NoServers(error) | Refusal::Known(error) => {
                let debug = format!("{error:?}");
                debug.split_whitespace().next().unwrap_or_default().to_owned()
            }
        }
    }

    #[test]
    fn every_measured_answer_is_told_apart() {
        assert_eq!(sorted(403, "ACL not found"), "ambiguous");
        assert_eq!(sorted(403, "rpc error making call: ACL not found"), "ambiguous");
        assert_eq!(sorted(403, "Permission denied: token lacks permission 'acl:write'"), "PermissionDenied");
        assert_eq!(sorted(409, r#"{"Errors":[{"OpIndex":0,"What":"Permission denied"}]}"#), "PermissionDenied");
        assert_eq!(sorted(409, r#"{"Errors":[{"OpIndex":0,"What":"failed to delete, index is stale"}]}"#), "Conflict");
        assert_eq!(sorted(404, ""), "ambiguous");
        assert_eq!(sorted(500, "leadership lost while committing log"), "Unavailable");
        assert_eq!(sorted(500, "Invalid Token: AccessorID is already in use"), "Conflict");
        assert_eq!(sorted(500, "Invalid Policy: A Policy with Name \"p\" already exists"), "Conflict");
        assert_eq!(sorted(500, "Missing service registration"), "Conflict");
        assert_eq!(sorted(500, "Unknown service 'web-1' for check 'web-1-app'"), "Conflict");
        assert_eq!(sorted(500, "Cannot find token \"6e4a3bde-6d1e-4d3c-a4cc-1f2d3c4b5a69\""), "NotFound");
        assert_eq!(sorted(500, "No cluster leader"), "Unavailable");
        assert_eq!(sorted(503, "upstream connect error"), "Unavailable");
        assert_eq!(sorted(429, "Too many requests"), "Throttled");
        assert_eq!(sorted(400, "Invalid query parameter: \"ns\""), "Refused");
        assert_eq!(sorted(500, "Service identity \"_\" has an invalid name"), "Refused");
    }
}
