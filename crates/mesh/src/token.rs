//! ACL tokens: who holds one, and what is in it.

use std::{fmt, str::FromStr};

use jiff::Timestamp;
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Map, Value};
use uuid::Uuid;

use super::{arn::ClusterArn, field::InvalidField, identity::MeshService, service_name::ServiceName, tenancy::Tenancy};

/// The public half of an ACL token: its accessor ID.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AccessorId(Uuid);

impl AccessorId {
    /// The accessor ID of a new token. Each is used once.
    #[must_use]
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

/// Who a token in Secrets Manager is for.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TokenHolder {
    /// All instances of a service share one token.
    Service(MeshService),
    /// All Consul client agents (`consul-client` containers) of a partition share one token.
    Client {
        /// Where the client agents live: the partition's default namespace.
        tenancy: Tenancy,
    },
}

impl TokenHolder {
    /// Where in Consul the token lives.
    #[must_use]
    pub fn tenancy(&self) -> &Tenancy {
        match self {
            Self::Service(service) => &service.tenancy,
            Self::Client { tenancy } => tenancy,
        }
    }

    /// The description of the holder's token, which marks it as made for `cluster`, in the old controller's words:
    /// it goes on working should a user go back.
    #[must_use]
    pub fn token_description(&self, cluster: &ClusterArn) -> String {
        let holder = match self {
            Self::Service(service) => format!("Token for {} service", service.name),
            Self::Client { .. } => "Token for consul-client".to_owned(),
        };
        let mut description = format!("{holder}\nconsul.hashicorp.com/cluster: {cluster}");
        if let Tenancy::Enterprise { partition, namespace } = self.tenancy() {
            use std::fmt::Write as _;
            // Writing to a String cannot fail.
            let _ = write!(
                description,
                "\nconsul.hashicorp.com/partition: {partition}\nconsul.hashicorp.com/namespace: {namespace}"
            );
        }
        description
    }
}

impl fmt::Display for TokenHolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Service(service) => write!(f, "service {}", service.name),
            Self::Client { .. } => f.write_str("consul-client"),
        }
    }
}

/// The two halves of a token.
#[derive(Debug, Clone)]
pub struct TokenPair {
    /// The public half.
    pub accessor: AccessorId,
    /// The secret half: redacted in every output, zeroed on drop.
    pub secret: SecretString,
}

impl TokenPair {
    /// Whether both halves are the same.
    #[must_use]
    pub fn is_same_as(&self, other: &Self) -> bool {
        self.accessor == other.accessor && self.secret.expose_secret() == other.secret.expose_secret()
    }
}

/// A token as Consul shows it to a credential with `acl:write`.
#[derive(Debug, Clone)]
pub struct Token {
    /// Its two halves.
    pub pair: TokenPair,
    /// Its description: what marks it as ours.
    pub description: String,
    /// What it may do, by the names of Consul's fields.
    pub grants: Map<String, Value>,
}

impl Token {
    /// Whether nothing links it to any right. Consul unlinks a policy or a role that is deleted.
    #[must_use]
    pub fn grants_nothing(&self) -> bool {
        let is_link = |value: &Value| value.as_array().is_some_and(|links| !links.is_empty());
        !self.grants.values().any(is_link)
    }
}

/// A token as it stands in Consul's list: without its secret half.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedToken {
    /// Its accessor ID.
    pub accessor: AccessorId,
    /// Its description.
    pub description: String,
    /// The names of the policies that it carries.
    pub policies: Vec<String>,
    /// When it was made. Every Consul says so; `None` where it cannot be understood.
    pub created_at: Option<Timestamp>,
    /// Where it lives.
    pub tenancy: Tenancy,
}

/// What a new token may do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Grant {
    /// Consul's service identity: write on the service and its sidecar proxy, read on all services and nodes.
    /// Never a name formatted into HCL.
    ServiceIdentity(ServiceName),
    /// A policy, by name.
    Policy(String),
    /// What a token has already, by the names of Consul's fields.
    AsBefore(Map<String, Value>),
}

/// A token to be created.
#[derive(Debug, Clone)]
pub struct NewToken {
    /// Both halves.
    pub pair: TokenPair,
    /// The marks.
    pub description: String,
    /// What it may do.
    pub grant: Grant,
    /// Where it lives.
    pub tenancy: Tenancy,
}
