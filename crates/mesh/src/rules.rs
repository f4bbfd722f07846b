//! The configuration of a plan.

use std::time::Duration;

use jiff::Timestamp;

use crate::{
    bounds::Bounds, cluster_selection::ClusterSelection, grace::GracePeriod, required::TokenRules, secret::Trigger,
    secret_name::SecretNames, token_mode::TokenMode,
};

/// The settings of one deployment that a plan depends on, and the current time.
#[derive(Debug, Clone, Copy)]
pub struct Rules<'a> {
    /// How tasks get their tokens.
    pub mode: TokenMode,
    /// The clusters of the deployment.
    pub clusters: &'a ClusterSelection,
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

impl<'a> Rules<'a> {
    /// What decides which tokens a task requires.
    pub fn tokens(&self) -> TokenRules<'a> {
        TokenRules { mode: self.mode, names: self.names }
    }
}
