//! Errors of Consul, by what the caller has to do.

use std::time::Duration;

use crate::credential::TokenOwner;

/// How much of an answer an error contains, in characters.
const SHOWN_CHARS: usize = 300;

/// An error of Consul's HTTP API. `subject` is the requested object, without secrets; `reason` is the text of Consul's answer, or
/// the cause.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ConsulError {
    /// The object does not exist. The client's token is valid.
    #[error("{subject}: not found in Consul")]
    NotFound { subject: String },
    /// Consul does not know the client's token.
    #[error("{subject}: Consul does not know {token}{}", .token.replacement())]
    CredentialRejected { subject: String, token: TokenOwner },
    /// ACLs are off on the server: there are no tokens, policies, roles and auth methods.
    #[error(
        "{subject}: ACLs are off in Consul; turn them on (acl.enabled), or use task definitions that read no ACL token"
    )]
    AclsDisabled { subject: String },
    /// The client's token is valid, but does not have the permission.
    #[error("{subject}: {token} lacks a permission: {reason}{}", .token.policy())]
    PermissionDenied { subject: String, token: TokenOwner, reason: String },
    /// Another writer was faster: the accessor ID or name exists, or the object has changed since it was read.
    #[error("{subject}: another writer changed it first: {reason}")]
    Conflict { subject: String, reason: String },
    /// Consul limits the rate of requests.
    #[error("{subject}: Consul throttled the request")]
    Throttled { subject: String, retry_after: Option<Duration> },
    /// No server could answer: no connection, no leader, or a timeout. `had_no_effect`: the request certainly had none, so that the
    /// next address is tried at once.
    #[error("{subject}: Consul is unavailable: {reason}")]
    Unavailable { subject: String, reason: String, had_no_effect: bool },
    /// Consul rejected the request.
    #[error("{subject}: Consul refused with status {status}: {reason}")]
    Refused { subject: String, status: u16, reason: String },
    /// The answer is not what the API documents. `reason` says where parsing stopped. It is never a part of the answer, which
    /// may contain secrets.
    #[error("{subject}: Consul's answer could not be read: {reason}")]
    Malformed { subject: String, reason: String },
    /// The answer, or one element of a list, is longer than the limit, in MiB.
    #[error(
        "{subject}: Consul's answer is longer than the limit of {limit} MiB. Check that CONSUL_HTTP_ADDR leads to Consul's HTTP \
         API, and delete tokens and instances that nobody uses"
    )]
    TooLarge { subject: String, limit: usize },
    /// The client's token could not be read, perhaps because AWS denied it.
    #[error("{token} could not be read: {reason}")]
    CredentialUnreadable { token: TokenOwner, reason: String, is_denied: bool },
}

impl ConsulError {
    /// The permission that the token lacks, if Consul names it: for example `acl:read`.
    pub fn missing_permission(&self) -> Option<&str> {
        let Self::PermissionDenied { reason, .. } = self else { return None };
        let (_, named) = reason.split_once("lacks permission '")?;
        named.split_once('\'').map(|(permission, _)| permission)
    }
}

/// `None` if Consul certainly has no such object.
pub(crate) fn if_found<T>(answer: Result<T, ConsulError>) -> Result<Option<T>, ConsulError> {
    match answer {
        Ok(found) => Ok(Some(found)),
        Err(ConsulError::NotFound { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Why a request was not successful, before a second request has resolved an ambiguous answer.
#[derive(Debug)]
pub enum Refusal {
    /// `ACL not found`, or status 404: either the requested object does not exist, or the own token does not (since
    /// Consul 1.15, some endpoints return 404 for both). A second request distinguishes them: if Consul knows the own
    /// token, it is [`ConsulError::NotFound`], otherwise [`ConsulError::CredentialRejected`].
    Ambiguous,
    /// There is no server after the time for discovery, so that the request is not retried. Not from [`classify`]: no
    /// server has answered.
    NoServers(ConsulError),
    /// Any other answer, and a request without an answer.
    Known(ConsulError),
}

/// Classifies an unsuccessful answer to a request with the token of `token` by its status and body; `subject` is the requested object,
/// and `retry_after` the header `Retry-After`. Consul returns `ACL not found` for two cases, and status 500 for conflicts and elections.
pub fn classify(subject: &str, token: TokenOwner, status: u16, retry_after: Option<Duration>, body: &str) -> Refusal {
    let subject = subject.to_owned();
    let reason: String = body.trim().chars().take(SHOWN_CHARS).collect();
    // A check of a deregistered service: `Unknown service 'web-1' for check 'web-1-app'` in Consul 1.8, `Unknown service ID
    // 'web-1' for check ID 'web-1-app'` in 1.21. With ACLs enabled, Consul answers so before it checks the permission.
    let is_gone = body.starts_with("Unknown service ") || body.starts_with("Unknown check ");
    let conflicts = ["is already in use", "already exists", "index is stale", "Missing service registration"];
    let is_conflict = is_gone || conflicts.into_iter().any(|text| body.contains(text));
    // For updates: an ID follows.
    let is_missing = ["Cannot find token \"", "cannot find role "].into_iter().any(|text| body.contains(text));
    let has_no_leader = body.contains("No cluster leader") || body.contains("No known Consul servers");
    let is_transient = ["leadership lost", "not the leader", "connection refused", "rpc error getting client"];
    let is_transient = is_transient.iter().any(|text| body.contains(text));
    Refusal::Known(match status {
        401 if body.contains("ACL support disabled") => ConsulError::AclsDisabled { subject },
        404 => return Refusal::Ambiguous,
        403 if body.contains("ACL not found") => return Refusal::Ambiguous,
        // A transaction without permission is rolled back with the status of a conflict.
        403 | 409 if status == 403 || body.contains("Permission denied") => {
            ConsulError::PermissionDenied { subject, token, reason }
        }
        409 => ConsulError::Conflict { subject, reason },
        429 => ConsulError::Throttled { subject, retry_after },
        500 if is_missing => ConsulError::NotFound { subject },
        500 if has_no_leader => ConsulError::Unavailable { subject, reason, had_no_effect: true },
        500 if is_transient => ConsulError::Unavailable { subject, reason, had_no_effect: false },
        500 if is_conflict => ConsulError::Conflict { subject, reason },
        502..=504 => ConsulError::Unavailable { subject, reason, had_no_effect: false },
        _ => ConsulError::Refused { subject, status, reason },
    })
}

#[cfg(test)]
mod tests;
