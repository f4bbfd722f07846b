//! The controller's own ACL token: cached, and read again when Consul rejects it.

use std::{error::Error, sync::Arc};

use async_trait::async_trait;
use reqwest::header::HeaderValue;
use secrecy::{ExposeSecret, SecretString};
use tokio::sync::Mutex;

use crate::error::ConsulError;
use mesh::secret::redact;

/// Why the controller's own token could not be read. The text never contains the token.
#[derive(Debug, thiserror::Error)]
pub enum CredentialError {
    /// The secret does not contain a token.
    #[error("secret {secret} holds no token; expected the bare token, or JSON with a key \"token\"")]
    NoToken { secret: String },
    /// The secret could not be read, perhaps because AWS denied it.
    #[error("{source}")]
    Unreadable { source: Box<dyn Error + Send + Sync>, is_denied: bool },
}

/// The source of the controller's own token.
#[async_trait]
pub trait CredentialSource: Send + Sync {
    /// Reads the token.
    ///
    /// # Errors
    /// The source cannot be read, or contains no token.
    async fn read(&self) -> Result<SecretString, CredentialError>;
}

/// The cached token with its generation: a rejected request asks for a newer generation than it used.
pub(super) struct Credential {
    source: Arc<dyn CredentialSource>,
    read: Mutex<Option<Reading>>,
}

#[derive(Clone)]
pub(super) struct Reading {
    pub(super) token: SecretString,
    generation: u64,
}

impl Reading {
    /// The token as a sensitive header value, which libraries do not log.
    pub(super) fn header(&self) -> Result<HeaderValue, ConsulError> {
        let mut value =
            HeaderValue::from_str(self.token.expose_secret()).map_err(|_| ConsulError::CredentialUnreadable {
                reason: "it contains characters that are invalid in a token".to_owned(),
                is_denied: false,
            })?;
        value.set_sensitive(true);
        Ok(value)
    }

    /// The text of an answer, without the token.
    pub(super) fn redacted(&self, text: &str) -> String {
        redact(text, self.token.expose_secret())
    }
}

impl Credential {
    pub(super) fn new(source: Arc<dyn CredentialSource>) -> Self {
        Self { source, read: Mutex::new(None) }
    }

    /// The cached token, which is read at the first call.
    pub(super) async fn current(&self) -> Result<Reading, ConsulError> {
        let mut read = self.read.lock().await;
        match &*read {
            Some(reading) => Ok(reading.clone()),
            None => self.fetch(&mut read, 0).await,
        }
    }

    /// A token other than the rejected one, or `None` if the source still has the same.
    pub(super) async fn renewed(&self, rejected: &Reading) -> Result<Option<Reading>, ConsulError> {
        let mut read = self.read.lock().await;
        let newest = match &*read {
            Some(reading) if reading.generation > rejected.generation => reading.clone(),
            _ => self.fetch(&mut read, rejected.generation + 1).await?,
        };
        let is_other = newest.token.expose_secret() != rejected.token.expose_secret();
        Ok(is_other.then_some(newest))
    }

    async fn fetch(&self, read: &mut Option<Reading>, generation: u64) -> Result<Reading, ConsulError> {
        let unreadable = |error: CredentialError| ConsulError::CredentialUnreadable {
            reason: error.to_string(),
            is_denied: matches!(error, CredentialError::Unreadable { is_denied: true, .. }),
        };
        let token = self.source.read().await.map_err(unreadable)?;
        let reading = Reading { token, generation };
        *read = Some(reading.clone());
        Ok(reading)
    }
}
