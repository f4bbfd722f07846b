//! Admission: whether this Consul has let a task log in as a service, or would.
//!
//! A registration is written with the controller's own permissions, so that a claim of the task's author is not enough: not
//! the command or configuration of a container, not a tag, and not the description of a token, which `consulLogin.meta` of
//! the task's configuration can choose. Two things prove an admission:
//!
//! - a **login token** that grants the service's identity: the auth method's binding rules decide what it grants
//!   (<https://developer.hashicorp.com/consul/docs/security/acl/auth-methods>);
//! - the **IAM role** that ECS reports for the task, which takes `iam:PassRole` to choose, judged as Consul's login judges it
//!   (<https://developer.hashicorp.com/consul/docs/security/acl/auth-methods/aws-iam>).
//!
//! Everything else is unproven, which is no refusal: what was not read may prove it.

use std::{
    collections::{BTreeMap, BTreeSet},
    str::FromStr,
};

use jiff::Timestamp;
use serde::Deserialize;

use crate::{
    arn::{ClusterArn, TaskId},
    consul_ecs::{NAMESPACE_ENTITY_TAG, SERVICE_NAME_ENTITY_TAG},
    names::{InvalidField, text},
    tenancy::{Tenancy, TenancyName},
    token::{Grants, ListedToken},
};

/// The type of the auth methods that verify an IAM role.
const AWS_IAM: &str = "aws-iam";
/// The start of `consulServers.hosts` that names a program, which prints the hosts.
const PROGRAM: &str = "exec=";

/// Which service a task claims to be.
#[derive(Debug, Clone, Copy)]
pub struct Claim<'a> {
    pub cluster: &'a ClusterArn,
    pub task: &'a TaskId,
    /// The name of the service or gateway.
    pub service: &'a str,
    pub tenancy: &'a Tenancy,
}

/// What of Consul decides about tokens: the datacenter, and the grants of ACL roles by tenancy and name.
#[derive(Debug, Clone, Default)]
pub struct TokenFacts {
    pub datacenter: String,
    /// The roles that could be read.
    pub roles: BTreeMap<(Tenancy, String), Grants>,
}

/// Why no login token proves an admission.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TokenGap {
    /// No token names the task.
    #[error("Consul lists no login token of the task")]
    NoToken,
    /// A token of another datacenter may be replicated into the list.
    #[error("its login token is global, and its consulServers.hosts is not the Consul of this controller")]
    OtherDatacenter,
    /// The rules of policies are not judged.
    #[error(
        "its login token of auth method {method} has the policies {policies}, whose rules the controller does not \
         judge; a binding rule of bind type service with the bind name ${{entity_tags.{SERVICE_NAME_ENTITY_TAG}}} \
         would prove it"
    )]
    OnlyPolicies {
        method: String,
        /// The names of the policies and roles.
        policies: String,
    },
    /// The token belongs to another service.
    #[error("its login token belongs to {0}")]
    OtherService(String),
    /// The token belongs to a service of this name elsewhere (Enterprise).
    #[error(
        "its login token grants this name in partition {partition}, namespace {namespace}, but its registration is \
         elsewhere"
    )]
    OtherTenancy { partition: String, namespace: String },
}

impl Claim<'_> {
    /// Whether one of `tokens` proves the claim: it comes from a login, names the task, and grants the service's identity in the
    /// claim's partition and namespace. A global token may belong to a task of another datacenter: it counts only with
    /// `uses_this_consul`.
    ///
    /// # Errors
    /// Why none of them does.
    pub fn proven_by_token<'t>(
        &self,
        tokens: impl IntoIterator<Item = &'t ListedToken>,
        facts: &TokenFacts,
        uses_this_consul: bool,
    ) -> Result<(), TokenGap> {
        let mut gap = TokenGap::NoToken;
        for token in tokens {
            let names_task = token.login().is_some_and(|login| login.is_of(self.task, self.cluster));
            let Some(method) = token.auth_method.as_ref().filter(|_| names_task) else { continue };
            let linked =
                token.grants.roles.iter().filter_map(|role| facts.roles.get(&(token.tenancy.clone(), role.clone())));
            let all: Vec<&Grants> = linked.chain([&token.grants]).collect();
            let is_here = token.tenancy.is_same_place(self.tenancy);
            if all.iter().any(|grants| grants.has_service(self.service, &facts.datacenter)) {
                let [partition, namespace] = token.tenancy.place().map(str::to_owned);
                gap = match (is_here, token.is_local || uses_this_consul) {
                    (true, true) => return Ok(()),
                    (true, false) => TokenGap::OtherDatacenter,
                    (false, _) => TokenGap::OtherTenancy { partition, namespace },
                };
                continue;
            }
            gap = gap.or_of(method, &all, &token.grants.roles);
        }
        Err(gap)
    }
}

