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
        Ok(Self { http: Http::new(servers, tls, credential, retry_policy)? })
    }
}
