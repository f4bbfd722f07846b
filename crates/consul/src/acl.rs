//! ACL tokens and policies: <https://developer.hashicorp.com/consul/api-docs/acl>.

use async_trait::async_trait;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::{
    array::ArrayReader,
    client::HttpConsul,
    error::ConsulError,
    grants::GrantsAnswer,
    object::{Object, fields},
    request::Request,
    token::{Grant, NewToken, Token, login_mark},
};
use mesh::{
    tenancy::Tenancy,
    token::{AccessorId, ListedToken, TokenPair},
};

/// Which tokens of a list are kept.
pub type TokenFilter<'a> = dyn Fn(&ListedToken) -> bool + Send + Sync + 'a;

/// ACL tokens and policies.
#[async_trait]
pub trait Acl: Send + Sync {
    /// The token with this accessor ID, or `None` if Consul certainly has none: `ACL not found` and status 404 are
    /// accepted only after a request has shown that the controller's own token is valid.
    async fn token(&self, tenancy: &Tenancy, accessor: AccessorId) -> Result<Option<Token>, ConsulError>;

    /// Creates a token with a given accessor ID and secret ID.
    ///
    /// Consul rejects an existing accessor ID, but does not lock: of two concurrent creations with the same accessor ID
    /// and *different* secret IDs both may succeed, and one of the tokens can then never be deleted. So concurrent
    /// creations must use the same pair.
    ///
    /// # Errors
    /// [`ConsulError::Conflict`] if a token with this accessor ID exists.
    async fn create_token(&self, new: &NewToken) -> Result<Token, ConsulError>;

    /// Replaces the description and all grants of a token. The secret ID must be the existing one.
    ///
    /// # Errors
    /// [`ConsulError::NotFound`] if it was deleted.
    async fn update_token(&self, token: &NewToken) -> Result<(), ConsulError>;

    /// Deletes a token. A missing token is not an error.
    async fn delete_token(&self, tenancy: &Tenancy, accessor: AccessorId) -> Result<(), ConsulError>;

