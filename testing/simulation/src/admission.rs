//! Simulated logins: the auth method of consul-ecs, and the IAM roles of tasks. Some tasks lie about who they are, and some belong
//! to another Consul.

use std::collections::BTreeMap;

use async_trait::async_trait;
use aws::iam::{IamError, IamRoles};
use consul::{ConsulError, Datacenter, Grant, Logins, grants_of};
use fastrand::Rng;
use jiff::Timestamp;
use mesh::{
    admission::{AuthMethod, BindingRule, IamRole, RoleArn},
    consul_ecs::{NAMESPACE_ENTITY_TAG, SERVICE_METHOD, SERVICE_NAME_ENTITY_TAG},
    mark::TokenDescription,
    tenancy::Tenancy,
    token::Grants,
};
use serde_json::{Value, json};

use super::{
    calls::{Connection, Service},
    consul::granted,
    consul_edge::ConsulEdge,
    ecs::Task,
    world::{World, note, service_name, time_at},
};

/// The host of this Consul, and of another one.
pub(crate) const HOST: &str = "consul";
const OTHER_HOST: &str = "other-consul";
/// The start of the ARNs of the tasks' roles.
const ROLES: &str = "arn:aws:iam::123456789012:role/consul-ecs/";
/// The service in the tag of the role of a task that claims to be another one.
const INTRUDER: &str = "intruder";
/// How long before the first task the roles were created, in seconds.
const AGE_OF_ROLES: i64 = 86_400;

/// How a task stands with this Consul.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It logs in as its service.
    Member,
    /// It logs in as its service, and its configuration makes its tokens name another task (`consulLogin.meta`).
    Misnamed,
    /// Its configuration claims the service, and its role is that of another one, as which it logs in.
    Impostor,
    /// It is a member of the mesh of another Consul.
    OfOtherConsul,
}

impl Standing {
    pub(crate) fn draw(random: &mut Rng, is_wanted: bool) -> Self {
        match random.u32(..12) {
            0 if is_wanted => Self::Impostor,
            1 if is_wanted => Self::OfOtherConsul,
            2 if is_wanted => Self::Misnamed,
            _ => Self::Member,
        }
    }

    /// Whether this Consul lets the task log in as its service.
    pub(crate) fn is_admitted(self) -> bool {
        matches!(self, Self::Member | Self::Misnamed)
    }

    /// `consulServers.hosts`.
    pub(crate) fn hosts(self) -> &'static str {
        if self == Self::OfOtherConsul { OTHER_HOST } else { HOST }
    }

    /// The task's own role, if it is not that of its definition.
    pub(crate) fn own_role(self) -> Option<String> {
        (self == Self::Impostor).then(|| format!("{ROLES}{INTRUDER}"))
    }
}

/// The role of the tasks of a service.
pub(crate) fn role_of(service: usize) -> String {
    format!("{ROLES}{}", service_name(service))
}

impl World {
    /// A task logs in at the auth method.
    pub fn log_in(&mut self, index: usize) {
        let Task { standing, arn, cluster, service, .. } = &self.ecs.tasks[index];
        let description = match standing {
            Standing::OfOtherConsul => return,
            Standing::Misnamed => {
                login_description("arn:aws:ecs:us-east-1:999999999999:cluster/another", &"f".repeat(32))
            }
            Standing::Member | Standing::Impostor => login_description(cluster.as_str(), arn.id().as_str()),
        };
        let service = match standing {
            Standing::Impostor => INTRUDER.parse().unwrap(),
            _ => service_name(*service),
        };
        let mut record = self.new_record(description, false);
        record.grants = match self.tenancy {
            Tenancy::Community => granted(&Grant::ServiceIdentity(service.clone())),
            // A binding rule of the type `role` links a role.
            Tenancy::Enterprise { .. } => {
                let link = json!({ "Roles": [{ "ID": service.as_str(), "Name": service.as_str() }] });
                link.as_object().cloned().unwrap()
            }
        };
        record.auth_method = Some(SERVICE_METHOD.to_owned());
        note!(self, "task {index} logs in as {service} for token {}", record.accessor);
        self.consul.tokens.push(record);
    }

