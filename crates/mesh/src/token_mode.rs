//! How tasks get their tokens.

use std::str::FromStr;

use super::field::InvalidField;

/// How tasks get their tokens. It decides which tokens are created, and which tasks keep a token: in [`Self::Auto`] those
/// that read its secret, in the other modes every task of the service too. All other deletions are the same.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TokenMode {
    /// The task definition decides: a task gets each token whose secret its own revision reads, and no other.
    #[default]
    Auto,
    /// Every service gets a token in Secrets Manager (consul-ecs 0.2 to 0.4).
    SecretsManager,
    /// Tasks log in with an auth method (consul-ecs 0.5 and newer), and the controller creates no token.
    AuthMethod,
}

impl FromStr for TokenMode {
    type Err = InvalidField;

    fn from_str(name: &str) -> Result<Self, InvalidField> {
        match name {
            "auto" => Ok(Self::Auto),
            "secrets-manager" => Ok(Self::SecretsManager),
            "auth-method" => Ok(Self::AuthMethod),
            other => Err(InvalidField::new("token mode", other, "auto, secrets-manager or auth-method")),
        }
    }
}
