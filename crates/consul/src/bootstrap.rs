//! Reading and writing what the bootstrap sets up, and asking what the controller's own token may do:
//! <https://developer.hashicorp.com/consul/api-docs/acl>.

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::{
    client::HttpConsul,
    error::ConsulError,
    http::Http,
    object::{Kind, Object},
    request::Request,
};
use mesh::{
    permission::Permission,
    tenancy::{Tenancy, TenancyName},
};

/// An object of Consul, with all its fields.
pub type Fields = Map<String, Value>;

/// What setting up a Consul datacenter needs of it.
#[async_trait]
pub trait ConsulBootstrap: Send + Sync {
    /// Whether this is the primary datacenter. One that names no primary is its own.
    async fn is_primary(&self) -> Result<bool, ConsulError>;

    /// The namespaces of a partition, without those that are being deleted.
    async fn namespaces(&self, partition: &TenancyName) -> Result<Vec<TenancyName>, ConsulError>;

    /// What Consul holds under the object's name; of a binding rule, the oldest one that binds the same. `None` only
    /// where its absence is proven.
    async fn read(&self, object: &Object) -> Result<Option<Fields>, ConsulError>;

    /// Creates the object with these fields.
    ///
    /// Of several creations of one binding rule at send_once, only the oldest is kept.
    ///
    /// # Errors
    /// [`ConsulError::Conflict`] where one of that name exists. An auth method is then written over instead: Consul does
    /// not compare.
    async fn create(&self, object: &Object, body: Fields) -> Result<(), ConsulError>;

    /// Replaces the object with these fields, which are all of it.
    async fn update(&self, object: &Object, body: Fields) -> Result<(), ConsulError>;

