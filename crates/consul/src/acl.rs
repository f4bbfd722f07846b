//! ACL tokens, what they grant, and policies: <https://developer.hashicorp.com/consul/api-docs/acl>.

use async_trait::async_trait;
use mesh::{
    mark::TokenDescription,
    names::ServiceName,
    tenancy::Tenancy,
    token::{AccessorId, Grants, ListedToken, ServiceGrant, TokenPair},
};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::{
    array::ArrayReader,
    bootstrap::{Fields, Object, fields},
    error::{ConsulError, if_found},
    http::HttpConsul,
    request::Request,
};

/// A token as Consul returns it.
#[derive(Debug, Clone)]
pub struct Token {
    pub pair: TokenPair,
    pub description: TokenDescription,
    /// Its permissions, by the names of Consul's fields.
    pub grants: Fields,
    /// Where it was read.
    pub tenancy: Tenancy,
}

/// The value that Consul returns instead of the secret ID to a credential without `acl:write`.
const HIDDEN: &str = "<hidden>";

impl Token {
    /// Whether Consul has not shown the secret ID: only a client that
    /// [accepts it](crate::HttpConsul::accepting_hidden_secrets) returns such a token.
    pub fn hides_its_secret(&self) -> bool {
        self.pair.secret.expose_secret() == HIDDEN
    }

    /// Whether the token has no permissions. Consul removes links to deleted policies and roles.
    pub fn grants_nothing(&self) -> bool {
        let is_link = |value: &Value| value.as_array().is_some_and(|links| !links.is_empty());
        !self.grants.values().any(is_link)
    }
}

/// The permissions of a new token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Grant {
    /// A service identity: write on the service and its sidecar proxy, read on all services and nodes.
    ServiceIdentity(ServiceName),
    /// A policy, by name.
    Policy(String),
    /// The permissions that a token already has, by the names of Consul's fields.
    AsBefore(Fields),
}

/// A token to be created.
#[derive(Debug, Clone)]
pub struct NewToken {
    pub pair: TokenPair,
    pub description: TokenDescription,
    pub grant: Grant,
    pub tenancy: Tenancy,
}

/// Which tokens of a list are wanted, so that others need not be sent or parsed.
#[derive(Debug, Clone, Copy, Default)]
pub struct TokenSearch<'a> {
    /// The description of each wanted token contains at least one of these texts, which JSON writes without escapes: the other
    /// tokens are not parsed. Without texts, all are.
    pub texts: &'a [String],
    /// The service whose identity each wanted token has, without a role between. Consul sends only these since 1.17
    /// (<https://github.com/hashicorp/consul/pull/18667>); older servers ignore the filter, and send all.
    pub service: Option<&'a ServiceName>,
}

/// Which tokens of a list are kept.
pub type TokenFilter<'a> = dyn Fn(&ListedToken) -> bool + Send + Sync + 'a;

/// Reads ACL tokens.
#[async_trait]
pub trait TokenReads: Send + Sync {
    /// The token with this accessor ID, or `None` if Consul certainly has none: `ACL not found` and status 404 are
    /// accepted only after a request has shown that the client's own token is valid.
    async fn token(&self, tenancy: &Tenancy, accessor: AccessorId) -> Result<Option<Token>, ConsulError>;

    /// Those tokens of the tenancy's partition that `keep` selects, without their secret IDs; `None` if ACLs are off. The
    /// list has the tokens of all owners, and is read while it arrives, so that memory is used only for what is kept. The answer
    /// includes every earlier write: a login is one.
    async fn tokens(&self, tenancy: &Tenancy, keep: &TokenFilter<'_>) -> Result<Option<Vec<ListedToken>>, ConsulError> {
        self.tokens_with(tenancy, TokenSearch::default(), keep).await
    }

    /// The same, where `search` describes the tokens that `keep` selects.
    async fn tokens_with(
        &self,
        tenancy: &Tenancy,
        search: TokenSearch<'_>,
        keep: &TokenFilter<'_>,
    ) -> Result<Option<Vec<ListedToken>>, ConsulError>;
}

