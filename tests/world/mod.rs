//! A small mesh on the real stack: clusters, task definitions and tasks in ECS, their events, and what Consul and
//! Secrets Manager hold of them.
//!
//! A `World` is one cluster of one deployment. Its name is unique in a run, and stands in the names of its services,
//! so that worlds side by side do not see each other.

#![allow(dead_code, unused_imports, clippy::expect_used, clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod catalog;
mod tasks;

use std::{collections::BTreeSet, time::Duration};

use reqwest::Method;
use serde_json::{Value, json};

use crate::stack::{
    Stack,
    aws::{ACCOUNT, Aws, REGION},
    consul::Consul,
    deploy::Deployed,
    wait::{SOON, eventually},
};

pub(crate) use tasks::{Definition, envelope, task_id};

/// The grace period of the tests' deployments: long enough for "within it" to be tested, short enough to wait for.
pub(crate) const GRACE: Duration = Duration::from_secs(4);

/// The ARN of a cluster in the local stack's account.
pub(crate) fn cluster_arn(name: &str) -> String {
    format!("arn:aws:ecs:{REGION}:{ACCOUNT}:cluster/{name}")
}

/// The Consul policy that the README tells users to give the controller: its first block of HCL.
pub(crate) fn readme_policy() -> String {
    let readme = include_str!("../../README.md");
    let policy = readme.split_once("```hcl\n").and_then(|(_, rest)| rest.split_once("```"));
    policy.expect("the README shows the policy").0.to_owned()
}

/// What a service token's secret holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pair {
    pub(crate) accessor_id: String,
    pub(crate) token: String,
}

/// One cluster, looked after by one deployment.
pub(crate) struct World<'a> {
    pub(crate) aws: &'a Aws,
    pub(crate) consul: &'a Consul,
    pub(crate) deployed: Deployed,
    /// The cluster's name.
    pub(crate) name: &'static str,
    /// What secrets' names begin with.
    pub(crate) prefix: &'static str,
}

impl<'a> World<'a> {
    /// A world in a shared stack.
    pub(crate) fn new(stack: &'a Stack, deployed: &Deployed, prefix: &'static str, name: &'static str) -> Self {
        Self { aws: &stack.aws, consul: &stack.consul, deployed: deployed.clone(), name, prefix }
    }

    /// The cluster's ARN.
    pub(crate) fn cluster(&self) -> String {
        cluster_arn(self.name)
    }

    /// The world's service: named after it.
    pub(crate) fn service(&self) -> String {
        format!("{}-web", self.name)
    }

    // ---- messages ----

    /// Puts events on the queue, as EventBridge does; each is a message of its own.
    pub(crate) async fn deliver(&self, events: &[Value]) {
        let bodies: Vec<String> = events.iter().map(Value::to_string).collect();
        self.deliver_raw(&bodies).await;
    }

    /// Puts any text on the queue.
    pub(crate) async fn deliver_raw(&self, bodies: &[String]) {
        let sqs = self.aws.sqs();
        for chunk in bodies.chunks(10) {
            let mut call = sqs.send_message_batch().queue_url(&self.deployed.queue_url);
            for (index, body) in chunk.iter().enumerate() {
                let entry = aws_sdk_sqs::types::SendMessageBatchRequestEntry::builder().id(index.to_string());
                call = call.entries(entry.message_body(body).build().unwrap());
            }
            assert!(call.send().await.expect("SendMessageBatch").failed().is_empty());
        }
    }

    /// Waits until all messages of this world are done, also delayed ones, and none of them was given up.
    pub(crate) async fn settled(&self) {
        self.settled_within(Duration::from_secs(150)).await;
    }

    /// The same, where it may take longer.
    pub(crate) async fn settled_within(&self, time: Duration) {
        eventually(&format!("the messages of {} to be done", self.name), time, || async {
            let waiting = self.waiting(&self.deployed.queue_url).await;
            if waiting.is_empty() { Ok(()) } else { Err(format!("{waiting:#?}")) }
        })
        .await;
        let given_up = self.waiting(&self.deployed.failed_queue_url).await;
        assert!(given_up.is_empty(), "in the dead-letter queue: {given_up:#?}");
    }

    /// Waits until every message of this world is done, or is a look that is due later.
    pub(crate) async fn worked_off(&self) {
        eventually(&format!("the events of {} to be done", self.name), SOON, || async {
            let mut waiting = self.waiting(&self.deployed.queue_url).await;
            waiting.retain(|message| !message["Body"].as_str().unwrap_or_default().contains("Service Idle Check"));
            if waiting.is_empty() { Ok(()) } else { Err(format!("{waiting:#?}")) }
        })
        .await;
    }

