//! IAM users with given permissions.

use aws_sdk_sqs::config::{Credentials, SharedCredentialsProvider};
use serde_json::Value;

use super::aws::{ACCOUNT, Aws};

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
