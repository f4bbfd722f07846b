//! The controller's own ACL token: read send_once, and read again send_once after Consul refused it.

use std::{error::Error, sync::Arc};

use async_trait::async_trait;
use reqwest::header::HeaderValue;
use secrecy::{ExposeSecret, SecretString};
use tokio::sync::Mutex;

use crate::error::ConsulError;
use mesh::secret::redact;

/// Why the controller's own token could not be read. The text never holds the token.
#[derive(Debug, thiserror::Error)]
pub enum CredentialError {
    /// The secret holds something else.
    #[error("secret {secret} holds no token; expected the bare token, or JSON with a key \"token\"")]
    NoToken {
        /// The secret's name or ARN.
        secret: String,
    },
    /// The secret could not be read.
    #[error(transparent)]
    Unreadable(Box<dyn Error + Send + Sync>),
}

/// Where the controller's own token comes from.
#[async_trait]
pub trait CredentialSource: Send + Sync {
    /// Reads the token.
    ///
    /// # Errors
    /// The source cannot be read, or holds no token.
    async fn read(&self) -> Result<SecretString, CredentialError>;
}

/// The token, and how often it was read: a call that was refused asks for a newer reading than the one it used.
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
    /// The token as a header that no library prints.
    pub(super) fn header(&self) -> Result<HeaderValue, ConsulError> {
        let mut value = HeaderValue::from_str(self.token.expose_secret()).map_err(|_| {
            ConsulError::CredentialUnreadable { reason: "it holds characters that no token has".to_owned() }
        })?;
        value.set_sensitive(true);
        Ok(value)
    }

    /// What a server said, without the token.
    pub(super) fn redacted(&self, said: &str) -> String {
        redact(said, self.token.expose_secret())
    }
}

impl Credential {
    pub(super) fn new(source: Arc<dyn CredentialSource>) -> Self {
        Self { source, read: Mutex::new(None) }
    }

    /// The token as last read; read now if it never was.
    pub(super) async fn current(&self) -> Result<Reading, ConsulError> {
        let mut read = self.read.lock().await;
        match &*read {
            Some(reading) => Ok(reading.clone()),
            None => self.fetch(&mut read, 0).await,
        }
    }

    /// A token other than the refused one, or `None` where the source still holds the same.
    pub(super) async fn renewed(&self, refused: &Reading) -> Result<Option<Reading>, ConsulError> {
        let mut read = self.read.lock().await;
        let newest = match &*read {
            Some(reading) if reading.generation > refused.generation => reading.clone(),
            _ => self.fetch(&mut read, refused.generation + 1).await?,
        };
        let is_other = newest.token.expose_secret() != refused.token.expose_secret();
        Ok(is_other.then_some(newest))
    }

    async fn fetch(&self, read: &mut Option<Reading>, generation: u64) -> Result<Reading, ConsulError> {
        let unreadable = |error: CredentialError| ConsulError::CredentialUnreadable { reason: error.to_string() };
        let token = self.source.read().await.map_err(unreadable)?;
        let reading = Reading { token, generation };
        *read = Some(reading.clone());
        Ok(reading)
    }
}
