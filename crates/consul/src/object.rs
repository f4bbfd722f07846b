//! An object that Consul should hold, in the form of Consul's HTTP API.

use std::fmt;

use serde_json::{Map, Value};

use mesh::tenancy::Tenancy;

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
    /// A binding rule of an auth method. It has no name: it is the same if it binds the same.
    BindingRule,
    /// The token of all requests that bring none.
    AnonymousToken,
    /// A cluster's node in the catalog.
    SyntheticNode,
}

/// An object that Consul should hold.
#[derive(Debug, Clone, PartialEq)]
pub struct Object {
    /// What it is.
    pub kind: Kind,
    /// Its name, unique among its kind and tenancy; a binding rule's says what it binds.
    pub name: String,
    /// Where it lives.
    pub tenancy: Tenancy,
    /// Its fields, by the names of Consul's HTTP API.
    pub body: Map<String, Value>,
}

impl Object {
    /// Whether this refers to `other`, and so cannot be made without it.
    #[must_use]
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

    /// A field of the body that is text.
    #[must_use]
    pub fn text(&self, field: &str) -> Option<&str> {
        self.body.get(field)?.as_str()
    }

    /// Whether `rule`, as Consul lists it, binds the same as this binding rule: then it is the same rule.
    #[must_use]
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

/// The fields of a body.
#[must_use]
pub fn fields<const N: usize>(fields: [(&str, Value); N]) -> Map<String, Value> {
    fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}