impl TokenGap {
    /// The gap of another token that does not prove the claim, if it says more.
    fn or_of(self, method: &str, grants: &[&Grants], roles: &[String]) -> Self {
        if self != Self::NoToken {
            return self;
        }
        let names = |names: Vec<&str>| names.join(", ");
        let services: Vec<&str> = grants.iter().flat_map(|of| &of.services).map(|of| of.service.as_str()).collect();
        if !services.is_empty() {
            return Self::OtherService(names(services));
        }
        let policies = grants.iter().flat_map(|of| &of.policies).chain(roles).map(String::as_str);
        Self::OnlyPolicies { method: method.to_owned(), policies: names(policies.collect()) }
    }
}

/// The full ARN of an IAM role, with its path.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RoleArn(String);

text!(RoleArn.0);

impl RoleArn {
    /// The name, without the path.
    pub fn name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or_default()
    }
}

impl FromStr for RoleArn {
    type Err = InvalidField;

    fn from_str(arn: &str) -> Result<Self, InvalidField> {
        let parts: Vec<&str> = arn.splitn(6, ':').collect();
        match parts.as_slice() {
            ["arn", _, "iam", "", _, role] if role.strip_prefix("role/").is_some_and(|name| !name.is_empty()) => {
                Ok(Self(arn.to_owned()))
            }
            _ => Err(InvalidField::new("task role", arn, "the full ARN of an IAM role")),
        }
    }
}

/// An IAM role: <https://docs.aws.amazon.com/IAM/latest/APIReference/API_Role.html>
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IamRole {
    pub arn: RoleArn,
    pub created_at: Timestamp,
    pub tags: BTreeMap<String, String>,
}

/// An auth method with its rules: <https://developer.hashicorp.com/consul/api-docs/acl/auth-methods>
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuthMethod {
    pub kind: String,
    /// `EnableIAMEntityDetails`.
    pub has_entity_details: bool,
    /// `IAMEntityTags`.
    pub entity_tags: Vec<String>,
    /// `BoundIAMPrincipalARNs`.
    pub principals: Vec<String>,
    /// `NamespaceRules` (Enterprise): selector and `BindNamespace`.
    pub namespace_rules: Vec<(String, String)>,
    pub binding_rules: Vec<BindingRule>,
}

/// A binding rule: <https://developer.hashicorp.com/consul/api-docs/acl/binding-rules>
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct BindingRule {
    pub bind_type: String,
    pub bind_name: String,
    /// Empty: every login.
    pub selector: String,
}

impl BindingRule {
    /// The tag of the IAM role that is the whole name.
    pub fn entity_tag(&self) -> Option<&str> {
        self.bind_name.strip_prefix("${entity_tags.")?.strip_suffix('}').filter(|tag| !tag.contains('}'))
    }
}

/// How a task logs in: the part of its configuration that decides where and as what.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LoginConfig {
    /// `consulLogin.method`.
    pub method: String,
    /// `consulLogin.datacenter`.
    pub datacenter: Option<String>,
    /// `consulServers.hosts`.
    pub hosts: Option<String>,
}

impl LoginConfig {
    /// The hosts of the task's Consul in a form that can be compared; `None` for a program that prints them.
    pub fn comparable_hosts(&self) -> Option<String> {
        let hosts = self.hosts.as_deref()?.trim();
        (!hosts.is_empty() && !hosts.starts_with(PROGRAM)).then(|| hosts.to_ascii_lowercase())
    }