    /// Those tokens of the tenancy's partition that `keep` selects, without their secret IDs; `None` if ACLs are off. The
    /// list has the tokens of all owners, and is read while it arrives, so that memory is used only for what is kept.
    async fn tokens(&self, tenancy: &Tenancy, keep: &TokenFilter<'_>) -> Result<Option<Vec<ListedToken>>, ConsulError>;

    /// Creates a policy, if none has its name.
    async fn create_policy(&self, policy: &Object) -> Result<(), ConsulError>;

    /// Deletes the policy of that name, if its description is the same: policies of other creators stay. Returns
    /// whether it was deleted.
    async fn delete_policy(&self, policy: &Object) -> Result<bool, ConsulError>;
}

#[async_trait]
impl Acl for HttpConsul {
    async fn token(&self, tenancy: &Tenancy, accessor: AccessorId) -> Result<Option<Token>, ConsulError> {
        let subject = subject(accessor);
        let request = Request::get(&subject, &["acl", "token", &accessor.to_string()]);
        match self.http.json(&request.within(tenancy)).await {
            Ok(answer) => read_token(answer, &subject, tenancy, self.accepts_hidden).map(Some),
            Err(ConsulError::NotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn create_token(&self, new: &NewToken) -> Result<Token, ConsulError> {
        let subject = subject(new.pair.accessor);
        let request = Request::put(&subject, &["acl", "token"], token_body(new));
        read_token(self.http.json(&request.within(&new.tenancy)).await?, &subject, &new.tenancy, self.accepts_hidden)
    }

    async fn update_token(&self, new: &NewToken) -> Result<(), ConsulError> {
        let path = ["acl", "token", &new.pair.accessor.to_string()];
        let request = Request::put(subject(new.pair.accessor), &path, token_body(new));
        self.http.send(&request.within(&new.tenancy)).await.map(drop)
    }

    async fn delete_token(&self, tenancy: &Tenancy, accessor: AccessorId) -> Result<(), ConsulError> {
        let request = Request::delete(subject(accessor), &["acl", "token", &accessor.to_string()]);
        match self.http.send(&request.within(tenancy)).await {
            Ok(_) | Err(ConsulError::NotFound { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    async fn tokens(&self, tenancy: &Tenancy, keep: &TokenFilter<'_>) -> Result<Option<Vec<ListedToken>>, ConsulError> {
        // Without the filters of the API. `authmethod` needs the name of every auth method of the tasks, and answers an
        // unknown name with an empty list. `servicename` leaves out logins without a service identity, and old
        // servers ignore it.
        let request = Request::list("the list of ACL tokens", &["acl", "tokens"]);
        // The namespace rule of an auth method may put login tokens into any namespace.
        let request = request.in_all_namespaces_of(tenancy);
        // An entry that cannot be parsed has no mark of the controller.
        let select = |entry| listed(entry, tenancy).filter(keep);
        match self.http.read(&request, || ArrayReader::new(select)).await {
            Ok(tokens) => Ok(Some(tokens)),
            Err(ConsulError::AclsDisabled { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn create_policy(&self, policy: &Object) -> Result<(), ConsulError> {
        let request = Request::put(policy.to_string(), &["acl", "policy"], Value::Object(policy.body.clone()));
        match self.http.send(&request.within(&policy.tenancy)).await {
            Ok(_) | Err(ConsulError::Conflict { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    async fn delete_policy(&self, policy: &Object) -> Result<bool, ConsulError> {
        let request = Request::get(policy.to_string(), &["acl", "policy", "name", &policy.name]);
        let found: PolicyAnswer = match self.http.json(&request.within(&policy.tenancy)).await {
            Ok(found) => found,
            Err(ConsulError::NotFound { .. } | ConsulError::AclsDisabled { .. }) => return Ok(false),
            Err(error) => return Err(error),
        };
        if policy.text("Description") != Some(&found.description) {
            return Ok(false);
        }
        let request = Request::delete(policy.to_string(), &["acl", "policy", &found.id]);
        match self.http.send(&request.within(&policy.tenancy)).await {
            // Since it was read, another request has deleted it, or an earlier try of this one.
            Ok(_) | Err(ConsulError::NotFound { .. }) => Ok(true),
            Err(error) => Err(error),
        }
    }
}

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

/// The fields of a token that grant permissions, which an update has to repeat.
const GRANTS: [&str; 6] = ["Policies", "Roles", "ServiceIdentities", "NodeIdentities", "TemplatedPolicies", "Local"];

/// One entry of the list. Newer servers include the secret ID, which is not read.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct TokenEntry {
    #[serde(rename = "AccessorID", default)]
    accessor_id: String,
    #[serde(default)]
    description: String,
    auth_method: Option<String>,
    #[serde(default)]
    local: bool,
    #[serde(flatten)]
    grants: GrantsAnswer,
    namespace: Option<String>,
    create_time: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct PolicyAnswer {
    #[serde(rename = "ID")]
    id: String,
    #[serde(default)]
    description: String,
}

fn subject(accessor: AccessorId) -> String {
    format!("ACL token {accessor}")
}

fn read_token(
    answer: TokenAnswer,
    subject: &str,
    tenancy: &Tenancy,
    accepts_hidden: bool,
) -> Result<Token, ConsulError> {
    let accessor = answer.accessor_id.parse().map_err(|_| ConsulError::Malformed {
        subject: subject.to_owned(),
        reason: "AccessorID is not a UUID".to_owned(),
    })?;
    let grants = answer.rest.into_iter().filter(|(field, value)| GRANTS.contains(&field.as_str()) && !value.is_null());
    let token = Token {
        pair: TokenPair { accessor, secret: answer.secret_id },
        description: answer.description,
        grants: grants.collect(),
        tenancy: tenancy.clone(),
    };
    if token.hides_its_secret() && !accepts_hidden {
        let reason = "acl = \"write\" is needed to read the secret half of a token".to_owned();
        return Err(ConsulError::PermissionDenied { subject: subject.to_owned(), reason });
    }
    Ok(token)
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

fn listed(entry: TokenEntry, tenancy: &Tenancy) -> Option<ListedToken> {
    let tenancy = match (tenancy, &entry.namespace) {
        (Tenancy::Enterprise { partition, .. }, Some(namespace)) => {
            Tenancy::Enterprise { partition: partition.clone(), namespace: namespace.parse().ok()? }
        }
        (tenancy, _) => tenancy.clone(),
    };
    Some(ListedToken {
        accessor: entry.accessor_id.parse().ok()?,
        login: login_mark(&entry.description),
        description: entry.description,
        auth_method: entry.auth_method.filter(|name| !name.is_empty()),
        is_local: entry.local,
        grants: entry.grants.into(),
        created_at: entry.create_time.and_then(|at| at.parse().ok()),
        tenancy,
    })
}