    /// The messages of this world in a queue.
    pub(crate) async fn waiting(&self, queue_url: &str) -> Vec<Value> {
        let mut messages = self.aws.messages(queue_url).await;
        messages.retain(|message| message["Body"].as_str().unwrap_or_default().contains(self.name));
        messages
    }

    // ---- tokens and secrets ----

    /// The text of a secret, if there is one.
    pub(crate) async fn secret_text(&self, name: &str) -> Option<String> {
        match self.aws.secrets().get_secret_value().secret_id(name).send().await {
            Ok(answer) => answer.secret_string,
            Err(error) if error.as_service_error().is_some_and(aws_sdk_secretsmanager::operation::get_secret_value::GetSecretValueError::is_resource_not_found_exception) => None,
            Err(error) => panic!("secret {name}: {error:?}"),
        }
    }

    /// The tokens that a secret has decided on, each of them once, shown to tasks or not.
    pub(crate) async fn secret_tokens(&self, name: &str) -> BTreeSet<String> {
        let call = self.aws.secrets().list_secret_version_ids().secret_id(name).include_deprecated(true);
        let versions = call.send().await.expect("ListSecretVersionIds").versions.unwrap_or_default();
        let mut tokens = BTreeSet::new();
        for id in versions.iter().filter_map(|version| version.version_id()) {
            let call = self.aws.secrets().get_secret_value().secret_id(name).version_id(id);
            let text = call.send().await.expect("GetSecretValue").secret_string.expect("a text");
            let value: Value = serde_json::from_str(&text).expect("the secret is JSON");
            let token = ["token", "reserved"].iter().find_map(|key| value[*key].as_str());
            tokens.extend(token.map(str::to_owned));
        }
        tokens
    }

    /// The name of a service's secret.
    pub(crate) fn secret_name(&self, service: &str) -> String {
        format!("{}-{service}", self.prefix)
    }

    /// The token in a secret, if it holds one.
    pub(crate) async fn pair(&self, secret_name: &str) -> Option<Pair> {
        let text = self.secret_text(secret_name).await?;
        let value: Value = serde_json::from_str(&text).expect("the secret is JSON");
        Some(Pair {
            accessor_id: value["accessor_id"].as_str()?.to_owned(),
            token: value["token"].as_str()?.to_owned(),
        })
    }

    /// Waits until a secret holds a token that Consul knows.
    pub(crate) async fn provisioned(&self, secret_name: &str) -> Pair {
        eventually(&format!("a valid token in {secret_name}"), SOON, || async {
            let pair = self.pair(secret_name).await.ok_or("no token in the secret")?;
            if self.is_valid(&pair.token).await { Ok(pair) } else { Err("Consul does not know the secret's token") }
        })
        .await
    }

    /// Waits until a secret holds no token any more.
    pub(crate) async fn blanked(&self, secret_name: &str) {
        eventually(&format!("{secret_name} to be blank"), SOON, || async {
            match self.secret_text(secret_name).await.as_deref() {
                Some("{}") => Ok(()),
                Some(_) => Err("it still holds a token"),
                None => Err("there is no such secret"),
            }
        })
        .await;
    }

    /// Whether Consul knows a token.
    pub(crate) async fn is_valid(&self, token: &str) -> bool {
        self.consul.call(Method::GET, "/v1/acl/token/self", token, None).await.status == 200
    }

    /// The tokens whose description mentions `text`.
    pub(crate) async fn tokens_about(&self, text: &str) -> Vec<Value> {
        let list = self.consul.get("/v1/acl/tokens").await;
        let tokens = list.as_array().expect("a list of tokens").iter();
        tokens.filter(|token| token["Description"].as_str().unwrap_or_default().contains(text)).cloned().collect()
    }

    /// A token as the old controller made it: a random accessor ID, its marks, and its pair in the secret.
    pub(crate) async fn token_of_old_controller(&self, service: &str) -> Pair {
        let body = json!({
            "Description": format!("Token for {service} service\nconsul.hashicorp.com/cluster: {}", self.name),
            "ServiceIdentities": [{ "ServiceName": service }],
        });
        let made = self.consul.put("/v1/acl/token", &body).await;
        let field = |name: &str| made[name].as_str().unwrap().to_owned();
        let pair = Pair { accessor_id: field("AccessorID"), token: field("SecretID") };
        self.put_secret(&self.secret_name(service), &json!({ "accessor_id": pair.accessor_id, "token": pair.token }))
            .await;
        pair
    }

    /// Creates a secret.
    pub(crate) async fn put_secret(&self, name: &str, value: &Value) {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        self.aws.secrets().create_secret().name(name).secret_string(text).send().await.expect("CreateSecret");
    }
}