/// Changes ACL tokens, and the policies of client agents.
#[async_trait]
pub trait TokenWrites: Send + Sync {
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

    /// Creates a policy, if none has its name.
    async fn create_policy(&self, policy: &Object) -> Result<(), ConsulError>;

    /// Deletes the policy of that name, if its description is the same: policies of other creators stay. Returns
    /// whether it was deleted.
    async fn delete_policy(&self, policy: &Object) -> Result<bool, ConsulError>;
}

#[async_trait]
impl TokenReads for HttpConsul {
    async fn token(&self, tenancy: &Tenancy, accessor: AccessorId) -> Result<Option<Token>, ConsulError> {
        let subject = subject(accessor);
        let request = Request::get(&subject, &["acl", "token", &accessor.to_string()]);
        let answer = if_found(self.json(&request.within(tenancy)).await)?;
        answer.map(|answer| self.read_token(answer, &subject, tenancy)).transpose()
    }

    async fn tokens_with(
        &self,
        tenancy: &Tenancy,
        search: TokenSearch<'_>,
        keep: &TokenFilter<'_>,
    ) -> Result<Option<Vec<ListedToken>>, ConsulError> {
        // Without the filter `authmethod`, which needs the name of every auth method of the tasks, and answers an unknown
        // name with an empty list.
        let request = Request::streamed_list("the list of ACL tokens", &["acl", "tokens"]);
        let request = match search.service {
            Some(service) => request.query("servicename", service.as_str()),
            None => request,
        };
        // The namespace rule of an auth method may put login tokens into any namespace.
        let request = request.in_all_namespaces_of(tenancy).consistent();
        // An entry that cannot be parsed has no mark of the controller.
        let select = |entry| listed(entry, tenancy).filter(keep);
        match self.stream(&request, || ArrayReader::new(select).containing(search.texts)).await {
            Ok(tokens) => Ok(Some(tokens)),
            Err(ConsulError::AclsDisabled { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

#[async_trait]
impl TokenWrites for HttpConsul {
    async fn create_token(&self, new: &NewToken) -> Result<Token, ConsulError> {
        let subject = subject(new.pair.accessor);
        let request = Request::put(&subject, &["acl", "token"], token_body(new));
        self.read_token(self.json(&request.within(&new.tenancy)).await?, &subject, &new.tenancy)
    }

    async fn update_token(&self, new: &NewToken) -> Result<(), ConsulError> {
        let path = ["acl", "token", &new.pair.accessor.to_string()];
        let request = Request::put(subject(new.pair.accessor), &path, token_body(new));
        self.send(&request.within(&new.tenancy)).await.map(drop)
    }

    async fn delete_token(&self, tenancy: &Tenancy, accessor: AccessorId) -> Result<(), ConsulError> {
        let request = Request::delete(subject(accessor), &["acl", "token", &accessor.to_string()]);
        if_found(self.send(&request.within(tenancy)).await).map(drop)
    }

    async fn create_policy(&self, policy: &Object) -> Result<(), ConsulError> {
        let request = Request::put(policy.to_string(), &["acl", "policy"], Value::Object(policy.body.clone()));
        match self.send(&request.within(&policy.tenancy)).await {
            Ok(_) | Err(ConsulError::Conflict { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    async fn delete_policy(&self, policy: &Object) -> Result<bool, ConsulError> {
        let request = Request::get(policy.to_string(), &["acl", "policy", "name", &policy.name]);
        let found: PolicyAnswer = match self.json(&request.within(&policy.tenancy)).await {
            Ok(found) => found,
            Err(ConsulError::NotFound { .. } | ConsulError::AclsDisabled { .. }) => return Ok(false),
            Err(error) => return Err(error),
        };
        if policy.text("Description") != Some(&found.description) {
            return Ok(false);
        }
        let request = Request::delete(policy.to_string(), &["acl", "policy", &found.id]);
        // Since it was read, another request may have deleted it, or an earlier try of this one.
        if_found(self.send(&request.within(&policy.tenancy)).await).map(|_| true)
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
    // The fields of `GrantsAnswer`, which flattened would make serde buffer every field of the entry.
    service_identities: Option<Vec<ServiceIdentity>>,
    templated_policies: Option<Vec<TemplatedPolicy>>,
    roles: Option<Vec<Named>>,
    policies: Option<Vec<Named>>,
    namespace: Option<String>,
    create_time: Option<String>,
    expiration_time: Option<String>,
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

impl HttpConsul {
    fn read_token(&self, answer: TokenAnswer, subject: &str, tenancy: &Tenancy) -> Result<Token, ConsulError> {
        let accessor = answer.accessor_id.parse().map_err(|_| ConsulError::Malformed {
            subject: subject.to_owned(),
            reason: "AccessorID is not a UUID".to_owned(),
        })?;
        let grants =
            answer.rest.into_iter().filter(|(field, value)| GRANTS.contains(&field.as_str()) && !value.is_null());
        let token = Token {
            pair: TokenPair { accessor, secret: answer.secret_id },
            description: answer.description.into(),
            grants: grants.collect(),
            tenancy: tenancy.clone(),
        };
        if token.hides_its_secret() && !self.accepts_hidden {
            let reason = "acl = \"write\" is needed to read the secret half of a token".to_owned();
            return Err(ConsulError::PermissionDenied {
                subject: subject.to_owned(),
                token: self.token_owner(),
                reason,
            });
        }
        Ok(token)
    }
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
        ("Description", json!(new.description.as_str())),
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
    let grants = GrantsAnswer {
        service_identities: entry.service_identities,
        templated_policies: entry.templated_policies,
        roles: entry.roles,
        policies: entry.policies,
    };
    Some(ListedToken {
        accessor: entry.accessor_id.parse().ok()?,
        description: entry.description.into(),
        auth_method: entry.auth_method.filter(|name| !name.is_empty()),
        is_local: entry.local,
        grants: grants.into(),
        created_at: entry.create_time.and_then(|at| at.parse().ok()),
        expires_at: entry.expiration_time.and_then(|at| at.parse().ok()),
        tenancy,
    })
}

/// The templated policy that grants what a service identity grants.
const SERVICE_TEMPLATE: &str = "builtin/service";

/// The fields of a token or a role that grant something.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct GrantsAnswer {
    service_identities: Option<Vec<ServiceIdentity>>,
    templated_policies: Option<Vec<TemplatedPolicy>>,
    roles: Option<Vec<Named>>,
    policies: Option<Vec<Named>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct ServiceIdentity {
    service_name: String,
    datacenters: Option<Vec<String>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct TemplatedPolicy {
    template_name: String,
    template_variables: Option<Named>,
    datacenters: Option<Vec<String>>,
}

/// The variables of a templated policy, or a link to a role or policy.
#[derive(Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(crate) struct Named {
    pub(crate) name: String,
}

/// What the fields of a token or a role grant. Fields of another shape grant nothing.
pub fn grants_of(fields: &Fields) -> Grants {
    let answer = GrantsAnswer::deserialize(Value::Object(fields.clone()));
    answer.map(Grants::from).unwrap_or_default()
}

impl From<GrantsAnswer> for Grants {
    fn from(answer: GrantsAnswer) -> Self {
        let identities = answer.service_identities.unwrap_or_default().into_iter();
        let identities = identities.map(|of| (of.service_name, of.datacenters));
        let templated = answer.templated_policies.unwrap_or_default().into_iter();
        let templated = templated
            .filter(|of| of.template_name == SERVICE_TEMPLATE)
            .filter_map(|of| Some((of.template_variables?.name, of.datacenters)));
        let services = identities.chain(templated).filter(|(service, _)| !service.is_empty());
        let names = |links: Option<Vec<Named>>| links.unwrap_or_default().into_iter().map(|link| link.name).collect();
        Self {
            services: services
                .map(|(service, datacenters)| ServiceGrant { service, datacenters: datacenters.unwrap_or_default() })
                .collect(),
            roles: names(answer.roles),
            policies: names(answer.policies),
        }
    }
}
