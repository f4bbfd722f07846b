//! The objects of the bootstrap: <https://developer.hashicorp.com/consul/api-docs/acl>.

use async_trait::async_trait;
use serde_json::Value;

use crate::{
    client::HttpConsul,
    error::ConsulError,
    http::Http,
    names,
    object::{Fields, Kind, Object},
    release::{AgentSelf, Datacenter},
    request::Request,
};
use mesh::tenancy::TenancyName;

/// The API that the bootstrap calls.
#[async_trait]
pub trait ConsulBootstrap: Send + Sync {
    /// Whether this is the primary datacenter, or has no primary datacenter configured.
    async fn is_primary(&self) -> Result<bool, ConsulError>;

    /// The namespaces of a partition, except those in deletion.
    async fn namespaces(&self, partition: &TenancyName) -> Result<Vec<TenancyName>, ConsulError>;

    /// The object that Consul has under this name; for a binding rule, the oldest one that binds the same. `None` if
    /// Consul certainly has none.
    async fn read(&self, object: &Object) -> Result<Option<Fields>, ConsulError>;

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
impl ConsulBootstrap for HttpConsul {
    async fn is_primary(&self) -> Result<bool, ConsulError> {
        let agent: AgentSelf = self.http.json(&Request::agent_self()).await?;
        Ok(Datacenter::from(agent).is_primary)
    }

    async fn namespaces(&self, partition: &TenancyName) -> Result<Vec<TenancyName>, ConsulError> {
        let subject = format!("the namespaces of partition {partition}");
        let request = Request::get(subject, &["namespaces"]).query("partition", partition.as_str());
        names::remaining(&self.http, &request).await
    }

    async fn read(&self, object: &Object) -> Result<Option<Fields>, ConsulError> {
        match object.kind {
            Kind::BindingRule => return oldest_rule(&self.http, object).await,
            Kind::SyntheticNode => return node(&self.http, object).await,
            _ => {}
        }
        let mut path = collection(object.kind).to_vec();
        if is_addressed_by_id(object.kind) {
            path.push("name");
        }
        path.push(&object.name);
        match self.http.json(&in_tenancy_of(Request::get(object.to_string(), &path), object)).await {
            Ok(fields) => Ok(Some(fields)),
            Err(ConsulError::NotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn create(&self, object: &Object, body: Fields) -> Result<(), ConsulError> {
        match object.kind {
            Kind::BindingRule => create_rule(&self.http, object, body).await,
            _ => write(&self.http, object, collection(object.kind), body).await,
        }
    }

    async fn update(&self, object: &Object, body: Fields) -> Result<(), ConsulError> {
        let id = id_of(&body).to_owned();
        let mut path = collection(object.kind).to_vec();
        path.push(if is_addressed_by_id(object.kind) { &id } else { &object.name });
        write(&self.http, object, &path, body).await
    }
}

/// The path for the creation of objects of a kind, and the parent of existing ones.
fn collection(kind: Kind) -> &'static [&'static str] {
    match kind {
        Kind::Partition => &["partition"],
        Kind::Namespace => &["namespace"],
        Kind::Policy => &["acl", "policy"],
        Kind::Role => &["acl", "role"],
        Kind::AuthMethod => &["acl", "auth-method"],
        Kind::BindingRule => &["acl", "binding-rule"],
        Kind::AnonymousToken => &["acl", "token"],
        Kind::SyntheticNode => &["catalog", "register"],
    }
}

/// Whether the path of an object of the kind contains its ID instead of its name.
fn is_addressed_by_id(kind: Kind) -> bool {
    matches!(kind, Kind::Policy | Kind::Role)
}

/// Adds the tenancy of the object. Nodes and namespaces have a partition, but no namespace.
fn in_tenancy_of(request: Request, object: &Object) -> Request {
    match (object.kind, object.tenancy.partition()) {
        (Kind::Namespace | Kind::SyntheticNode, Some(partition)) => request.query("partition", partition.as_str()),
        _ => request.within(&object.tenancy),
    }
}

async fn write(http: &Http, object: &Object, path: &[&str], body: Fields) -> Result<(), ConsulError> {
    let request = Request::put(object.to_string(), path, Value::Object(body));
    http.send(&in_tenancy_of(request, object)).await.map(drop)
}

/// The catalog entry of the node, without its services.
async fn node(http: &Http, object: &Object) -> Result<Option<Fields>, ConsulError> {
    // A cluster ARN cannot contain quotes.
    let request =
        Request::get(object.to_string(), &["catalog", "nodes"]).query("filter", format!("Node == \"{}\"", object.name));
    let nodes: Vec<Fields> = http.json(&in_tenancy_of(request, object)).await?;
    Ok(nodes.into_iter().next())
}

/// The oldest binding rule of the auth method that binds the same.
async fn oldest_rule(http: &Http, object: &Object) -> Result<Option<Fields>, ConsulError> {
    let method = object.text("AuthMethod").unwrap_or_default();
    let request = Request::get(object.to_string(), &["acl", "binding-rules"]).query("authmethod", method);
    let rules: Vec<Fields> = http.json(&in_tenancy_of(request, object)).await?;
    let age = |rule: &Fields| rule.get("CreateIndex").and_then(Value::as_u64);
    Ok(rules.into_iter().filter(|rule| object.binds_same_as(rule)).min_by_key(age))
}

/// Creates the rule, and deletes it if an older one binds the same.
///
/// Consul chooses the ID of a rule, so that two controllers may create it twice. The later one finds the other's rule
/// when it lists the rules after its own creation, and the creator of the oldest rule finds no older one: exactly one
/// rule stays.
async fn create_rule(http: &Http, object: &Object, body: Fields) -> Result<(), ConsulError> {
    let request = Request::put(object.to_string(), &["acl", "binding-rule"], Value::Object(body));
    let created: Fields = http.json(&in_tenancy_of(request, object)).await?;
    let oldest = oldest_rule(http, object).await?;
    match oldest {
        Some(oldest) if id_of(&oldest) != id_of(&created) => {
            let request = Request::delete(object.to_string(), &["acl", "binding-rule", id_of(&created)]);
            match http.send(&in_tenancy_of(request, object)).await {
                // An earlier try of this request has deleted it.
                Ok(_) | Err(ConsulError::NotFound { .. }) => Ok(()),
                Err(error) => Err(error),
            }
        }
        _ => Ok(()),
    }
}

fn id_of(fields: &Fields) -> &str {
    fields.get("ID").and_then(Value::as_str).unwrap_or_default()
}
