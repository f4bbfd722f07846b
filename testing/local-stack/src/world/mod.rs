//! A small mesh on the local stack: clusters, task definitions and tasks in ECS, their events, and their state in Consul and
//! Secrets Manager.
//!
//! A `World` is one cluster of one deployment. Its name is unique in a run and part of its services' names, so that concurrent
//! tests do not affect each other.

mod catalog;
mod messages;
mod sweeps;
mod tasks;

use std::{collections::BTreeSet, time::Duration};

use aws_sdk_secretsmanager::operation::get_secret_value::GetSecretValueError;
use reqwest::Method;
use serde_json::{Value, json};

use crate::{
    Stack,
    aws::{ACCOUNT, Aws, REGION},
    consul::{Consul, Token},
    deploy::Deployed,
    wait::{SOON, eventually},
};

pub use catalog::{check_body, instance_body, instance_ids};
pub use messages::state_of;
pub use sweeps::RESTARTED;
pub use tasks::{Definition, envelope, mesh_tags, task_id};

/// The grace period of the tests' deployments: long enough to test restarts within it, short enough to wait for.
pub const GRACE: Duration = Duration::from_secs(4);

/// The ARN of a cluster in the local stack's account.
pub fn cluster_arn(name: &str) -> String {
    format!("arn:aws:ecs:{REGION}:{ACCOUNT}:cluster/{name}")
}

/// The Consul policy for the controller that `docs/how-to/install-sam.md` documents: its first block of HCL.
pub fn documented_policy() -> String {
    policy_in(include_str!("../../../../docs/how-to/install-sam.md"))
}

/// The Consul policy that `docs/how-to/move-from-consul-ecs.md` documents for mode `observe`.
pub fn observing_policy() -> String {
    policy_in(include_str!("../../../../docs/how-to/move-from-consul-ecs.md"))
}

/// The first block of HCL of a page.
fn policy_in(page: &str) -> String {
    let policy = page.split_once("```hcl\n").and_then(|(_, rest)| rest.split_once("```"));
    policy.expect("the page shows the policy").0.to_owned()
}

/// The message for an idle check of a service.
pub fn idle_check(service: &str) -> Value {
    json!({
        "source": "ecs-mesh-controller",
        "detail-type": "Service Idle Check",
        "detail": { "service": service },
    })
}

/// The token in a service's secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pair {
    /// The token's `AccessorID`.
    pub accessor_id: String,
    /// The token's `SecretID`.
    pub token: String,
}

/// One cluster, managed by one deployment.
pub struct World<'a> {
    /// The `MiniStack` that the cluster is in.
    pub aws: &'a Aws,
    /// The Consul server that the cluster's services register with.
    pub consul: &'a Consul,
    /// The outputs of the deployment; without one, all but the queue's URL are empty.
    pub deployed: Deployed,
    /// The cluster's name.
    pub name: &'static str,
    /// The prefix of secrets' names.
    pub prefix: &'static str,
}

impl<'a> World<'a> {
    /// A world in a shared stack.
    pub fn new(stack: &'a Stack, deployed: &Deployed, prefix: &'static str, name: &'static str) -> Self {
        Self { aws: &stack.aws, consul: &stack.consul, deployed: deployed.clone(), name, prefix }
    }