    /// Whether the task uses one of these Consuls.
    pub fn uses(&self, known: &BTreeSet<String>) -> bool {
        self.comparable_hosts().is_some_and(|hosts| known.contains(&hosts))
    }
}

/// What decides whether the IAM role of a task proves its claim.
#[derive(Debug, Clone, Copy)]
pub struct RoleFacts<'a> {
    /// How the task logs in; `None` if it does not.
    pub login: Option<&'a LoginConfig>,
    /// The hosts of this Consul.
    pub consul_hosts: &'a BTreeSet<String>,
    /// The datacenter of this Consul.
    pub datacenter: &'a str,
    /// The auth method that the task names, in the partition of the registration; `None` if Consul has none.
    pub method: Option<&'a AuthMethod>,
    /// The role that ECS reports.
    pub role: Option<&'a RoleArn>,
    /// When ECS created the task.
    pub task_created_at: Option<Timestamp>,
    pub iam: RoleReading<'a>,
}

/// A role as IAM answered.
#[derive(Debug, Clone, Copy)]
pub enum RoleReading<'a> {
    /// It was not read.
    Unread,
    /// IAM has no such role.
    Missing,
    Read(&'a IamRole),
}

/// Why the IAM role of a task does not prove its claim.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RoleGap {
    /// Its configuration has no login.
    #[error("its configuration does not log in (consulLogin.enabled)")]
    NoLogin,
    /// ECS reports no role, or only its name.
    #[error("ECS reports no task role with a full ARN")]
    NoRole,
    /// The task belongs to another Consul, or that cannot be told.
    #[error("its consulServers.hosts is not known to be the Consul of this controller")]
    OtherConsul,
    /// The task logs in elsewhere.
    #[error("it logs in to datacenter {0}")]
    OtherDatacenter(String),
    /// The auth method does not exist.
    #[error("Consul has no auth method {0}")]
    NoMethod(String),
    /// The method verifies something else, or does not return the tags.
    #[error("auth method {0} is not of type aws-iam with EnableIAMEntityDetails and the IAMEntityTags of consul-ecs")]
    OtherMethod(String),
    /// The method does not let the role log in.
    #[error("role {0} matches none of the auth method's BoundIAMPrincipalARNs")]
    NotBound(RoleArn),
    /// No rule gives the identity of the role's tag to every login.
    #[error("auth method {0} has no unconditional binding rule that binds the service in the role's tag")]
    NoBindingRule(String),
    /// IAM was not asked, or did not answer.
    #[error("role {0} could not be read in IAM")]
    Unread(RoleArn),
    /// IAM has no role with exactly this ARN.
    #[error("IAM has no role {0}")]
    Missing(RoleArn),
    /// The role may have replaced the one with which the task was started.
    #[error("role {0} is not older than the task")]
    Young(RoleArn),
    /// The role belongs to another service.
    #[error("the tag {SERVICE_NAME_ENTITY_TAG} of role {role} is {tag:?}, not {service:?}")]
    OtherService { role: RoleArn, tag: String, service: String },
    /// The login would be in another namespace.
    #[error("a login with role {0} is in another namespace, or its namespace is not known")]
    OtherNamespace(RoleArn),
}

