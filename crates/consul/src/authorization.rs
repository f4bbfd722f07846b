//! What Consul permits: the auth methods with their rules, the roles that tokens link, and the permissions of the
//! client's own token: <https://developer.hashicorp.com/consul/api-docs/acl>.

use async_trait::async_trait;
use mesh::{
    admission::{AuthMethod, BindingRule},
    permissions::Permission,
    tenancy::Tenancy,
    token::Grants,
};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    acl::{GrantsAnswer, Named},
    agent::Datacenter,
    error::{ConsulError, if_found},
    http::HttpConsul,
    request::Request,
};

/// Reads what decides about logins.
#[async_trait]
pub trait Logins: Send + Sync {
    /// The datacenter of the server that answers. It takes `agent:read`.
    async fn datacenter(&self) -> Result<Datacenter, ConsulError>;

    /// An auth method with its binding rules, in the partition of `tenancy`; `None` if Consul certainly has none. Two requests.
    async fn auth_method(&self, tenancy: &Tenancy, name: &str) -> Result<Option<AuthMethod>, ConsulError>;

    /// What a role grants; `None` if Consul certainly has none.
    async fn role(&self, tenancy: &Tenancy, name: &str) -> Result<Option<Grants>, ConsulError>;
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct MethodAnswer {
    r#type: String,
    #[serde(default)]
    config: MethodConfig,
    namespace_rules: Option<Vec<NamespaceRule>>,
}

/// The fields of `aws-iam`; methods of other types have others.
#[derive(Default, Deserialize)]
struct MethodConfig {
    #[serde(rename = "BoundIAMPrincipalARNs")]
    principals: Option<Vec<String>>,
    #[serde(rename = "EnableIAMEntityDetails", default)]
    has_entity_details: bool,
    #[serde(rename = "IAMEntityTags")]
    entity_tags: Option<Vec<String>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct NamespaceRule {
    selector: String,
    bind_namespace: String,
}

#[async_trait]
impl Logins for HttpConsul {
    async fn datacenter(&self) -> Result<Datacenter, ConsulError> {
        self.own_datacenter().await
    }

    async fn auth_method(&self, tenancy: &Tenancy, name: &str) -> Result<Option<AuthMethod>, ConsulError> {
        let tenancy = tenancy.home();
        let method = Request::get(format!("auth method {name}"), &["acl", "auth-method", name]).within(&tenancy);
        let rules = Request::get(format!("binding rules of auth method {name}"), &["acl", "binding-rules"]);
        let rules = rules.query("authmethod", name).within(&tenancy);
        let reads = tokio::try_join!(self.json::<MethodAnswer>(&method), self.json::<Vec<BindingRule>>(&rules));
        let Some((method, binding_rules)) = if_found(reads)? else { return Ok(None) };
        let namespace_rules = method.namespace_rules.unwrap_or_default().into_iter();
        Ok(Some(AuthMethod {
            kind: method.r#type,
            has_entity_details: method.config.has_entity_details,
            entity_tags: method.config.entity_tags.unwrap_or_default(),
            principals: method.config.principals.unwrap_or_default(),
            namespace_rules: namespace_rules.map(|rule| (rule.selector, rule.bind_namespace)).collect(),
            binding_rules,
        }))
    }

    async fn role(&self, tenancy: &Tenancy, name: &str) -> Result<Option<Grants>, ConsulError> {
        let request = Request::get(format!("ACL role {name}"), &["acl", "role", "name", name]).within(tenancy);
        Ok(if_found(self.json::<GrantsAnswer>(&request).await)?.map(Grants::from))
    }
}

/// Asks Consul what the client's own token may do.
#[async_trait]
pub trait Permissions: Send + Sync {
    /// The `permissions` that the client's own token does not have in the tenancy; none if ACLs are off.
    async fn missing_permissions(
        &self,
        tenancy: &Tenancy,
        permissions: &[Permission],
    ) -> Result<Vec<Permission>, ConsulError>;

    /// The client's own token; `None` if ACLs are off.
    async fn own_token(&self) -> Result<Option<OwnToken>, ConsulError>;
}

/// The token of a client, without its secret ID.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnToken {
    pub accessor_id: String,
    /// The names of the policies that are attached to it directly.
    pub policies: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct TokenSelf {
    #[serde(rename = "AccessorID")]
    accessor_id: String,
    policies: Option<Vec<Named>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Authorization {
    allow: bool,
}

#[async_trait]
impl Permissions for HttpConsul {
    async fn missing_permissions(
        &self,
        tenancy: &Tenancy,
        permissions: &[Permission],
    ) -> Result<Vec<Permission>, ConsulError> {
        let requests: Vec<Value> = permissions
            .iter()
            .map(|p| json!({ "Resource": p.resource, "Access": p.access, "Segment": p.name() }))
            .collect();
        let subject = format!("the permissions of {}", self.token_owner().token());
        let request = Request::post(subject, &["internal", "acl", "authorize"], Value::Array(requests)).within(tenancy);
        let answers: Vec<Authorization> = match self.json(&request).await {
            Ok(answers) => answers,
            Err(ConsulError::AclsDisabled { .. }) => return Ok(Vec::new()),
            Err(ConsulError::NotFound { .. }) => return missing_by_trial(self, tenancy, permissions).await,
            Err(error) => return Err(error),
        };
        if answers.len() != permissions.len() {
            return Err(request.malformed(format!("{} answers to {} requests", answers.len(), permissions.len())));
        }
        let missing = permissions.iter().zip(answers).filter(|(_, answer)| !answer.allow);
        Ok(missing.map(|(permission, _)| permission.clone()).collect())
    }

    async fn own_token(&self) -> Result<Option<OwnToken>, ConsulError> {
        let token: TokenSelf = match self.json(&Request::own_token(self.token_owner())).await {
            Ok(token) => token,
            Err(ConsulError::AclsDisabled { .. }) => return Ok(None),
            Err(error) => return Err(error),
        };
        let policies = token.policies.unwrap_or_default().into_iter().map(|link| link.name).collect();
        Ok(Some(OwnToken { accessor_id: token.accessor_id, policies }))
    }
}

/// The ID of the built-in policy for management tokens.
const GLOBAL_MANAGEMENT: &str = "00000000-0000-0000-0000-000000000001";

/// Checks permissions with read requests, on a server without the authorization endpoint. Permissions that only a write
/// can check are assumed.
async fn missing_by_trial(
    consul: &HttpConsul,
    tenancy: &Tenancy,
    permissions: &[Permission],
) -> Result<Vec<Permission>, ConsulError> {
    let mut missing = Vec::new();
    for permission in permissions {
        let probe = match permission.resource {
            // Only the tokens with one policy: the list of all may be long.
            "acl" => Request::get("the list of ACL tokens", &["acl", "tokens"])
                .query("policy", GLOBAL_MANAGEMENT)
                .within(tenancy),
            "agent" => Request::agent_self(),
            "operator" => Request::get("Consul's servers", &["operator", "raft", "configuration"]),
            _ => continue,
        };
        match consul.send(&probe).await {
            Ok(_) => {}
            Err(ConsulError::PermissionDenied { .. }) => missing.push(permission.clone()),
            Err(error) => return Err(error),
        }
    }
    Ok(missing)
}
