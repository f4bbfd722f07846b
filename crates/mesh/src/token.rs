//! ACL tokens.

use std::{fmt, str::FromStr};

use jiff::Timestamp;
use secrecy::{ExposeSecret, SecretString};
use uuid::Uuid;

use crate::{
    arn::{ClusterArn, TaskId},
    mark::{HolderMark, LoginMark, TokenDescription},
    names::InvalidField,
    tenancy::Tenancy,
};

/// The accessor ID of an ACL token, which is not secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AccessorId(Uuid);

impl AccessorId {
    /// The accessor ID of a new token. Each ID is used once.
    pub fn new(id: Uuid) -> Self {
        Self(id)
    }
}

impl FromStr for AccessorId {
    type Err = InvalidField;

    fn from_str(id: &str) -> Result<Self, InvalidField> {
        Uuid::parse_str(id).map(Self).map_err(|_| InvalidField::new("accessor ID", id, "a UUID"))
    }
}

impl fmt::Display for AccessorId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The two halves of a token.
#[derive(Debug, Clone)]
pub struct TokenPair {
    pub accessor: AccessorId,
    /// The secret ID, redacted in debug output and zeroed on drop.
    pub secret: SecretString,
}

impl TokenPair {
    /// Whether both halves are equal.
    pub fn is_same_as(&self, other: &Self) -> bool {
        self.accessor == other.accessor && self.secret.expose_secret() == other.secret.expose_secret()
    }
}

/// What Consul's lists show of the grants of a token or an ACL role: the rules of policies are not in them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Grants {
    /// Service identities, and uses of the templated policy `builtin/service`.
    pub services: Vec<ServiceGrant>,
    /// The names of the linked roles.
    pub roles: Vec<String>,
    /// The names of the linked policies.
    pub policies: Vec<String>,
}

/// Write on a service and its sidecar proxy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceGrant {
    pub service: String,
    /// The datacenters in which it is valid; empty: all.
    pub datacenters: Vec<String>,
}

impl Grants {
    /// Whether the identity of `service` is granted in `datacenter`.
    pub fn has_service(&self, service: &str, datacenter: &str) -> bool {
        self.services.iter().any(|grant| {
            grant.service == service
                && (grant.datacenters.is_empty() || grant.datacenters.iter().any(|name| name == datacenter))
        })
    }
}

/// A token in Consul's list of tokens, without its secret ID.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedToken {
    pub accessor: AccessorId,
    pub description: TokenDescription,
    /// The auth method of the login; `None` if the token was not created by a login.
    pub auth_method: Option<String>,
    /// Whether it is valid in this datacenter only.
    pub is_local: bool,
    pub grants: Grants,
    /// When it was created; `None` if the time cannot be parsed.
    pub created_at: Option<Timestamp>,
    /// When Consul deletes it; `None` without an end.
    pub expires_at: Option<Timestamp>,
    pub tenancy: Tenancy,
}

impl ListedToken {
    /// The task that its description names: what the task said when it logged in, which its author can choose.
    pub fn login(&self) -> Option<&LoginMark> {
        self.description.login()
    }

    /// The mark of the controller that created it.
    pub fn mark(&self) -> Option<&HolderMark> {
        self.description.holder_mark()
    }

    /// Whether a login created it, and its description names `task` of `cluster`.
    pub fn is_login_of(&self, task: &TaskId, cluster: &ClusterArn) -> bool {
        self.auth_method.is_some() && self.login().is_some_and(|login| login.is_of(task, cluster))
    }

    /// The ACL roles that it links, in its own tenancy.
    pub fn linked_roles(&self) -> impl Iterator<Item = (Tenancy, String)> {
        self.grants.roles.iter().map(|role| (self.tenancy.clone(), role.clone()))
    }
}
