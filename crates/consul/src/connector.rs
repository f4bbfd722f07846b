//! HTTP clients with one TLS backend (rustls on ring), which trust the system's root certificates or the deployment's own CA.

use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    sync::Arc,
};

use reqwest::{
    Certificate, Client, Url,
    dns::{Addrs, Name, Resolve, Resolving},
};

use crate::{retry_policy::RetryPolicy, servers::Server};

/// A server, and the client that connects to it.
pub(super) struct Endpoint {
    pub(super) url: Url,
    pub(super) client: Client,
}

/// What the servers' certificates are verified against.
#[derive(Debug, Clone, Default)]
pub struct TlsSettings {
    /// PEM of the CA certificates that sign the servers' certificates; `None`: the system's roots.
    pub ca_certificates: Option<String>,
    /// The name in the servers' certificates, if it differs from the host in the address (for example `server.dc1.consul`).
    pub server_name: Option<String>,
}

/// Why no client can be created with these settings.
#[derive(Debug, thiserror::Error)]
pub enum ConnectorError {
    /// The secret contains no PEM.
    #[error("CONSUL_CACERT_SECRET_ARN: the secret is not a PEM certificate: {0}")]
    NotPem(reqwest::Error),
    /// The secret contains PEM, but no certificate.
    #[error("CONSUL_CACERT_SECRET_ARN: the secret holds no PEM certificate")]
    NoCertificate,
    /// The CA certificate cannot be used.
    #[error("CONSUL_CACERT_SECRET_ARN: what the secret holds is not a usable certificate: {0}")]
    UnusableCertificate(Box<Self>),
    /// The server name is invalid.
    #[error("CONSUL_TLS_SERVER_NAME: got {name:?}, expected a host name: {reason}")]
    ServerName {
        /// The name.
        name: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The HTTP library refused the settings.
    #[error("the HTTP client for {url} could not be created: {source}")]
    Client {
        /// The server.
        url: Url,
        /// What happened.
        source: reqwest::Error,
    },
}

/// Selects ring as the cryptography provider of all TLS clients of the process. Further calls change nothing.
pub fn choose_tls_backend() {
    // The only error is that a provider was selected before.
    let _ = rustls::crypto::ring::default_provider().install_default();
}

/// Creates clients for the TLS settings.
pub(super) struct Connector {
    certificates: Option<Vec<Certificate>>,
    server_name: Option<String>,
    retry_policy: RetryPolicy,
}

impl Connector {
    /// # Errors
    /// The CA certificate or the server name is not usable.
    pub(super) fn new(tls: &TlsSettings, retry_policy: RetryPolicy) -> Result<Self, ConnectorError> {
        choose_tls_backend();
        let certificates = tls.ca_certificates.as_deref().map(read_certificates).transpose()?;
        let connector = Self { certificates, server_name: tls.server_name.clone(), retry_policy };
        // No server is known yet; invalid settings are reported at the start.
        if let Ok(url) = Url::parse("https://localhost") {
            connector.url_for(&url)?;
            if connector.certificates.is_some() {
                let server = Server { url, address: Ipv4Addr::LOCALHOST.into() };
                connector.client_for(&server).map_err(|e| ConnectorError::UnusableCertificate(Box::new(e)))?;
            }
        }
        Ok(connector)
    }

    /// The URL that requests to a server go to, and a client for it.
    pub(super) fn endpoint(&self, server: &Server) -> Result<Endpoint, ConnectorError> {
        Ok(Endpoint { url: self.url_for(&server.url)?, client: self.client_for(server)? })
    }

    fn client_for(&self, server: &Server) -> Result<Client, ConnectorError> {
        let mut builder = Client::builder()
            .connect_timeout(self.retry_policy.connect)
            .read_timeout(self.retry_policy.silence)
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .dns_resolver(Arc::new(Pinned(server.address)));
        if let Some(certificates) = &self.certificates {
            builder = builder.tls_certs_only(certificates.clone());
        }
        builder.build().map_err(|source| ConnectorError::Client { url: server.url.clone(), source })
    }

    /// The URL with the certificate's name as its host, where one is configured.
    fn url_for(&self, url: &Url) -> Result<Url, ConnectorError> {
        let mut named = url.clone();
        if let (Some(name), "https") = (&self.server_name, url.scheme()) {
            named
                .set_host(Some(name))
                .map_err(|e| ConnectorError::ServerName { name: name.clone(), reason: e.to_string() })?;
        }
        Ok(named)
    }
}

fn read_certificates(pem: &str) -> Result<Vec<Certificate>, ConnectorError> {
    let certificates = Certificate::from_pem_bundle(pem.as_bytes()).map_err(ConnectorError::NotPem)?;
    if certificates.is_empty() { Err(ConnectorError::NoCertificate) } else { Ok(certificates) }
}

/// Resolves every name to one address: the URL bears the name that is verified, and the connection goes to this server.
struct Pinned(IpAddr);

impl Resolve for Pinned {
    fn resolve(&self, _: Name) -> Resolving {
        // Port 0 stands for the URL's.
        let found = SocketAddr::new(self.0, 0);
        Box::pin(async move { Ok(Box::new(std::iter::once(found)) as Addrs) })
    }
}
