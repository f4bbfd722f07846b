//! The ACL token of a client: cached, and read again when Consul rejects it.

use std::{error::Error, fmt, sync::Arc};

use async_trait::async_trait;
use reqwest::header::HeaderValue;
use secrecy::{ExposeSecret, SecretString};
use tokio::sync::Mutex;

use crate::error::ConsulError;
use mesh::secret::redact;

/// Whose ACL token a client sends. Errors name it, and where to change it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenOwner {
    /// The controller, whose parameters say where its token is.
    Controller,
    /// The person who runs a command, with Consul's usual variables.
    Command,
}

impl TokenOwner {
    /// Its token, in a few words.
    pub(crate) fn token(self) -> &'static str {
        match self {
            Self::Controller => "the controller's own token",
            Self::Command => "the token of this command",
        }
    }

    /// What to do if Consul does not know the token.
    pub(crate) fn replacement(self) -> &'static str {
        match self {
            Self::Controller => {
                ". Store a valid token in the secret that the parameter ConsulHttpTokenSecretArn names \
                 (CONSUL_HTTP_TOKEN_SECRET_ARN), or in CONSUL_HTTP_TOKEN"
            }
            Self::Command => "",
        }
    }

    /// What to do if the token lacks a permission.
    pub(crate) fn policy(self) -> &'static str {
        match self {
            Self::Controller => "; compare its policy with the one in docs/how-to/install-sam.md",
            Self::Command => "",
        }
    }
}

/// Its token, and where it is.
impl fmt::Display for TokenOwner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Controller => "the controller's own ACL token",
            Self::Command => "the token in CONSUL_HTTP_TOKEN or CONSUL_HTTP_TOKEN_FILE",
        })
    }
}

/// Why a client's token could not be read. The text never contains the token.
#[derive(Debug, thiserror::Error)]
pub enum CredentialError {
    /// The secret does not contain a token.
    #[error("secret {secret} holds no token; expected the bare token, or JSON with a key \"token\"")]
    NoToken { secret: String },
    /// The secret could not be read, perhaps because AWS denied it.
    #[error("{source}")]
    Unreadable { source: Box<dyn Error + Send + Sync>, is_denied: bool },
}

/// The source of a client's token.
#[async_trait]
pub trait CredentialSource: Send + Sync {
    /// Reads the token.
    ///
    /// # Errors
    /// The source cannot be read, or contains no token.
    async fn read(&self) -> Result<SecretString, CredentialError>;

    /// Whose token it is.
    fn owner(&self) -> TokenOwner;
}

/// The cached token with its generation: a rejected request asks for a newer generation than it used.
pub(super) struct Credential {
    source: Arc<dyn CredentialSource>,
    read: Mutex<Option<Reading>>,
}

#[derive(Clone)]
pub(super) struct Reading {
    pub(super) token: SecretString,
    pub(super) owner: TokenOwner,
    generation: u64,
}

impl Reading {
    /// The token as a sensitive header value, which libraries do not log.
    pub(super) fn header(&self) -> Result<HeaderValue, ConsulError> {
        let mut value =
            HeaderValue::from_str(self.token.expose_secret()).map_err(|_| ConsulError::CredentialUnreadable {
                token: self.owner,
                reason: "it contains characters that are invalid in a token".to_owned(),
                is_denied: false,
            })?;
        value.set_sensitive(true);
        Ok(value)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.token.expose_secret().is_empty()
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

    pub(super) fn owner(&self) -> TokenOwner {
        self.source.owner()
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
            token: self.source.owner(),
            reason: error.to_string(),
            is_denied: matches!(error, CredentialError::Unreadable { is_denied: true, .. }),
        };
        let token = self.source.read().await.map_err(unreadable)?;
        let reading = Reading { token, owner: self.source.owner(), generation };
        *read = Some(reading.clone());
        Ok(reading)
    }
}