    /// A cluster of the shared stack with its own queue, without a deployment: for functions that run in the test's process or are
    /// started by it.
    pub async fn without_deployment(name: &'static str) -> World<'static> {
        let stack = Stack::shared().await;
        let queue = stack.aws.sqs().create_queue().queue_name(name).send().await.expect("CreateQueue");
        let deployed = Deployed { queue_url: queue.queue_url.expect("a URL"), ..Deployed::default() };
        let world = World::new(stack, &deployed, name, name);
        world.create_cluster().await;
        world
    }

    /// The cluster's ARN.
    pub fn cluster(&self) -> String {
        cluster_arn(self.name)
    }

    /// The name of the world's service.
    pub fn service(&self) -> String {
        format!("{}-web", self.name)
    }

    // ---- tokens and secrets ----

    /// The text of a secret, if the secret exists.
    pub async fn secret_text(&self, name: &str) -> Option<String> {
        match self.aws.secrets().get_secret_value().secret_id(name).send().await {
            Ok(answer) => answer.secret_string,
            Err(error)
                if error.as_service_error().is_some_and(GetSecretValueError::is_resource_not_found_exception) =>
            {
                None
            }
            Err(error) => panic!("secret {name}: {error:?}"),
        }
    }

    /// The tokens in all versions of a secret, shown or hidden.
    pub async fn secret_tokens(&self, name: &str) -> BTreeSet<String> {
        let call = self.aws.secrets().list_secret_version_ids().secret_id(name).include_deprecated(true);
        let versions = call.send().await.expect("ListSecretVersionIds").versions.unwrap_or_default();
        let mut tokens = BTreeSet::new();
        for id in versions.iter().filter_map(|version| version.version_id()) {
            let call = self.aws.secrets().get_secret_value().secret_id(name).version_id(id);
            let text = call.send().await.expect("GetSecretValue").secret_string.expect("a text");
            let value: Value = serde_json::from_str(&text).expect("the secret is JSON");
            let token = ["token", "retiring"].iter().find_map(|key| value[*key].as_str());
            tokens.extend(token.map(str::to_owned));
        }
        tokens
    }

    /// The name of a service's secret.
    pub fn secret_name(&self, service: &str) -> String {
        format!("{}-{service}", self.prefix)
    }

    /// The token that a secret shows, if it shows one.
    pub async fn pair(&self, secret_name: &str) -> Option<Pair> {
        let text = self.secret_text(secret_name).await?;
        let value: Value = serde_json::from_str(&text).expect("the secret is JSON");
        Some(Pair {
            accessor_id: value["accessor_id"].as_str()?.to_owned(),
            token: value["token"].as_str()?.to_owned(),
        })
    }

    /// Waits until a secret shows a token that is valid in Consul.
    pub async fn provisioned(&self, secret_name: &str) -> Pair {
        eventually(&format!("a valid token in {secret_name}"), SOON, || async {
            let pair = self.pair(secret_name).await.ok_or("no token in the secret")?;
            if self.is_valid(&pair.token).await { Ok(pair) } else { Err("Consul does not know the secret's token") }
        })
        .await
    }

    /// Waits until a secret shows no token.
    pub async fn hidden(&self, secret_name: &str) {
        eventually(&format!("no task to find a token in {secret_name}"), SOON, || async {
            if self.pair(secret_name).await.is_none() { Ok(()) } else { Err("it shows one") }
        })
        .await;
    }

    /// Waits until a secret holds no token, neither shown nor hidden.
    pub async fn emptied(&self, secret_name: &str) {
        eventually(&format!("{secret_name} to be empty"), SOON, || async {
            match self.is_empty(secret_name).await {
                Some(true) => Ok(()),
                Some(false) => Err("it still holds a token"),
                None => Err("there is no such secret"),
            }
        })
        .await;
    }

    /// Waits until a token is deleted in Consul.
    pub async fn revoked(&self, pair: &Pair) {
        eventually(&format!("token {} to be revoked", pair.accessor_id), SOON, || async {
            if self.is_valid(&pair.token).await { Err("Consul still knows it") } else { Ok(()) }
        })
        .await;
    }

    /// Whether a secret holds no token, neither shown nor hidden; `None` if the secret does not exist.
    pub async fn is_empty(&self, secret_name: &str) -> Option<bool> {
        let text = self.secret_text(secret_name).await?;
        let value: Value = serde_json::from_str(&text).expect("the secret is JSON");
        Some(value.get("accessor_id").is_none())
    }

    /// Whether a token is valid in Consul.
    pub async fn is_valid(&self, token: &str) -> bool {
        self.consul.call(Method::GET, "/v1/acl/token/self", token, None).await.status == 200
    }

    /// The tokens whose description mentions `text`.
    pub async fn tokens_about(&self, text: &str) -> Vec<Value> {
        let list = self.consul.get("/v1/acl/tokens").await;
        let tokens = list.as_array().expect("a list of tokens").iter();
        tokens.filter(|token| token["Description"].as_str().unwrap_or_default().contains(text)).cloned().collect()
    }

    /// A token as consul-ecs's controller creates it: a random accessor ID, its description, and the pair in the secret.
    pub async fn consul_ecs_controller_token(&self, service: &str) -> Pair {
        let body = json!({
            "Description": format!("Token for {service} service\nconsul.hashicorp.com/cluster: {}", self.name),
            "ServiceIdentities": [{ "ServiceName": service }],
        });
        let Token { accessor_id, secret_id: token } = Token::from(&self.consul.put("/v1/acl/token", &body).await);
        self.put_secret(&self.secret_name(service), &json!({ "accessor_id": accessor_id, "token": token })).await;
        Pair { accessor_id, token }
    }

    /// Creates a secret.
    pub async fn put_secret(&self, name: &str, value: &Value) {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        self.aws.create_secret(name, &text).await;
    }
}
