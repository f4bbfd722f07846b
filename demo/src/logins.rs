//! How the demo's tasks log in: with an IAM role, or, where Consul is too old for that, with a `jwt` in its place.

use local_stack::{
    aws::Aws,
    consul::{Consul, Token, version},
};
use serde_json::json;
use test_harness::{
    aws_iam::{Session, create_role, is_supported, use_local_aws},
    ecs_agent::DataplaneTask,
    jwt::JwtAuthMethod,
};

/// The auth method of the demo's tasks.
pub(crate) enum Logins<'a> {
    /// The method that the controller has set up.
    Iam { aws: &'a Aws, consul: &'a Consul },
    /// A stand-in, and why.
    Jwt(JwtAuthMethod<'a>, String),
}

/// The role of a login that shows whether Consul takes them.
const TRIAL: &str = "demo-trial";

impl<'a> Logins<'a> {
    /// The method that this Consul allows.
    pub(crate) async fn of(aws: &'a Aws, consul: &'a Consul) -> Self {
        let (major, minor) = version();
        let refused = if is_supported() {
            use_local_aws(consul, aws).await;
            let session = Session::of(aws, &create_role(aws, TRIAL).await, TRIAL).await;
            match session.log_in(consul, &json!({})).await {
                Ok(token) => {
                    consul.delete(&format!("/v1/acl/token/{}", token.accessor_id)).await;
                    return Self::Iam { aws, consul };
                }
                Err(refused) => format!("Consul {major}.{minor} refuses a login by IAM role ({refused})"),
            }
        } else {
            format!("Consul {major}.{minor} has no auth methods of type aws-iam (since 1.12)")
        };
        Self::Jwt(JwtAuthMethod::create(consul, "demo-jwt").await, refused)
    }

    /// What the demo shows of it.
    pub(crate) fn note(&self) -> String {
        let (major, minor) = version();
        match self {
            Self::Iam { .. } => format!(
                "Tasks log in to Consul {major}.{minor} with their IAM roles, at the auth method iam-ecs-service-token of \
                 type aws-iam, which the controller has set up."
            ),
            Self::Jwt(_, why) => {
                format!("{why}: one of type jwt stands in. CONSUL_BIN=/path/to/consul uses another Consul.")
            }
        }
    }

    /// What a task logs in with.
    pub(crate) fn credential(&self) -> &'static str {
        match self {
            Self::Iam { .. } => "its IAM role",
            Self::Jwt(..) => "a jwt in place of its IAM role",
        }
    }

    /// The role of a service's tasks.
    pub(crate) async fn role(&self, service: &str) -> Option<String> {
        match self {
            Self::Iam { aws, .. } => Some(create_role(aws, service).await),
            Self::Jwt(..) => None,
        }
    }

    /// Logs a task of a service in, as `mesh-init` does.
    pub(crate) async fn log_in(&self, service: &str, role: Option<&str>, task: &DataplaneTask<'_>) -> Token {
        let cluster = task.world().cluster();
        match (self, role) {
            (Self::Iam { aws, consul }, Some(role)) => {
                let meta =
                    json!({ "consul.hashicorp.com/cluster": cluster, "consul.hashicorp.com/task-id": task.id() });
                let session = Session::of(aws, role, task.id()).await;
                let token = session.log_in(consul, &meta).await;
                token.unwrap_or_else(|refused| panic!("Consul refuses the login of {service} with {role}: {refused}"))
            }
            (Self::Jwt(method, _), None) => method.log_in_task(service, &cluster, task.id()).await,
            (_, role) => panic!("{service} has the role {role:?}"),
        }
    }
}
