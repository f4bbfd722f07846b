//! The secrets that the controller created: it deletes those that no task needs, and restores them.

use async_trait::async_trait;
use aws_sdk_secretsmanager::{
    error::SdkError,
    operation::{describe_secret::DescribeSecretOutput, list_secrets::ListSecretsOutput},
    types::{Filter, FilterNameStringType, Tag},
};
use jiff::Timestamp;
use tracing::info;

use super::{AwsSecrets, SecretsError, failed, write_error};

/// Days for which a deleted secret can be restored: the most that Secrets Manager offers. It charges nothing for them.
const RECOVERY_WINDOW_DAYS: i64 = 30;
/// The most secrets in a page of a list.
const PAGE: i32 = 100;
/// The stage of the version that readers get.
const CURRENT: &str = "AWSCURRENT";

/// A secret that the controller created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnSecret {
    /// Its name.
    pub name: String,
    /// When it was last changed, by the clock of Secrets Manager.
    pub changed_at: Option<Timestamp>,
}

/// The secrets that the controller created, which have its tags.
#[async_trait]
pub trait OwnSecrets: Send + Sync {
    /// The secrets whose names begin with `prefix`, except those that are marked for deletion.
    async fn own_secrets(&self, prefix: &str) -> Result<Vec<OwnSecret>, SecretsError>;

    /// Marks a secret for deletion. It can be restored for 30 days.
    async fn schedule_deletion(&self, name: &str) -> Result<(), SecretsError>;

    /// Whether the secret is marked for deletion, and `version` is its current version. If another writer has replaced the
    /// version before the mark, the secret is restored.
    async fn confirm_deletion(&self, name: &str, version: &str) -> Result<bool, SecretsError>;
}

#[async_trait]
impl OwnSecrets for AwsSecrets {
    async fn own_secrets(&self, prefix: &str) -> Result<Vec<OwnSecret>, SecretsError> {
        let filter = Filter::builder().key(FilterNameStringType::Name).values(prefix).build();
        let pages = self.client.list_secrets().filters(filter).max_results(PAGE).into_paginator().send();
        let pages: Vec<ListSecretsOutput> = pages.try_collect().await.map_err(|e| failed(&format!("{prefix}*"), &e))?;
        let listed = pages.iter().flat_map(ListSecretsOutput::secret_list);
        let own = listed.filter(|secret| self.has_own_tags(secret.tags()) && secret.deleted_date().is_none());
        let own = own.filter_map(|secret| {
            let changed_at = secret.last_changed_date().or(secret.created_date());
            let changed_at = changed_at.and_then(|at| Timestamp::from_second(at.secs()).ok());
            Some(OwnSecret { name: secret.name()?.to_owned(), changed_at })
        });
        // The filter may match more.
        Ok(own.filter(|secret| secret.name.starts_with(prefix)).collect())
    }

    async fn schedule_deletion(&self, name: &str) -> Result<(), SecretsError> {
        let call = self.client.delete_secret().secret_id(name).recovery_window_in_days(RECOVERY_WINDOW_DAYS);
        call.send().await.map(drop).map_err(|e| write_error(name, &e))
    }

    async fn confirm_deletion(&self, name: &str, version: &str) -> Result<bool, SecretsError> {
        let described = self.describe(name).await?;
        if described.deleted_date().is_none() {
            return Ok(false);
        }
        let stages = described.version_ids_to_stages().and_then(|versions| versions.get(version));
        if stages.is_some_and(|stages| stages.iter().any(|stage| stage == CURRENT)) {
            return Ok(true);
        }
        self.restore(name).await.map(|()| false)
    }
}

impl AwsSecrets {
    /// Checks that the controller created a secret that is marked for deletion.
    ///
    /// # Errors
    /// [`SecretsError::MarkedForDeletion`] if it is another creator's.
    pub(super) async fn check_own(&self, name: &str) -> Result<(), SecretsError> {
        if self.has_own_tags(self.describe(name).await?.tags()) {
            return Ok(());
        }
        Err(SecretsError::MarkedForDeletion { name: name.to_owned() })
    }

    /// Restores a secret that is marked for deletion. Its ARN stays the same.
    pub(super) async fn restore(&self, name: &str) -> Result<(), SecretsError> {
        self.client.restore_secret().secret_id(name).send().await.map_err(|e| write_error(name, &e))?;
        info!(action = "restore_secret", outcome = "done", secret = name);
        Ok(())
    }

    async fn describe(&self, name: &str) -> Result<DescribeSecretOutput, SecretsError> {
        let described = self.client.describe_secret().secret_id(name).send().await;
        described.map_err(|e| match e {
            SdkError::ServiceError(e) if e.err().is_resource_not_found_exception() => {
                SecretsError::Unknown { name: name.to_owned() }
            }
            other => failed(name, &other),
        })
    }

    fn has_own_tags(&self, tags: &[Tag]) -> bool {
        let has = |key: &str, value: &str| tags.iter().any(|tag| (tag.key(), tag.value()) == (Some(key), Some(value)));
        self.tags.iter().all(|(key, value)| has(key, value))
    }
}
