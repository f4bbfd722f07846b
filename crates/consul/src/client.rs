//! The client of a Consul datacenter. Each part of the API implements its trait for it.

use std::sync::Arc;

use crate::{
    connector::{ConnectorError, TlsSettings},
    credential::CredentialSource,
    http::Http,
    retry_policy::RetryPolicy,
    servers::ServerSource,
};

/// A real Consul datacenter.
pub struct HttpConsul {
    pub(crate) http: Http,
}

impl HttpConsul {
    /// A client that looks for its servers, and reads its token from `credential`, at the first call.
    ///
    /// # Errors
    /// The CA certificate or the server name is not usable.
    pub fn new(
        servers: Arc<dyn ServerSource>,
        tls: &TlsSettings,
        credential: Arc<dyn CredentialSource>,
        retry_policy: RetryPolicy,
    ) -> Result<Self, ConnectorError> {
        Ok(Self { http: Http::new(servers, tls, credential, retry_policy)? })
    }
}
