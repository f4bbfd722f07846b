//! AWS Secrets Manager: the secrets with the tokens that tasks read at their start.

use std::{collections::BTreeMap, error::Error, fmt::Debug};

use async_trait::async_trait;
use aws_sdk_secretsmanager::{
    Client,
    error::{ProvideErrorMetadata, SdkError},
    types::Tag,
};
use aws_types::SdkConfig;
use jiff::Timestamp;
use mesh::{
    names::InvalidField,
    secret::{SecretState, StoredSecret, redact},
};
use secrecy::{ExposeSecret, SecretString};
use uuid::Uuid;

use crate::sdk::describe;

/// The longest name of a secret, in bytes: <https://docs.aws.amazon.com/secretsmanager/latest/apireference/API_CreateSecret.html>
const LONGEST_NAME: usize = 512;
const DENIED: &str = "AccessDeniedException";
/// The error of a write because of the account's limits: it certainly has no effect.
const LIMIT_EXCEEDED: &str = "LimitExceededException";
/// The errors because of the secret itself: its state or its key. They come before any effect.
const OF_THE_SECRET: [&str; 6] = [
    "DecryptionFailure",
    "EncryptionFailure",
    "InvalidParameterException",
    "InvalidRequestException",
    "MalformedPolicyDocumentException",
    "ResourceNotFoundException",
];
/// What a denial says if the secret's key or resource policy is the cause, which its owner chose, and not the function's role:
/// <https://docs.aws.amazon.com/IAM/latest/UserGuide/troubleshoot_access-denied.html>
const DENIALS_OF_THE_SECRET: [&str; 3] = ["KMS", "kms:", "resource-based policy"];

/// An error of Secrets Manager. `name` names the secret.
#[derive(Debug, Clone, thiserror::Error)]
pub enum SecretsError {
    /// The call failed, after retries.
    #[error("secret {name}: Secrets Manager call failed: {reason}")]
    Failed { name: String, reason: String },
    /// IAM denied the call, so it had no effect.
    #[error("secret {name}: IAM denied this call: {reason}")]
    Denied { name: String, reason: String },
    /// Secrets Manager rejected the call, which has no effect, because of the account's limits or the key of all secrets.
    #[error("secret {name}: Secrets Manager refused the call: {reason}")]
    Refused { name: String, reason: String },
    /// The secret's key, resource policy or state rejected the call, which has no effect.
    #[error(
        "secret {name}: it cannot be used: {reason}. Allow the caller in the policies of its KMS key and of the secret, or delete \
         the secret"
    )]
    Unusable { name: String, reason: String },
    /// Other writers have used up its versions, about 100 a day.
    #[error(
        "secret {name}: its versions of the last 24 hours are used up. Find what else writes it; later sweeps try again"
    )]
    Exhausted { name: String },
    /// A replaced version was made the current one again: every write on it is rejected.
    #[error(
        "secret {name}: its current version was replaced before, but another writer made it current again; give the \
         secret a new value, for example {{}}, so that the controller can write it"
    )]
    RolledBack { name: String },
    /// Another writer has replaced the version that was read.
    #[error("secret {name}: changed since it was read")]
    Changed { name: String },
    /// The secret is marked for deletion, so that the write has no effect.
    #[error(
        "secret {name}: it is marked for deletion; restore it with: aws secretsmanager restore-secret --secret-id {name}"
    )]
    MarkedForDeletion { name: String },
    /// The secret does not exist, and the controller may not create it.
    #[error("secret {name}: it does not exist; create it, and let the function's role read it")]
    Unknown { name: String },
    /// The value of the secret has another format.
    #[error(transparent)]
    NotOurs(#[from] InvalidField),
}

#[async_trait]
pub trait SecretReads: Send + Sync {
    /// Reads the secret.
    ///
    /// # Errors
    /// [`SecretsError::MarkedForDeletion`] if a person has deleted it, and it can still be restored.
    async fn read(&self, name: &str) -> Result<StoredSecret, SecretsError>;
}

#[async_trait]
pub trait SecretWrites: Send + Sync {
    /// Writes a state into the secret, which is created if it does not exist, and returns the new version ID. The write
    /// is a compare-and-swap on the version of `seen`: of several writers with the same version only one succeeds. Each
    /// write is unique, so that success proves that the secret had that version until then.
    ///
    /// # Errors
    /// [`SecretsError::Changed`] if another writer was faster. [`SecretsError::is_refusal`] if the write certainly has no effect.
    async fn write(&self, name: &str, seen: &StoredSecret, state: &SecretState) -> Result<String, SecretsError>;
}

