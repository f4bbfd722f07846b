//! Desired objects in Consul, in the format of its HTTP API.

use std::fmt;

use serde_json::{Map, Value};

use mesh::tenancy::Tenancy;

/// The fields of an object, by the names of Consul's HTTP API.
pub type Fields = Map<String, Value>;

/// The kinds of objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// An admin partition (Enterprise).
    Partition,
    /// A namespace (Enterprise).
    Namespace,
    /// An ACL policy.
    Policy,
    /// An ACL role.
    Role,
    /// An ACL auth method.
    AuthMethod,
    /// A binding rule of an auth method. It has no name: rules that bind the same are equal.
    BindingRule,
    /// The token of requests without a token.
    AnonymousToken,
    /// A cluster's node in the catalog.
    SyntheticNode,
}

/// A desired object in Consul.
#[derive(Debug, Clone, PartialEq)]
pub struct Object {
    /// Its kind.
    pub kind: Kind,
    /// Its name, unique among its kind and tenancy; for a binding rule, what it binds.
    pub name: String,
    /// Its tenancy.
    pub tenancy: Tenancy,
    /// Its fields, by the names of Consul's HTTP API.
    pub body: Fields,
}

impl Object {
    /// Whether this object refers to `other`, so that it can only be created after it.
    pub fn refers_to(&self, other: &Self) -> bool {
        match other.kind {
            Kind::AuthMethod => self.text("AuthMethod") == Some(&other.name),
            Kind::Policy => {
                [self.body.get("Policies"), self.body.get("ACLs").and_then(|acls| acls.get("PolicyDefaults"))]
                    .into_iter()
                    .filter_map(|links| links?.as_array())
                    .flatten()
                    .any(|link| link.get("Name").and_then(Value::as_str) == Some(&other.name))
            }
            _ => false,
        }
    }

    /// A string field of the body.
    pub fn text(&self, field: &str) -> Option<&str> {
        self.body.get(field)?.as_str()
    }

    /// Whether `rule`, as listed by Consul, binds the same as this binding rule.
    pub fn binds_same_as(&self, rule: &Map<String, Value>) -> bool {
        ["BindType", "BindName", "Selector"].iter().all(|field| {
            self.text(field).unwrap_or_default() == rule.get(*field).and_then(Value::as_str).unwrap_or_default()
        })
    }
}

impl fmt::Display for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            Kind::Partition => write!(f, "partition {}", self.name),
            Kind::Namespace => write!(f, "namespace {}", self.name),
            Kind::Policy => write!(f, "ACL policy {}", self.name),
            Kind::Role => write!(f, "ACL role {}", self.name),
            Kind::AuthMethod => write!(f, "auth method {}", self.name),
            Kind::BindingRule => {
                write!(
                    f,
                    "binding rule of auth method {} for {}",
                    self.text("AuthMethod").unwrap_or_default(),
                    self.name
                )
            }
            Kind::AnonymousToken => f.write_str("the anonymous ACL token"),
            Kind::SyntheticNode => write!(f, "node {}", self.name),
        }
    }
}

/// Builds the fields of a body.
pub fn fields<const N: usize>(fields: [(&str, Value); N]) -> Map<String, Value> {
    fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}