    /// Only the admitted: nothing is registered for a task that this Consul does not let log in as its service.
    pub(crate) fn check_admitted(&mut self, id: &str) {
        let claims = |task: &Task| !task.standing.is_admitted() && id.contains(task.arn.id().as_str());
        if let Some(index) = self.ecs.tasks.iter().position(claims) {
            let standing = self.ecs.tasks[index].standing;
            self.broken(format!("only the admitted: {id} is registered, and task {index} is {standing:?}"));
        }
    }
}

pub(crate) fn login_description(cluster: &str, task: &str) -> TokenDescription {
    let meta = json!({ "consul.hashicorp.com/cluster": cluster, "consul.hashicorp.com/task-id": task });
    let description = TokenDescription::from(format!("token created via login: {meta}"));
    assert!(description.login().is_some(), "{description}");
    description
}

/// The part of a configuration that decides about logins.
pub(crate) fn login_config(hosts: &str) -> [(&'static str, Value); 2] {
    [("consulLogin", json!({ "enabled": true })), ("consulServers", json!({ "hosts": hosts }))]
}

fn auth_method() -> AuthMethod {
    AuthMethod {
        kind: "aws-iam".to_owned(),
        has_entity_details: true,
        entity_tags: vec![NAMESPACE_ENTITY_TAG.to_owned(), SERVICE_NAME_ENTITY_TAG.to_owned()],
        principals: vec![format!("{ROLES}*")],
        namespace_rules: Vec::new(),
        binding_rules: vec![BindingRule {
            bind_type: "service".to_owned(),
            bind_name: format!("${{entity_tags.{SERVICE_NAME_ENTITY_TAG}}}"),
            selector: String::new(),
        }],
    }
}

#[async_trait]
impl Logins for ConsulEdge {
    async fn datacenter(&self) -> Result<Datacenter, ConsulError> {
        let datacenter = Datacenter {
            name: "dc1".to_owned(),
            is_primary: true,
            allows_by_default: false,
            allows_calls_by_default: false,
        };
        self.call(|| "GET agent".to_owned(), move |_| Ok(datacenter.clone())).await
    }

    async fn auth_method(&self, tenancy: &Tenancy, name: &str) -> Result<Option<AuthMethod>, ConsulError> {
        let is_there = name == SERVICE_METHOD && *tenancy == self.world().tenancy.home();
        self.call(|| format!("GET auth method {name}"), move |_| Ok(is_there.then(auth_method))).await
    }

    async fn role(&self, tenancy: &Tenancy, name: &str) -> Result<Option<Grants>, ConsulError> {
        let is_there = *tenancy == self.world().tenancy;
        let grants = json!({ "ServiceIdentities": [{ "ServiceName": name }] });
        let grants = is_there.then(|| grants_of(grants.as_object().unwrap()));
        self.call(|| format!("GET role {name}"), move |_| Ok(grants.clone())).await
    }
}

/// Simulated IAM, as one environment reaches it.
pub(crate) struct IamEdge(pub(crate) Connection);

#[async_trait]
impl IamRoles for IamEdge {
    async fn role(&self, arn: &RoleArn) -> Result<Option<IamRole>, IamError> {
        let (asked, failed) = (arn.clone(), arn.clone());
        let effect = move |_: &mut World| {
            let service = asked.as_str().strip_prefix(ROLES);
            Ok(service.map(|service| IamRole {
                arn: asked.clone(),
                created_at: Timestamp::from_second(time_at(0).as_second() - AGE_OF_ROLES).unwrap(),
                tags: BTreeMap::from([(SERVICE_NAME_ENTITY_TAG.to_owned(), service.to_owned())]),
            }))
        };
        let failure = move |fault| IamError::Failed { role: failed.clone(), reason: format!("{fault:?}") };
        self.0.call(Service::Iam, || format!("GetRole {}", arn.name()), effect, failure).await
    }
}