    /// Those of `permissions` that the controller's own token lacks there.
    async fn missing_permissions(
        &self,
        tenancy: &Tenancy,
        permissions: &[Permission],
    ) -> Result<Vec<Permission>, ConsulError>;
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct AgentSelf {
    config: AgentConfig,
    debug_config: Option<AgentConfig>,
}

/// Newer servers tell the primary datacenter in the one place, older ones in the other.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct AgentConfig {
    #[serde(default)]
    datacenter: String,
    #[serde(default)]
    primary_datacenter: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Namespace {
    name: String,
    /// When its deletion began: it goes as soon as it is empty.
    deleted_at: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Authorization {
    allow: bool,
}

#[async_trait]
impl ConsulBootstrap for HttpConsul {
    async fn is_primary(&self) -> Result<bool, ConsulError> {
        let agent: AgentSelf = self.http.json(&agent_self()).await?;
        let debug = agent.debug_config.map(|debug| debug.primary_datacenter);
        let primary =
            [Some(agent.config.primary_datacenter), debug].into_iter().flatten().find(|name| !name.is_empty());
        Ok(primary.is_none_or(|primary| primary == agent.config.datacenter))
    }

    async fn namespaces(&self, partition: &TenancyName) -> Result<Vec<TenancyName>, ConsulError> {
        let subject = format!("the namespaces of partition {partition}");
        let request = Request::get(&subject, &["namespaces"]).query("partition", partition.as_str());
        let listed: Vec<Namespace> = self.http.json(&request).await?;
        let staying = listed.iter().filter(|namespace| namespace.deleted_at.is_none());
        let parsed = staying.map(|namespace| namespace.name.parse::<TenancyName>());
        parsed.collect::<Result<_, _>>().map_err(|e| ConsulError::Malformed { subject, reason: e.to_string() })
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

    async fn missing_permissions(
        &self,
        tenancy: &Tenancy,
        permissions: &[Permission],
    ) -> Result<Vec<Permission>, ConsulError> {
        let questions: Vec<Value> = permissions
            .iter()
            .map(|p| json!({ "Resource": p.resource, "Access": p.access, "Segment": p.name() }))
            .collect();
        let subject = "the permissions of the controller's own token";
        let request = Request::post(subject, &["internal", "acl", "authorize"], Value::Array(questions));
        let answers: Vec<Authorization> = match self.http.json(&request.within(tenancy)).await {
            Ok(answers) => answers,
            Err(ConsulError::NotFound { .. }) => return missing_by_trial(&self.http, tenancy, permissions).await,
            Err(error) => return Err(error),
        };
        if answers.len() != permissions.len() {
            let reason = format!("{} answers to {} questions", answers.len(), permissions.len());
            return Err(ConsulError::Malformed { subject: subject.to_owned(), reason });
        }
        let missing = permissions.iter().zip(answers).filter(|(_, answer)| !answer.allow);
        Ok(missing.map(|(permission, _)| permission.clone()).collect())
    }
}

fn agent_self() -> Request {
    Request::get("Consul's datacenter", &["agent", "self"])
}

/// Where objects of a kind are created; one that exists is below it.
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

/// Whether Consul keeps objects of the kind under an ID, next to which the name is only an attribute.
fn is_addressed_by_id(kind: Kind) -> bool {
    matches!(kind, Kind::Policy | Kind::Role)
}

/// Names where the object lives. Nodes and namespaces are in a partition, but not in a namespace.
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

/// The catalog's entry of the node. The node's own page would bring all its services along.
async fn node(http: &Http, object: &Object) -> Result<Option<Fields>, ConsulError> {
    // A cluster ARN has no quotes that could change the expression.
    let request =
        Request::get(object.to_string(), &["catalog", "nodes"]).query("filter", format!("Node == \"{}\"", object.name));
    let nodes: Vec<Fields> = http.json(&in_tenancy_of(request, object)).await?;
    Ok(nodes.into_iter().next())
}

/// The oldest of the auth method's rules that bind the same.
async fn oldest_rule(http: &Http, object: &Object) -> Result<Option<Fields>, ConsulError> {
    let method = object.text("AuthMethod").unwrap_or_default();
    let request = Request::get(object.to_string(), &["acl", "binding-rules"]).query("authmethod", method);
    let rules: Vec<Fields> = http.json(&in_tenancy_of(request, object)).await?;
    let age = |rule: &Fields| rule.get("CreateIndex").and_then(Value::as_u64);
    Ok(rules.into_iter().filter(|rule| object.binds_same_as(rule)).min_by_key(age))
}

/// Creates the rule, and withdraws it if an older one binds the same.
///
/// A rule's ID is Consul's choice, so that nothing keeps two controllers from creating it twice. Whoever came second
/// sees the other's rule when it lists the rules after its own creation, and the oldest rule's creator sees no older one:
/// so exactly one rule stays.
async fn create_rule(http: &Http, object: &Object, body: Fields) -> Result<(), ConsulError> {
    let request = Request::put(object.to_string(), &["acl", "binding-rule"], Value::Object(body));
    let created: Fields = http.json(&in_tenancy_of(request, object)).await?;
    let oldest = oldest_rule(http, object).await?;
    match oldest {
        Some(oldest) if id_of(&oldest) != id_of(&created) => {
            let request = Request::delete(object.to_string(), &["acl", "binding-rule", id_of(&created)]);
            http.send(&in_tenancy_of(request, object)).await.map(drop)
        }
        _ => Ok(()),
    }
}

fn id_of(fields: &Fields) -> &str {
    fields.get("ID").and_then(Value::as_str).unwrap_or_default()
}

/// Finds out by calls that change nothing, on a server that cannot be asked: what only a write could prove is taken for
/// granted.
async fn missing_by_trial(
    http: &Http,
    tenancy: &Tenancy,
    permissions: &[Permission],
) -> Result<Vec<Permission>, ConsulError> {
    let mut missing = Vec::new();
    for permission in permissions {
        let trial = match permission.resource {
            "acl" => Request::get("the list of ACL tokens", &["acl", "tokens"]).within(tenancy),
            "agent" => agent_self(),
            "operator" => Request::get("Consul's servers", &["operator", "raft", "configuration"]),
            _ => continue,
        };
        match http.send(&trial).await {
            Ok(_) => {}
            Err(ConsulError::PermissionDenied { .. }) => missing.push(permission.clone()),
            Err(error) => return Err(error),
        }
    }
    Ok(missing)
}
