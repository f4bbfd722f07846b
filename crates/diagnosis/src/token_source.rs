//! How tasks get their ACL tokens.

use aws::ecs::DefinitionState;
use mesh::{identity::MeshIdentity, required::TokenRules};
use serde::{Deserialize, Serialize};

/// How a task gets its ACL token.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "source", rename_all = "kebab-case")]
pub enum TokenSource {
    /// It logs in.
    AuthMethod {
        /// The auth method, if its configuration names one.
        method: Option<String>,
    },
    /// It reads secrets.
    SecretsManager {
        /// Their names.
        secrets: Vec<String>,
    },
    /// It has none: its configuration neither has a login nor does it read a secret of the controller.
    None,
    /// Its configuration is not known.
    Unknown,
}

/// The login in `CONSUL_ECS_CONFIG_JSON`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Config {
    consul_login: Option<Login>,
}

#[derive(Deserialize)]
struct Login {
    #[serde(default)]
    enabled: bool,
    method: Option<String>,
}

impl TokenSource {
    /// How the tasks of a definition get their tokens. A secret that is read counts even if the task is configured to log
    /// in: consul-ecs skips the login then.
    pub(crate) fn of(state: &DefinitionState, identity: &MeshIdentity, rules: TokenRules<'_>) -> Self {
        let read = rules.read(identity);
        if !read.is_empty() {
            return Self::SecretsManager { secrets: read.iter().map(|holder| rules.names.of(holder)).collect() };
        }
        let config = state.definition.config_json.as_deref().and_then(|json| serde_json::from_str::<Config>(json).ok());
        match config.map(|config| config.consul_login) {
            Some(Some(login)) if login.enabled => Self::AuthMethod { method: login.method },
            Some(_) => Self::None,
            None => Self::Unknown,
        }
    }

    /// It, in one or two words.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::AuthMethod { .. } => "auth method",
            Self::SecretsManager { .. } => "Secrets Manager",
            Self::None => "none",
            Self::Unknown => "unknown",
        }
    }
}