impl Claim<'_> {
    /// Whether the auth method that the task names would let it log in as the claimed service.
    ///
    /// # Errors
    /// The first condition that is not met. [`RoleGap::Unread`] comes after all that can be judged without IAM.
    pub fn proven_by_role(&self, facts: &RoleFacts<'_>) -> Result<(), RoleGap> {
        let login = facts.login.ok_or(RoleGap::NoLogin)?;
        let role = facts.role.ok_or(RoleGap::NoRole)?;
        if let Some(other) = login.datacenter.as_deref().filter(|name| *name != facts.datacenter) {
            return Err(RoleGap::OtherDatacenter(other.to_owned()));
        }
        if !login.uses(facts.consul_hosts) {
            return Err(RoleGap::OtherConsul);
        }
        let method = facts.method.ok_or_else(|| RoleGap::NoMethod(login.method.clone()))?;
        if !method.verifies_role_tags() {
            return Err(RoleGap::OtherMethod(login.method.clone()));
        }
        if !method.binds(role) {
            return Err(RoleGap::NotBound(role.clone()));
        }
        if !method.gives_tagged_service() {
            return Err(RoleGap::NoBindingRule(login.method.clone()));
        }
        let iam = match facts.iam {
            RoleReading::Unread => return Err(RoleGap::Unread(role.clone())),
            RoleReading::Read(iam) if iam.arn == *role => iam,
            RoleReading::Missing | RoleReading::Read(_) => return Err(RoleGap::Missing(role.clone())),
        };
        if facts.task_created_at.is_none_or(|created| iam.created_at >= created) {
            return Err(RoleGap::Young(role.clone()));
        }
        let tag = |name: &str| iam.tags.get(name).map(String::as_str).unwrap_or_default();
        if tag(SERVICE_NAME_ENTITY_TAG) != self.service {
            let (tag, service) = (tag(SERVICE_NAME_ENTITY_TAG).to_owned(), self.service.to_owned());
            return Err(RoleGap::OtherService { role: role.clone(), tag, service });
        }
        let namespace = self.tenancy.namespace().map_or("default", TenancyName::as_str);
        if method.namespace_of(tag(NAMESPACE_ENTITY_TAG)) != Some(namespace) {
            return Err(RoleGap::OtherNamespace(role.clone()));
        }
        Ok(())
    }
}

impl AuthMethod {
    /// Whether a login with this method proves a role, and its binding rules know the role's tags.
    fn verifies_role_tags(&self) -> bool {
        let has_tag = |name: &str| self.entity_tags.iter().any(|tag| tag == name);
        self.verifies_roles()
            && self.has_entity_details
            && has_tag(SERVICE_NAME_ENTITY_TAG)
            && has_tag(NAMESPACE_ENTITY_TAG)
    }

    /// Whether a login with this method proves an IAM role.
    pub fn verifies_roles(&self) -> bool {
        self.kind == AWS_IAM
    }

    /// Whether a role with this path, of any account and name, may be one that may log in.
    pub fn may_bind_in(&self, path: &str) -> bool {
        let start = format!("role{path}");
        self.principals.iter().any(|entry| {
            // A wildcard before the resource admits every role.
            let Some(resource) = entry.splitn(6, ':').nth(5) else { return true };
            let before = resource.strip_suffix('*');
            let is_in = before.unwrap_or(resource).strip_prefix(&start).is_some_and(|name| !name.contains('/'));
            is_in || before.is_some_and(|before| start.starts_with(before))
        })
    }

    /// Whether the role may log in: an entry is its ARN, or a start of it before a final `*`.
    pub fn binds(&self, role: &RoleArn) -> bool {
        self.principals.iter().any(|entry| match entry.strip_suffix('*') {
            Some(start) => role.as_str().starts_with(start),
            None => role.as_str() == entry,
        })
    }

    fn gives_tagged_service(&self) -> bool {
        let is_tagged = |rule: &BindingRule| rule.entity_tag() == Some(SERVICE_NAME_ENTITY_TAG);
        self.binding_rules.iter().any(|rule| rule.bind_type == "service" && rule.selector.is_empty() && is_tagged(rule))
    }

    /// The namespace of a login of a role with this namespace tag; `None` with rules that consul-ecs does not create.
    fn namespace_of<'t>(&self, tag: &'t str) -> Option<&'t str> {
        let selector = format!(r#"entity_tags["{NAMESPACE_ENTITY_TAG}"] != """#);
        let namespace = format!("${{entity_tags.{NAMESPACE_ENTITY_TAG}}}");
        match self.namespace_rules.as_slice() {
            [] => Some("default"),
            [rule] if *rule == (selector, namespace) => Some(if tag.is_empty() { "default" } else { tag }),
            _ => None,
        }
    }
}

/// Why nothing proves that this Consul has admitted a task.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not proven to be {service}: {token}, and {role}")]
pub struct Unproven {
    pub service: String,
    /// Why no token proves it.
    pub token: TokenGap,
    /// Why its role does not prove it.
    pub role: RoleGap,
}

#[cfg(test)]
mod tests;
