//! What decides about logins: the auth methods with their rules, the roles that tokens link, and the default policy.

use async_trait::async_trait;
use mesh::{
    admission::{AuthMethod, BindingRule},
    tenancy::Tenancy,
    token::Grants,
};
use serde::Deserialize;

use crate::{
    client::HttpConsul,
    error::ConsulError,
    grants::GrantsAnswer,
    release::{AgentSelf, Datacenter},
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

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct NamespaceRule {
    #[serde(default)]
    selector: String,
    #[serde(default)]
    bind_namespace: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct RuleAnswer {
    #[serde(default)]
    bind_type: String,
    #[serde(default)]
    bind_name: String,
    #[serde(default)]
    selector: String,
}

#[async_trait]
impl Logins for HttpConsul {
    async fn datacenter(&self) -> Result<Datacenter, ConsulError> {
        let agent: AgentSelf = self.http.json(&Request::agent_self()).await?;
        Ok(agent.into())
    }

    async fn auth_method(&self, tenancy: &Tenancy, name: &str) -> Result<Option<AuthMethod>, ConsulError> {
        let tenancy = tenancy.home();
        let method = Request::get(format!("auth method {name}"), &["acl", "auth-method", name]).within(&tenancy);
        let rules = Request::get(format!("binding rules of auth method {name}"), &["acl", "binding-rules"]);
        let rules = rules.query("authmethod", name).within(&tenancy);
        let reads = tokio::try_join!(self.http.json(&method), self.http.json(&rules));
        let (method, rules): (MethodAnswer, Vec<RuleAnswer>) = match reads {
            Ok(read) => read,
            Err(ConsulError::NotFound { .. }) => return Ok(None),
            Err(error) => return Err(error),
        };
        let rule = |rule: RuleAnswer| BindingRule {
            bind_type: rule.bind_type,
            bind_name: rule.bind_name,
            selector: rule.selector,
        };
        let namespace_rules = method.namespace_rules.unwrap_or_default().into_iter();
        Ok(Some(AuthMethod {
            kind: method.r#type,
            has_entity_details: method.config.has_entity_details,
            entity_tags: method.config.entity_tags.unwrap_or_default(),
            principals: method.config.principals.unwrap_or_default(),
            namespace_rules: namespace_rules.map(|rule| (rule.selector, rule.bind_namespace)).collect(),
            binding_rules: rules.into_iter().map(rule).collect(),
        }))
    }

    async fn role(&self, tenancy: &Tenancy, name: &str) -> Result<Option<Grants>, ConsulError> {
        let request = Request::get(format!("ACL role {name}"), &["acl", "role", "name", name]).within(tenancy);
        match self.http.json::<GrantsAnswer>(&request).await {
            Ok(answer) => Ok(Some(answer.into())),
            Err(ConsulError::NotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }
}
