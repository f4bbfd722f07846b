//! ACL tokens with their secret IDs and permissions, and the descriptions of login tokens.

use mesh::{login::LoginMark, service_name::ServiceName, tenancy::Tenancy, token::TokenPair};
use secrecy::ExposeSecret;
use serde::Deserialize;
use serde_json::Value;

use crate::object::Fields;

/// A token as Consul returns it.
#[derive(Debug, Clone)]
pub struct Token {
    /// Its accessor ID and secret ID.
    pub pair: TokenPair,
    /// Its description, with the marks of its creator.
    pub description: String,
    /// Its permissions, by the names of Consul's fields.
    pub grants: Fields,
    /// Where it was read.
    pub tenancy: Tenancy,
}

/// The value that Consul returns instead of the secret ID to a credential without `acl:write`.
const HIDDEN: &str = "<hidden>";

impl Token {
    /// Whether Consul has not shown the secret ID: only a client that
    /// [accepts it](crate::HttpConsul::accepting_hidden_secrets) returns such a token.
    pub fn hides_its_secret(&self) -> bool {
        self.pair.secret.expose_secret() == HIDDEN
    }

    /// Whether the token has no permissions. Consul removes links to deleted policies and roles.
    pub fn grants_nothing(&self) -> bool {
        let is_link = |value: &Value| value.as_array().is_some_and(|links| !links.is_empty());
        !self.grants.values().any(is_link)
    }
}

/// The permissions of a new token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Grant {
    /// A service identity: write on the service and its sidecar proxy, read on all services and nodes.
    ServiceIdentity(ServiceName),
    /// A policy, by name.
    Policy(String),
    /// The permissions that a token already has, by the names of Consul's fields.
    AsBefore(Fields),
}

/// A token to be created.
#[derive(Debug, Clone)]
pub struct NewToken {
    /// Its accessor ID and secret ID.
    pub pair: TokenPair,
    /// Its description.
    pub description: String,
    /// Its permissions.
    pub grant: Grant,
    /// Its tenancy.
    pub tenancy: Tenancy,
}

/// The text that Consul puts before the metadata of a login in the description of the token.
const LOGIN_PREFIX: &str = "token created via login: ";

/// The metadata with which a task of consul-ecs logs in.
#[derive(Deserialize)]
struct LoginMeta {
    #[serde(rename = "consul.hashicorp.com/task-id")]
    task_id: String,
    #[serde(rename = "consul.hashicorp.com/cluster")]
    cluster: String,
}

/// The task that logged in for the token with this description; `None` if it is not the login token of a task.
///
/// ```
/// let mark = consul::login_mark(
///     "token created via login: {\"consul.hashicorp.com/cluster\":\"prod\",\
///      \"consul.hashicorp.com/task-id\":\"0123456789abcdef0123456789abcdef\"}",
/// );
/// assert_eq!(mark.expect("the mark of a task").cluster, "prod");
/// assert_eq!(consul::login_mark("token created via login"), None);
/// ```
pub fn login_mark(description: &str) -> Option<LoginMark> {
    let meta: LoginMeta = serde_json::from_str(description.strip_prefix(LOGIN_PREFIX)?).ok()?;
    Some(LoginMark { cluster: meta.cluster, task: meta.task_id.parse().ok()? })
}
