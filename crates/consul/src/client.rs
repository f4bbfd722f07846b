//! The client of a Consul datacenter, which implements one trait for each part of the API.

use std::sync::Arc;

use crate::{
    connector::{ConnectorError, TlsSettings},
    credential::CredentialSource,
    http::Http,
    retry_policy::RetryPolicy,
    servers::ServerSource,
};

/// A client of a Consul datacenter.
pub struct HttpConsul {
    pub(crate) http: Http,
    pub(crate) accepts_hidden: bool,
}

impl HttpConsul {
    /// A client that discovers its servers, and reads its token from `credential`, at the first request.
    ///
    /// # Errors
    /// The CA certificate or the server name is invalid.
    pub fn new(
        servers: Arc<dyn ServerSource>,
        tls: &TlsSettings,
        credential: Arc<dyn CredentialSource>,
        retry_policy: RetryPolicy,
    ) -> Result<Self, ConnectorError> {
        Ok(Self { http: Http::new(servers, tls, credential, retry_policy)?, accepts_hidden: false })
    }

    /// The same client for a credential with `acl:read`, to which Consul does not show secret IDs: see
    /// [`Token::hides_its_secret`](crate::Token::hides_its_secret).
    #[must_use]
    pub fn accepting_hidden_secrets(self) -> Self {
        Self { accepts_hidden: true, ..self }
    }
}
