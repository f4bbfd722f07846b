//! How tasks get their tokens.

/// How tasks get their tokens. The mode determines only the creation of tokens: deletions are the same in each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenMode {
    /// The task definition decides: a task gets each token whose secret its own revision reads, and no other.
    Auto,
    /// Every service gets a token in Secrets Manager (consul-ecs 0.2 to 0.4).
    SecretsManager,
    /// Tasks log in with an auth method (consul-ecs 0.5 and newer), and the controller creates no token.
    AuthMethod,
}
