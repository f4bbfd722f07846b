//! The rules of one deployment.

use std::time::Duration;

use jiff::Timestamp;

use crate::{arn::ClusterArn, bounds::Bounds, grace::GracePeriod, secret::Trigger, secret_name::SecretNames};

/// Who makes the tokens of starting tasks. It decides about creation only: cleaning up is the same in both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenMode {
    /// The controller makes tokens and keeps them in Secrets Manager (consul-ecs 0.2 to 0.4).
    SecretsManager,
    /// Tasks log in through Consul's auth method (consul-ecs 0.5 and newer): nothing to make.
    AuthMethod,
}

/// The rules of one deployment that the plan depends on.
#[derive(Debug, Clone, Copy)]
pub struct Rules<'a> {
    /// Who makes tokens.
    pub mode: TokenMode,
    /// The clusters that it looks after.
    pub clusters: &'a [ClusterArn],
    /// How secrets are named.
    pub names: &'a SecretNames,
    /// How long an idle service keeps its token.
    pub grace: GracePeriod,
    /// What is assumed of time.
    pub bounds: &'a Bounds,
    /// How long a token that was made ahead waits for its service's first task.
    pub unused_for: Duration,
    /// What a revocation would be triggered by.
    pub trigger: Trigger,
    /// The time of day.
    pub now: Timestamp,
}
