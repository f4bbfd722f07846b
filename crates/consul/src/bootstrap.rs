//! The objects that the bootstrap creates, in the format of Consul's HTTP API:
//! <https://developer.hashicorp.com/consul/api-docs/acl>, <https://developer.hashicorp.com/consul/api-docs/admin-partitions>,
//! <https://developer.hashicorp.com/consul/api-docs/namespaces>.

use std::fmt;

use async_trait::async_trait;
use mesh::{
    names::InvalidField,
    tenancy::{Tenancy, TenancyName},
};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::{
    error::{ConsulError, if_found},
    http::HttpConsul,
    request::Request,
};

/// The fields of an object, by the names of Consul's HTTP API.
pub type Fields = Map<String, Value>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ObjectKind {
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
    pub kind: ObjectKind,
    /// Its name, unique among its kind and tenancy; for a binding rule, what it binds.
    pub name: String,
    pub tenancy: Tenancy,
    /// Its fields, by the names of Consul's HTTP API.
    pub body: Fields,
}

impl Object {
    /// Whether this object refers to `other`, so that it can only be created after it.
    pub fn refers_to(&self, other: &Self) -> bool {
        match other.kind {
            ObjectKind::AuthMethod => self.text("AuthMethod") == Some(&other.name),
            ObjectKind::Policy => {
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
    pub fn binds_same_as(&self, rule: &Fields) -> bool {
        ["BindType", "BindName", "Selector"].iter().all(|field| {
            self.text(field).unwrap_or_default() == rule.get(*field).and_then(Value::as_str).unwrap_or_default()
        })
    }
}

impl fmt::Display for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            ObjectKind::Partition => write!(f, "partition {}", self.name),
            ObjectKind::Namespace => write!(f, "namespace {}", self.name),
            ObjectKind::Policy => write!(f, "ACL policy {}", self.name),
            ObjectKind::Role => write!(f, "ACL role {}", self.name),
            ObjectKind::AuthMethod => write!(f, "auth method {}", self.name),
            ObjectKind::BindingRule => {
                let method = self.text("AuthMethod").unwrap_or_default();
                write!(f, "binding rule of auth method {method} for {}", self.name)
            }
            ObjectKind::AnonymousToken => f.write_str("the anonymous ACL token"),
            ObjectKind::SyntheticNode => write!(f, "node {}", self.name),
        }
    }
}

/// Builds the fields of a body.
pub fn fields<const N: usize>(fields: [(&str, Value); N]) -> Fields {
    fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// Reads the objects of the bootstrap.
#[async_trait]
pub trait ObjectReads: Send + Sync {
    /// Whether this is the primary datacenter, or has no primary datacenter configured.
    async fn is_primary(&self) -> Result<bool, ConsulError>;

    /// The namespaces of a partition, except those in deletion.
    async fn namespaces(&self, partition: &TenancyName) -> Result<Vec<TenancyName>, ConsulError>;

    /// The object that Consul has under this name; for a binding rule, the oldest one that binds the same. `None` if
    /// Consul certainly has none.
    async fn read(&self, object: &Object) -> Result<Option<Fields>, ConsulError>;
}

/// Creates and changes the objects of the bootstrap.
#[async_trait]
pub trait ObjectWrites: Send + Sync {
    /// Creates the object with these fields.
    ///
    /// Of concurrent creations of one binding rule, only the oldest is kept.
    ///
    /// # Errors
    /// [`ConsulError::Conflict`] if the name exists. An existing auth method is overwritten instead: Consul has no
    /// check-and-set for it.
    async fn create(&self, object: &Object, body: Fields) -> Result<(), ConsulError>;

    /// Replaces all fields of the object.
    async fn update(&self, object: &Object, body: Fields) -> Result<(), ConsulError>;
}

#[async_trait]
impl ObjectReads for HttpConsul {
    async fn is_primary(&self) -> Result<bool, ConsulError> {
        Ok(self.own_datacenter().await?.is_primary)
    }

    async fn namespaces(&self, partition: &TenancyName) -> Result<Vec<TenancyName>, ConsulError> {
        let subject = format!("the namespaces of partition {partition}");
        let request = Request::get(subject, &["namespaces"]).query("partition", partition.as_str());
        self.remaining_names(&request).await
    }

    async fn read(&self, object: &Object) -> Result<Option<Fields>, ConsulError> {
        match object.kind {
            ObjectKind::BindingRule => return oldest_rule(self, object).await,
            ObjectKind::SyntheticNode => return node(self, object).await,
            _ => {}
        }
        let mut path = collection(object.kind).to_vec();
        if is_addressed_by_id(object.kind) {
            path.push("name");
        }
        path.push(&object.name);
        if_found(self.json(&in_tenancy_of(Request::get(object.to_string(), &path), object)).await)
    }
}

#[async_trait]
impl ObjectWrites for HttpConsul {
    async fn create(&self, object: &Object, body: Fields) -> Result<(), ConsulError> {
        match object.kind {
            ObjectKind::BindingRule => create_rule(self, object, body).await,
            _ => write(self, object, collection(object.kind), body).await,
        }
    }

    async fn update(&self, object: &Object, body: Fields) -> Result<(), ConsulError> {
        let id = id_of(&body).to_owned();
        let mut path = collection(object.kind).to_vec();
        path.push(if is_addressed_by_id(object.kind) { &id } else { &object.name });
        write(self, object, &path, body).await
    }
}

/// A partition or namespace in a list.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Listed {
    name: String,
    /// When its deletion started: Consul first deletes its content.
    deleted_at: Option<String>,
}

