//! The controller's own ACL token: read once, and read again once after Consul refused it.

use std::sync::Arc;

use async_trait::async_trait;
use reqwest::header::HeaderValue;
use secrecy::{ExposeSecret, SecretString};
use tokio::sync::Mutex;

use super::error::ConsulError;
use mesh::secret::without;

/// Where the controller's own token comes from.
#[async_trait]
pub trait CredentialSource: Send + Sync {
    /// Reads the token.
    ///
    /// # Errors
    /// The source cannot be read; the text says why, and never holds the token.
    async fn read(&self) -> Result<SecretString, String>;
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
    pub(super) fn out_of(&self, said: &str) -> String {
        without(said, self.token.expose_secret())
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
        let token = self.source.read().await.map_err(|reason| ConsulError::CredentialUnreadable { reason })?;
        let reading = Reading { token, generation };
        *read = Some(reading.clone());
        Ok(reading)
    }
}