/// The Secrets Manager of the account.
pub struct AwsSecrets {
    client: Client,
    kms_key_id: Option<String>,
    tags: BTreeMap<String, String>,
}

impl AwsSecrets {
    /// Secrets Manager in the configuration's region. New secrets are encrypted with `kms_key_id`, or with the default
    /// key of the account, and have `tags`.
    pub fn new(config: &SdkConfig, kms_key_id: Option<String>, tags: BTreeMap<String, String>) -> Self {
        Self { client: Client::new(config), kms_key_id, tags }
    }

    /// The value of a secret that the controller does not manage, for example its own Consul token.
    ///
    /// # Errors
    /// The secret does not exist, has no value, or cannot be read.
    pub async fn read_value(&self, name: &str) -> Result<SecretString, SecretsError> {
        let value = self.value(name).await?;
        value.map(|value| value.text).ok_or_else(|| SecretsError::Unknown { name: name.to_owned() })
    }

    async fn value(&self, name: &str) -> Result<Option<Value>, SecretsError> {
        match self.client.get_secret_value().secret_id(name).send().await {
            // A secret without a value is treated as missing.
            Ok(answer) if answer.secret_string.is_none() && answer.secret_binary.is_none() => Ok(None),
            Ok(answer) => Ok(Some(Value {
                text: SecretString::from(answer.secret_string.unwrap_or_default()),
                version: answer.version_id,
                written_at: answer.created_date.and_then(|at| Timestamp::from_second(at.secs()).ok()),
            })),
            Err(SdkError::ServiceError(e)) if e.err().is_resource_not_found_exception() => Ok(None),
            Err(SdkError::ServiceError(e)) if is_deletion(e.err()) => {
                Err(SecretsError::MarkedForDeletion { name: name.to_owned() })
            }
            Err(e) if is_of_the_secret(&e) => Err(unusable(name, &e)),
            Err(e) => Err(failed(name, &e)),
        }
    }

    /// Writes the value as the successor of the version of `seen`. Returns the new version ID.
    async fn write_value(&self, name: &str, seen: &StoredSecret, value: &SecretString) -> Result<String, SecretsError> {
        if matches!(seen.state, SecretState::Missing) {
            if name.starts_with("arn:") {
                return Err(SecretsError::Unknown { name: name.to_owned() });
            }
            if let Some(version) = self.create(name, value).await? {
                return Ok(version);
            }
            // Another writer was faster, or Terraform created the secret without a value.
            if self.value(name).await?.is_some() {
                return Err(SecretsError::Changed { name: name.to_owned() });
            }
        }
        self.replace(name, seen.version.as_deref(), value).await
    }

    /// Creates the secret. Returns its version ID, or `None` if it exists.
    async fn create(&self, name: &str, value: &SecretString) -> Result<Option<String>, SecretsError> {
        let tags = self.tags.iter().map(|(key, value)| Tag::builder().key(key).value(value).build()).collect();
        let call = self
            .client
            .create_secret()
            .name(name)
            .client_request_token(next_version(name, None))
            .description("Consul ACL token, kept by ecs-mesh-controller")
            .set_kms_key_id(self.kms_key_id.clone())
            .set_tags(Some(tags))
            .secret_string(value.expose_secret());
        match call.send().await {
            Ok(answer) => Ok(Some(answer.version_id.unwrap_or_else(|| next_version(name, None)))),
            Err(SdkError::ServiceError(e)) if e.err().is_resource_exists_exception() => Ok(None),
            Err(e) if e.code() == Some("InvalidParameterException") && name.len() > LONGEST_NAME => {
                Err(unusable(name, &e))
            }
            // A new secret has the deployment's key, and no policy: what is wrong concerns every new secret.
            Err(e) => Err(match write_error(name, &e) {
                SecretsError::Unusable { name, reason } => SecretsError::Refused { name, reason },
                error => error,
            }),
        }
    }

    /// Replaces the version of `seen`. Returns the new version ID.
    async fn replace(&self, name: &str, seen: Option<&str>, value: &SecretString) -> Result<String, SecretsError> {
        let call = self.client.put_secret_value().secret_id(name).client_request_token(next_version(name, seen));
        match call.secret_string(value.expose_secret()).send().await {
            Ok(answer) => Ok(answer.version_id.unwrap_or_else(|| next_version(name, seen))),
            Err(SdkError::ServiceError(e)) if e.err().is_resource_exists_exception() => {
                Err(SecretsError::Changed { name: name.to_owned() })
            }
            Err(e) if e.code() == Some("LimitExceededException") => {
                Err(SecretsError::Exhausted { name: name.to_owned() })
            }
            Err(e) => Err(write_error(name, &e)),
        }
    }
}

