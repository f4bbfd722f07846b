//! Secrets Manager.

use async_trait::async_trait;
use aws::secrets::{OwnSecret, OwnSecrets, SecretStore, SecretsError};
use mesh::secret::{SecretState, StoredSecret};

use super::Observing;

#[async_trait]
impl SecretStore for Observing {
    async fn read(&self, name: &str) -> Result<StoredSecret, SecretsError> {
        self.0.secrets.read(name).await
    }

    async fn write(&self, name: &str, seen: &StoredSecret, state: &SecretState) -> Result<String, SecretsError> {
        let call = match seen.state {
            SecretState::Missing => "secretsmanager:CreateSecret",
            _ => "secretsmanager:PutSecretValue",
        };
        let accessor_id = state.pair().map(|pair| tracing::field::display(pair.accessor));
        observed!(call, secret = name, accessor_id);
        Ok("observed".to_owned())
    }
}

#[async_trait]
impl OwnSecrets for Observing {
    async fn own_secrets(&self, prefix: &str) -> Result<Vec<OwnSecret>, SecretsError> {
        self.0.secrets.own_secrets(prefix).await
    }

    async fn schedule_deletion(&self, name: &str) -> Result<(), SecretsError> {
        observed!("secretsmanager:DeleteSecret", secret = name);
        Ok(())
    }

    /// It is not asked, because it may restore the secret.
    async fn confirm_deletion(&self, _: &str, _: &str) -> Result<bool, SecretsError> {
        Ok(true)
    }
}
