//! HTTP clients with the right trust: one TLS backend (rustls on ring), the usual roots or the deployment's own CA.

use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    sync::Arc,
};

use reqwest::{
    Certificate, Client, Url,
    dns::{Addrs, Name, Resolve, Resolving},
};

use super::{endpoints::Endpoint, http::RetryPolicy, servers::Server};

/// How to trust the servers.
#[derive(Debug, Clone, Default)]
pub struct TlsSettings {
    /// PEM of the CA certificates that sign the servers' certificates; `None`: the system's roots.
    pub ca_certificates: Option<String>,
    /// The name that the servers' certificates bear, where it is not the host in the address
    /// (for example `server.dc1.consul`).
    pub server_name: Option<String>,
}

/// Makes ring the provider of cryptography for every TLS client of the process. Calling it again changes nothing.
pub fn choose_tls_backend() {
    // An error only says that a provider is chosen already.
    let _ = rustls::crypto::ring::default_provider().install_default();
}

/// Makes clients that trust what the settings say.
pub(super) struct Connector {
    certificates: Option<Vec<Certificate>>,
    server_name: Option<String>,
    retry_policy: RetryPolicy,
}

impl Connector {
    /// # Errors
    /// The CA certificate or the server name is not usable.
    pub(super) fn new(tls: &TlsSettings, retry_policy: RetryPolicy) -> Result<Self, String> {
        choose_tls_backend();
        let certificates = tls.ca_certificates.as_deref().map(read_certificates).transpose()?;
        let connector = Self { certificates, server_name: tls.server_name.clone(), retry_policy };
        // No server is known yet, but what is wrong with the settings has to be told at the start.
        let url = Url::parse("https://localhost").map_err(|e| e.to_string())?;
        connector.url_for(&url)?;
        if connector.certificates.is_some() {
            connector.client_for(&Server { url, address: Ipv4Addr::LOCALHOST.into() }).map_err(|e| {
                format!("CONSUL_CACERT_SECRET_ARN: what the secret holds is not a usable certificate: {e}")
            })?;
        }
        Ok(connector)
    }

    /// The URL that requests to a server go to, and a client for it.
    pub(super) fn endpoint(&self, server: &Server) -> Result<Endpoint, String> {
        Ok(Endpoint { url: self.url_for(&server.url)?, client: self.client_for(server)? })
    }

    fn client_for(&self, server: &Server) -> Result<Client, String> {
        let mut builder = Client::builder()
            .connect_timeout(self.retry_policy.connect)
            .timeout(self.retry_policy.request)
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .dns_resolver(Arc::new(Pinned(server.address)));
        if let Some(certificates) = &self.certificates {
            builder = builder.tls_certs_only(certificates.clone());
        }
        builder.build().map_err(|e| format!("the HTTP client for {} could not be made: {e}", server.url))
    }

    /// The URL with the certificate's name as its host, where one is configured.
    fn url_for(&self, url: &Url) -> Result<Url, String> {
        let mut named = url.clone();
        if let (Some(name), "https") = (&self.server_name, url.scheme()) {
            named
                .set_host(Some(name))
                .map_err(|e| format!("CONSUL_TLS_SERVER_NAME: got {name:?}, expected a host name: {e}"))?;
        }
        Ok(named)
    }
}

fn read_certificates(pem: &str) -> Result<Vec<Certificate>, String> {
    let certificates = Certificate::from_pem_bundle(pem.as_bytes())
        .map_err(|e| format!("CONSUL_CACERT_SECRET_ARN: the secret is not a PEM certificate: {e}"))?;
    if certificates.is_empty() {
        return Err("CONSUL_CACERT_SECRET_ARN: the secret holds no PEM certificate".to_owned());
    }
    Ok(certificates)
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
