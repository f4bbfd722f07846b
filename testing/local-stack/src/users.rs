//! IAM users with given permissions.

use std::fs;

use aws_sdk_sqs::config::{Credentials, SharedCredentialsProvider};
use serde_json::Value;

use super::aws::{ACCOUNT, Aws, REGION};
use super::in_repository;

/// An access key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    pub id: String,
    pub secret: String,
}

impl Key {
    /// The key of an account's root user.
    pub fn of_root(account: &str) -> Self {
        Self { id: account.to_owned(), secret: "test".to_owned() }
    }

    pub fn credentials(&self) -> SharedCredentialsProvider {
        SharedCredentialsProvider::new(Credentials::new(&self.id, &self.secret, None, None, "tests"))
    }
}

impl Aws {
    /// The access key of a new user with these policies.
    pub async fn user(&self, name: &str, policies: &[Value]) -> Key {
        self.user_in(ACCOUNT, name, policies).await
    }

    /// The access key of a new user of another account, with these policies.
    pub async fn user_in(&self, account: &str, name: &str, policies: &[Value]) -> Key {
        let root = self.sdk().into_builder().credentials_provider(Key::of_root(account).credentials()).build();
        let iam = aws_sdk_iam::Client::new(&root);
        iam.create_user().user_name(name).send().await.expect("CreateUser");
        for (number, document) in policies.iter().enumerate() {
            let policy = iam.create_policy().policy_name(format!("{name}-{number}"));
            let created = policy.policy_document(document.to_string()).send().await.expect("CreatePolicy");
            let arn = created.policy().and_then(|policy| policy.arn()).expect("an ARN");
            iam.attach_user_policy().user_name(name).policy_arn(arn).send().await.expect("AttachUserPolicy");
        }
        let created = iam.create_access_key().user_name(name).send().await.expect("CreateAccessKey");
        let key = created.access_key().expect("a key");
        Key { id: key.access_key_id().to_owned(), secret: key.secret_access_key().to_owned() }
    }
}

/// The page of what deploying needs, for a stack of the local account and region.
pub fn page_of_deployers(stack: &str) -> String {
    localized("docs/reference/permissions-to-deploy.md", stack)
}

/// Policies of that page by their names in its comments, for example `resources`.
pub fn deploying(stack: &str, policies: &[&str]) -> Vec<Value> {
    let page = page_of_deployers(stack);
    policies.iter().map(|name| policy(&page, name)).collect()
}

/// The policy of people on call, from the page on alarms.
pub fn on_call(stack: &str) -> Value {
    policy(&localized("docs/how-to/alarms.md", stack), "oncall")
}

/// A page for a stack of the local account and region.
fn localized(page: &str, stack: &str) -> String {
    let page = fs::read_to_string(in_repository(page)).unwrap();
    page.replace("111122223333", ACCOUNT).replace("eu-west-1", REGION).replace("ecs-mesh-controller", stack)
}

fn policy(page: &str, name: &str) -> Value {
    let (_, rest) = page.split_once(&format!("<!-- written by make pages: {name} -->")).expect("a policy");
    let text = rest.split("```").nth(1).expect("a block").trim_start_matches("json");
    serde_json::from_str(text).expect("JSON")
}
