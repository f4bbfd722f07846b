//! ACL tokens and policies: <https://developer.hashicorp.com/consul/api-docs/acl>.

use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    error::ConsulError,
    http::{Http, Request},
    within,
};
use crate::mesh::{
    tenancy::Tenancy,
    token::{AccessorId, Grant, ListedToken, NewToken, Token, TokenPair},
};

/// What newer servers print instead of the secret half for a credential that may not see it.
const HIDDEN: &str = "<hidden>";

/// What client agents need: to register their own node, and to find services.
const CLIENT_RULES: &str = r#"node_prefix "" { policy = "write" } service_prefix "" { policy = "read" }"#;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct TokenAnswer {
    #[serde(rename = "AccessorID")]
    accessor_id: String,
    #[serde(rename = "SecretID")]
    secret_id: SecretString,
    #[serde(default)]
    description: String,
}

/// One entry of the list. Newer servers put the secret half in it too: it is not read.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct TokenEntry {
    #[serde(rename = "AccessorID", default)]
    accessor_id: String,
    #[serde(default)]
    description: String,
    namespace: Option<String>,
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
    Ok(Token { pair: TokenPair { accessor, secret: answer.secret_id }, description: answer.description })
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
    let subject = subject(new.accessor);
    let mut body = json!({ "AccessorID": new.accessor.to_string(), "Description": new.description });
    match &new.grant {
        Grant::ServiceIdentity(name) => set(&mut body, "ServiceIdentities", json!([{ "ServiceName": name.as_str() }])),
        Grant::Policy(name) => set(&mut body, "Policies", json!([{ "Name": name }])),
    }
    if let Some(secret) = &new.secret {
        set(&mut body, "SecretID", json!(secret.expose_secret()));
    }
    let request = Request::put(&subject, &["acl", "token"], body);
    read_token(http.json(&within(request, &new.tenancy)).await?, &subject)
}

fn set(body: &mut Value, key: &str, value: Value) {
    if let Some(fields) = body.as_object_mut() {
        fields.insert(key.to_owned(), value);
    }
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
    Some(ListedToken { accessor: entry.accessor_id.parse().ok()?, description: entry.description, tenancy })
}

pub(super) async fn ensure_client_policy(http: &Http, tenancy: &Tenancy, name: &str) -> Result<(), ConsulError> {
    let body = json!({ "Name": name, "Description": "Policy of Consul client agents on ECS", "Rules": CLIENT_RULES });
    let request = Request::put(format!("ACL policy {name}"), &["acl", "policy"], body);
    match http.send(&within(request, tenancy)).await {
        Ok(_) | Err(ConsulError::Conflict { .. }) => Ok(()),
        Err(error) => Err(error),
    }
}
