//! The configuration of a plan.

use std::time::Duration;

use jiff::Timestamp;

use crate::{arn::ClusterArn, bounds::Bounds, grace::GracePeriod, secret::Trigger, secret_name::SecretNames};

/// How tasks get their tokens. The mode determines only the creation of tokens: deletions are the same in both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenMode {
    /// The controller creates tokens and stores them in Secrets Manager (consul-ecs 0.2 to 0.4).
    SecretsManager,
    /// Tasks log in with an auth method (consul-ecs 0.5 and newer), and the controller creates none.
    AuthMethod,
}

/// The settings of one deployment that a plan depends on, and the current time.
#[derive(Debug, Clone, Copy)]
pub struct Rules<'a> {
    /// How tasks get their tokens.
    pub mode: TokenMode,
    /// The clusters of the deployment.
    pub clusters: &'a [ClusterArn],
    /// How secrets are named.
    pub names: &'a SecretNames,
    /// How long an idle service keeps its token.
    pub grace: GracePeriod,
    /// The time bounds.
    pub bounds: &'a Bounds,
    /// How long a pre-provisioned token waits for the first task of its service.
    pub unused_for: Duration,
    /// The trigger of revocations, for logs.
    pub trigger: Trigger,
    /// The current time.
    pub now: Timestamp,
}
