//! AWS Secrets Manager: the tokens that tasks read when they start.

use std::collections::BTreeMap;

use async_trait::async_trait;
use aws_config::SdkConfig;
use aws_sdk_secretsmanager::{Client, error::SdkError, types::Tag};
use secrecy::{ExposeSecret, SecretString};

use crate::{
    aws::describe,
    mesh::{field::InvalidField, secret::SecretState, token::TokenPair},
};

/// An error of Secrets Manager.
#[derive(Debug, thiserror::Error)]
pub enum SecretsError {
    /// The call failed, after retries.
    #[error("secret {name}: Secrets Manager call failed: {reason}")]
    Failed {
        /// The secret.
        name: String,
        /// What happened.
        reason: String,
    },
    /// There is no such secret, and it is not ours to create.
    #[error("secret {name}: there is none; create it, and let the function's role read it")]
    Unknown {
        /// The secret.
        name: String,
    },
    /// The secret holds something that is not ours.
    #[error(transparent)]
    NotOurs(#[from] InvalidField),
}

/// What the controller needs of Secrets Manager.
#[async_trait]
pub trait SecretStore: Send + Sync {
    /// What the secret holds.
    async fn read(&self, name: &str) -> Result<SecretState, SecretsError>;

    /// Makes the secret, last seen in state `seen`, hold `pair`, or blank it. Creates it if missing.
    async fn write(&self, name: &str, seen: &SecretState, pair: Option<&TokenPair>) -> Result<(), SecretsError>;
}

/// The account's Secrets Manager.
pub struct AwsSecrets {
    client: Client,
    kms_key_id: Option<String>,
    tags: BTreeMap<String, String>,
}

impl AwsSecrets {
    /// Secrets Manager in the configuration's region. New secrets are encrypted with `kms_key_id`, or with the
    /// account's default key, and bear `tags`.
    #[must_use]
    pub fn new(config: &SdkConfig, kms_key_id: Option<String>, tags: BTreeMap<String, String>) -> Self {
        Self { client: Client::new(config), kms_key_id, tags }
    }

    /// The plain value of a secret that somebody else keeps, for example the controller's own Consul token.
    ///
    /// # Errors
    /// The secret does not exist, holds no text, or cannot be read.
    pub async fn read_value(&self, name: &str) -> Result<SecretString, SecretsError> {
        self.value(name).await?.ok_or_else(|| SecretsError::Unknown { name: name.to_owned() })
    }

    async fn value(&self, name: &str) -> Result<Option<SecretString>, SecretsError> {
        match self.client.get_secret_value().secret_id(name).send().await {
            // A secret that was created without a value reads as one that is not there.
            Ok(answer) if answer.secret_string.is_none() && answer.secret_binary.is_none() => Ok(None),
            Ok(answer) => Ok(Some(SecretString::from(answer.secret_string.unwrap_or_default()))),
            Err(SdkError::ServiceError(e)) if e.err().is_resource_not_found_exception() => Ok(None),
            Err(e) => Err(failed(name, &e)),
        }
    }

    async fn holds(&self, name: &str, value: &SecretString) -> Result<bool, SecretsError> {
        Ok(self.value(name).await?.is_some_and(|held| held.expose_secret() == value.expose_secret()))
    }

    /// Creates the secret; `false` where there is one already.
    async fn create(&self, name: &str, value: &SecretString) -> Result<bool, SecretsError> {
        let tags = self.tags.iter().map(|(key, value)| Tag::builder().key(key).value(value).build()).collect();
        let call = self
            .client
            .create_secret()
            .name(name)
            .description("Consul ACL token, kept by ecs-mesh-controller")
            .set_kms_key_id(self.kms_key_id.clone())
            .set_tags(Some(tags))
            .secret_string(value.expose_secret());
        match call.send().await {
            Ok(_) => Ok(true),
            Err(SdkError::ServiceError(e)) if e.err().is_resource_exists_exception() => Ok(false),
            Err(e) => Err(failed(name, &e)),
        }
    }
}

#[async_trait]
impl SecretStore for AwsSecrets {
    async fn read(&self, name: &str) -> Result<SecretState, SecretsError> {
        match self.value(name).await? {
            Some(value) => Ok(SecretState::parse(name, &value)?),
            None => Ok(SecretState::Missing),
        }
    }

    async fn write(&self, name: &str, seen: &SecretState, pair: Option<&TokenPair>) -> Result<(), SecretsError> {
        let value = SecretState::render(pair);
        if matches!(seen, SecretState::Missing) {
            if name.starts_with("arn:") {
                return Err(SecretsError::Unknown { name: name.to_owned() });
            }
            // Somebody else may have been faster, and Terraform makes secrets without a value, which read as missing.
            if self.create(name, &value).await? || self.holds(name, &value).await? {
                return Ok(());
            }
        }
        let call = self.client.put_secret_value().secret_id(name).secret_string(value.expose_secret());
        call.send().await.map(drop).map_err(|e| failed(name, &e))
    }
}

fn failed<E: std::error::Error + 'static>(name: &str, error: &E) -> SecretsError {
    SecretsError::Failed { name: name.to_owned(), reason: describe(error) }
}