impl HttpConsul {
    /// The names in a list of partitions or namespaces (Enterprise), except of what is being deleted.
    pub(crate) async fn remaining_names(&self, request: &Request) -> Result<Vec<TenancyName>, ConsulError> {
        let listed: Vec<Listed> = self.json(request).await?;
        let remaining = listed.iter().filter(|entry| entry.deleted_at.is_none());
        remaining.map(|entry| entry.name.parse().map_err(|e: InvalidField| request.malformed(e.to_string()))).collect()
    }
}

/// The path for the creation of objects of a kind, and the parent of existing ones.
fn collection(kind: ObjectKind) -> &'static [&'static str] {
    match kind {
        ObjectKind::Partition => &["partition"],
        ObjectKind::Namespace => &["namespace"],
        ObjectKind::Policy => &["acl", "policy"],
        ObjectKind::Role => &["acl", "role"],
        ObjectKind::AuthMethod => &["acl", "auth-method"],
        ObjectKind::BindingRule => &["acl", "binding-rule"],
        ObjectKind::AnonymousToken => &["acl", "token"],
        ObjectKind::SyntheticNode => &["catalog", "register"],
    }
}

/// Whether the path of an object of the kind contains its ID instead of its name.
fn is_addressed_by_id(kind: ObjectKind) -> bool {
    matches!(kind, ObjectKind::Policy | ObjectKind::Role)
}

/// Adds the tenancy of the object. Nodes and namespaces have a partition, but no namespace.
fn in_tenancy_of(request: Request, object: &Object) -> Request {
    match (object.kind, object.tenancy.partition()) {
        (ObjectKind::Namespace | ObjectKind::SyntheticNode, Some(partition)) => {
            request.query("partition", partition.as_str())
        }
        _ => request.within(&object.tenancy),
    }
}

async fn write(consul: &HttpConsul, object: &Object, path: &[&str], body: Fields) -> Result<(), ConsulError> {
    let request = Request::put(object.to_string(), path, Value::Object(body));
    consul.send(&in_tenancy_of(request, object)).await.map(drop)
}

/// The catalog entry of the node with this name in any case, without its services.
async fn node(consul: &HttpConsul, object: &Object) -> Result<Option<Fields>, ConsulError> {
    // In any case: a write to a node whose name differs only in case would rename it. A cluster ARN contains neither quotes nor what
    // is special in a regular expression.
    let filter = format!("Node matches \"(?i)^{}$\"", object.name);
    let request = Request::get(object.to_string(), &["catalog", "nodes"]).query("filter", filter).consistent();
    let nodes: Vec<Fields> = consul.json(&in_tenancy_of(request, object)).await?;
    Ok(nodes.into_iter().next())
}

/// The oldest binding rule of the auth method that binds the same.
async fn oldest_rule(consul: &HttpConsul, object: &Object) -> Result<Option<Fields>, ConsulError> {
    let method = object.text("AuthMethod").unwrap_or_default();
    let request = Request::get(object.to_string(), &["acl", "binding-rules"]).query("authmethod", method);
    let rules: Vec<Fields> = consul.json(&in_tenancy_of(request, object)).await?;
    let age = |rule: &Fields| rule.get("CreateIndex").and_then(Value::as_u64);
    Ok(rules.into_iter().filter(|rule| object.binds_same_as(rule)).min_by_key(age))
}

/// Creates the rule, and deletes it if an older one binds the same.
///
/// Consul chooses the ID of a rule, so that two controllers may create it twice. The later one finds the other's rule
/// when it lists the rules after its own creation, and the creator of the oldest rule finds no older one: exactly one
/// rule stays.
async fn create_rule(consul: &HttpConsul, object: &Object, body: Fields) -> Result<(), ConsulError> {
    let request = Request::put(object.to_string(), &["acl", "binding-rule"], Value::Object(body));
    let created: Fields = consul.json(&in_tenancy_of(request, object)).await?;
    let oldest = oldest_rule(consul, object).await?;
    match oldest {
        Some(oldest) if id_of(&oldest) != id_of(&created) => {
            let request = Request::delete(object.to_string(), &["acl", "binding-rule", id_of(&created)]);
            // An earlier try of this request may have deleted it.
            if_found(consul.send(&in_tenancy_of(request, object)).await).map(drop)
        }
        _ => Ok(()),
    }
}

fn id_of(fields: &Fields) -> &str {
    fields.get("ID").and_then(Value::as_str).unwrap_or_default()
}