/// Whether an operation was refused because the secret is marked for deletion. Other refusals have the same code; only
/// the text says so: "was marked for deletion", "is already scheduled for deletion", "was deleted".
fn is_deletion(error: &impl ProvideErrorMetadata) -> bool {
    let says_so = |text: &str| text.contains("deletion") || text.contains("deleted");
    error.code() == Some("InvalidRequestException") && error.message().is_some_and(says_so)
}

/// The version ID that follows `seen`, or the ID of a secret's first version. Secrets Manager rejects an existing ID
/// with another value, so of several writers with the same version only one succeeds: compare-and-swap. The first write
/// has an ID too, because a secret that was just created may read as missing.
fn next_version(name: &str, seen: Option<&str>) -> String {
    Uuid::new_v5(&Uuid::NAMESPACE_OID, seen.unwrap_or(name).as_bytes()).to_string()
}

struct Value {
    text: SecretString,
    version: Option<String>,
    written_at: Option<Timestamp>,
}

#[async_trait]
impl SecretReads for AwsSecrets {
    async fn read(&self, name: &str) -> Result<StoredSecret, SecretsError> {
        let Some(value) = self.value(name).await? else {
            return Ok(StoredSecret { state: SecretState::Missing, is_ours: false, version: None, written_at: None });
        };
        let (state, is_ours) = SecretState::parse(name, &value.text)?;
        Ok(StoredSecret { state, is_ours, version: value.version, written_at: value.written_at })
    }
}

#[async_trait]
impl SecretWrites for AwsSecrets {
    async fn write(&self, name: &str, seen: &StoredSecret, state: &SecretState) -> Result<String, SecretsError> {
        let value = state.render(Uuid::new_v4());
        self.write_value(name, seen, &value)
            .await
            .map_err(|error| error.redacted(state.pair().map(|pair| pair.secret.expose_secret()).unwrap_or_default()))
    }
}

impl SecretsError {
    /// Whether a write certainly had no effect.
    pub fn is_refusal(&self) -> bool {
        matches!(
            self,
            Self::Denied { .. }
                | Self::Refused { .. }
                | Self::Unusable { .. }
                | Self::Exhausted { .. }
                | Self::MarkedForDeletion { .. }
        )
    }

    /// The error of one secret, where others could be read: then the cause is no missing permission of the role.
    #[must_use]
    pub fn of_this_secret(self) -> Self {
        match self {
            Self::Denied { name, reason } => Self::Unusable { name, reason },
            error => error,
        }
    }

    /// The error without `secret`, which the text of an answer may contain.
    fn redacted(self, secret: &str) -> Self {
        match self {
            Self::Failed { name, reason } => Self::Failed { name, reason: redact(&reason, secret) },
            Self::Denied { name, reason } => Self::Denied { name, reason: redact(&reason, secret) },
            Self::Refused { name, reason } => Self::Refused { name, reason: redact(&reason, secret) },
            Self::Unusable { name, reason } => Self::Unusable { name, reason: redact(&reason, secret) },
            error => error,
        }
    }
}

/// The error of a write: a refusal if Secrets Manager rejected it, which has no effect.
fn write_error<E, R>(name: &str, error: &SdkError<E, R>) -> SecretsError
where
    E: Error + ProvideErrorMetadata + 'static,
    R: Debug + 'static,
{
    if is_deletion(error) {
        return SecretsError::MarkedForDeletion { name: name.to_owned() };
    }
    if is_of_the_secret(error) {
        return unusable(name, error);
    }
    failed(name, error)
}

/// Whether the secret itself is the cause: its key, its resource policy or its state.
fn is_of_the_secret(error: &impl ProvideErrorMetadata) -> bool {
    let is_denied_by_it =
        || error.message().is_some_and(|text| DENIALS_OF_THE_SECRET.iter().any(|cause| text.contains(cause)));
    match error.code() {
        Some(DENIED) => is_denied_by_it(),
        Some(code) => OF_THE_SECRET.contains(&code) || code.starts_with("KMS"),
        None => false,
    }
}

fn unusable(name: &str, error: &(impl Error + 'static)) -> SecretsError {
    SecretsError::Unusable { name: name.to_owned(), reason: describe(error) }
}

fn failed(name: &str, error: &(impl Error + ProvideErrorMetadata + 'static)) -> SecretsError {
    let (name, reason) = (name.to_owned(), describe(error));
    match error.code() {
        Some(DENIED) => SecretsError::Denied { name, reason },
        Some(LIMIT_EXCEEDED) => SecretsError::Refused { name, reason },
        _ => SecretsError::Failed { name, reason },
    }
}
