//! ACL tokens and policies: <https://developer.hashicorp.com/consul/api-docs/acl>.

use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{error::ConsulError, http::Http, request::Request, within};
use mesh::{
    bootstrap::policy::{self, CLIENT_POLICY_DESCRIPTION},
    tenancy::Tenancy,
    token::{AccessorId, Grant, ListedToken, NewToken, Token, TokenPair},
};

/// What newer servers print instead of the secret half for a credential that may not see it.
const HIDDEN: &str = "<hidden>";

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct TokenAnswer {
    #[serde(rename = "AccessorID")]
    accessor_id: String,
    #[serde(rename = "SecretID")]
    secret_id: SecretString,
    #[serde(default)]
    description: String,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

/// What a token may do, by the names of Consul's fields: what a token that is put back has to get back.
const GRANTS: [&str; 6] = ["Policies", "Roles", "ServiceIdentities", "NodeIdentities", "TemplatedPolicies", "Local"];

/// One entry of the list. Newer servers put the secret half in it too: it is not read.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct TokenEntry {
    #[serde(rename = "AccessorID", default)]
    accessor_id: String,
    #[serde(default)]
    description: String,
    policies: Option<Vec<PolicyLink>>,
    namespace: Option<String>,
    create_time: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct PolicyLink {
    #[serde(default)]
    name: String,
}

fn subject(accessor: AccessorId) -> String {
    format!("ACL token {accessor}")
}

fn read_token(answer: TokenAnswer, subject: &str) -> Result<Token, ConsulError> {
    if answer.secret_id.expose_secret() == HIDDEN {
        let reason = "acl = \"write\" is needed to read the secret half of a token".to_owned();
        return Err(ConsulError::PermissionDenied { subject: subject.to_owned(), reason });
    }
    let accessor = answer.accessor_id.parse().map_err(|_| ConsulError::Malformed {
        subject: subject.to_owned(),
        reason: "AccessorID is not a UUID".to_owned(),
    })?;
    let grants = answer.rest.into_iter().filter(|(field, value)| GRANTS.contains(&field.as_str()) && !value.is_null());
    Ok(Token {
        pair: TokenPair { accessor, secret: answer.secret_id },
        description: answer.description,
        grants: grants.collect(),
    })
}

pub(super) async fn token(http: &Http, tenancy: &Tenancy, accessor: AccessorId) -> Result<Option<Token>, ConsulError> {
    let subject = subject(accessor);
    let request = Request::get(&subject, &["acl", "token", &accessor.to_string()]);
    match http.json(&within(request, tenancy)).await {
        Ok(answer) => read_token(answer, &subject).map(Some),
        Err(ConsulError::NotFound { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

pub(super) async fn create_token(http: &Http, new: &NewToken) -> Result<Token, ConsulError> {
    let subject = subject(new.pair.accessor);
    let request = Request::put(&subject, &["acl", "token"], token_body(new));
    read_token(http.json(&within(request, &new.tenancy)).await?, &subject)
}

pub(super) async fn update_token(http: &Http, new: &NewToken) -> Result<(), ConsulError> {
    let path = ["acl", "token", &new.pair.accessor.to_string()];
    let request = Request::put(subject(new.pair.accessor), &path, token_body(new));
    http.send(&within(request, &new.tenancy)).await.map(drop)
}

fn token_body(new: &NewToken) -> Value {
    let mut body = match &new.grant {
        Grant::ServiceIdentity(name) => fields([("ServiceIdentities", json!([{ "ServiceName": name.as_str() }]))]),
        Grant::Policy(name) => fields([("Policies", json!([{ "Name": name }]))]),
        Grant::AsBefore(grants) => grants.clone(),
    };
    body.extend(fields([
        ("AccessorID", json!(new.pair.accessor.to_string())),
        ("SecretID", json!(new.pair.secret.expose_secret())),
        ("Description", json!(new.description)),
    ]));
    Value::Object(body)
}

fn fields<const N: usize>(fields: [(&str, Value); N]) -> Map<String, Value> {
    fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

pub(super) async fn delete_token(http: &Http, tenancy: &Tenancy, accessor: AccessorId) -> Result<(), ConsulError> {
    let request = Request::delete(subject(accessor), &["acl", "token", &accessor.to_string()]);
    match http.send(&within(request, tenancy)).await {
        Ok(_) | Err(ConsulError::NotFound { .. }) => Ok(()),
        Err(error) => Err(error),
    }
}

pub(super) async fn tokens(http: &Http, tenancy: &Tenancy) -> Result<Vec<ListedToken>, ConsulError> {
    let mut request = Request::get("the list of ACL tokens", &["acl", "tokens"]);
    if let Some(partition) = tenancy.partition() {
        // A login token lives where the auth method's namespace rule put it.
        request = request.query("partition", partition.as_str()).query("ns", "*");
    }
    let entries: Vec<TokenEntry> = http.json(&request).await?;
    // An entry that does not parse cannot bear our marks, and so is none of our business.
    Ok(entries.into_iter().filter_map(|entry| listed(entry, tenancy)).collect())
}

fn listed(entry: TokenEntry, tenancy: &Tenancy) -> Option<ListedToken> {
    let tenancy = match (tenancy, &entry.namespace) {
        (Tenancy::Enterprise { partition, .. }, Some(namespace)) => {
            Tenancy::Enterprise { partition: partition.clone(), namespace: namespace.parse().ok()? }
        }
        (tenancy, _) => tenancy.clone(),
    };
    let policies = entry.policies.unwrap_or_default().into_iter().map(|policy| policy.name).collect();
    Some(ListedToken {
        accessor: entry.accessor_id.parse().ok()?,
        description: entry.description,
        policies,
        created_at: entry.create_time.and_then(|at| at.parse().ok()),
        tenancy,
    })
}

/// Deletes a policy, if it is there and bears our description.
pub(super) async fn delete_own_policy(http: &Http, tenancy: &Tenancy, name: &str) -> Result<bool, ConsulError> {
    #[derive(Deserialize)]
    #[serde(rename_all = "PascalCase")]
    struct Policy {
        #[serde(rename = "ID")]
        id: String,
        #[serde(default)]
        description: String,
    }
    let subject = format!("ACL policy {name}");
    let request = Request::get(&subject, &["acl", "policy", "name", name]);
    let policy: Policy = match http.json(&within(request, tenancy)).await {
        Ok(policy) => policy,
        Err(ConsulError::NotFound { .. }) => return Ok(false),
        Err(error) => return Err(error),
    };
    if policy.description != CLIENT_POLICY_DESCRIPTION {
        return Ok(false);
    }
    let request = Request::delete(subject, &["acl", "policy", &policy.id]);
    http.send(&within(request, tenancy)).await.map(|_| true)
}

pub(super) async fn ensure_client_policy(http: &Http, tenancy: &Tenancy, name: &str) -> Result<(), ConsulError> {
    let policy = policy::of_client_agents(tenancy, name);
    let request = Request::put(policy.to_string(), &["acl", "policy"], Value::Object(policy.body));
    match http.send(&within(request, tenancy)).await {
        Ok(_) | Err(ConsulError::Conflict { .. }) => Ok(()),
        Err(error) => Err(error),
    }
}
