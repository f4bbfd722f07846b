//! The permissions of the controller's own token: <https://developer.hashicorp.com/consul/api-docs/acl>.

use async_trait::async_trait;
use mesh::{permission::Permission, tenancy::Tenancy};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{client::HttpConsul, error::ConsulError, http::Http, request::Request};

/// Asks Consul what the controller's own token may do.
#[async_trait]
pub trait Permissions: Send + Sync {
    /// The `permissions` that the controller's own token does not have in the tenancy; none if ACLs are off.
    async fn missing_permissions(
        &self,
        tenancy: &Tenancy,
        permissions: &[Permission],
    ) -> Result<Vec<Permission>, ConsulError>;

    /// The controller's own token; `None` if ACLs are off.
    async fn own_token(&self) -> Result<Option<OwnToken>, ConsulError>;
}

/// The controller's own token, without its secret ID.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnToken {
    /// Its accessor ID.
    pub accessor_id: String,
    /// The names of the policies that are attached to it directly.
    pub policies: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct TokenSelf {
    #[serde(rename = "AccessorID")]
    accessor_id: String,
    policies: Option<Vec<PolicyLink>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct PolicyLink {
    name: String,
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
        let subject = "the permissions of the controller's own token";
        let request = Request::post(subject, &["internal", "acl", "authorize"], Value::Array(requests));
        let answers: Vec<Authorization> = match self.http.json(&request.within(tenancy)).await {
            Ok(answers) => answers,
            Err(ConsulError::AclsDisabled { .. }) => return Ok(Vec::new()),
            Err(ConsulError::NotFound { .. }) => return missing_by_trial(&self.http, tenancy, permissions).await,
            Err(error) => return Err(error),
        };
        if answers.len() != permissions.len() {
            let reason = format!("{} answers to {} requests", answers.len(), permissions.len());
            return Err(ConsulError::Malformed { subject: subject.to_owned(), reason });
        }
        let missing = permissions.iter().zip(answers).filter(|(_, answer)| !answer.allow);
        Ok(missing.map(|(permission, _)| permission.clone()).collect())
    }

    async fn own_token(&self) -> Result<Option<OwnToken>, ConsulError> {
        let request = Request::own_token();
        let token: TokenSelf = match self.http.json(&request).await {
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
    http: &Http,
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
        match http.send(&probe).await {
            Ok(_) => {}
            Err(ConsulError::PermissionDenied { .. }) => missing.push(permission.clone()),
            Err(error) => return Err(error),
        }
    }
    Ok(missing)
}
