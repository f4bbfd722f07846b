//! HTTP clients with the right trust: one TLS backend (rustls on ring), the usual roots or the deployment's own CA.

use std::{net::SocketAddr, sync::Arc};

use reqwest::{
    Certificate, Client, Url,
    dns::{Addrs, Name, Resolve, Resolving},
};

use super::http::Patience;

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

/// A client for one address.
pub(super) fn client_for(url: &Url, tls: &TlsSettings, patience: Patience) -> Result<Client, String> {
    choose_tls_backend();
    let mut builder = Client::builder()
        .connect_timeout(patience.connect)
        .timeout(patience.request)
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none());
    if let Some(pem) = &tls.ca_certificates {
        let certificates = Certificate::from_pem_bundle(pem.as_bytes())
            .map_err(|e| format!("CONSUL_CACERT_SECRET_ARN: the secret is not a PEM certificate: {e}"))?;
        if certificates.is_empty() {
            return Err("CONSUL_CACERT_SECRET_ARN: the secret holds no PEM certificate".to_owned());
        }
        builder = builder.tls_certs_only(certificates);
    }
    if let (Some(_), "https", Some(host)) = (&tls.server_name, url.scheme(), url.host_str()) {
        let host = host.trim_matches(['[', ']']).to_owned();
        builder = builder.dns_resolver(Arc::new(Alias { host }));
    }
    builder.build().map_err(|e| format!("the HTTP client for {url} could not be made: {e}"))
}

/// The URL that requests go to: with the certificate's name as its host, where one is configured.
pub(super) fn url_for(url: &Url, tls: &TlsSettings) -> Result<Url, String> {
    let mut named = url.clone();
    if let (Some(name), "https") = (&tls.server_name, url.scheme()) {
        named
            .set_host(Some(name))
            .map_err(|e| format!("CONSUL_TLS_SERVER_NAME: got {name:?}, expected a host name: {e}"))?;
    }
    Ok(named)
}

/// Resolves every name to the addresses of one host: the URL then bears the certificate's name, and the connection
/// still goes to the configured host.
struct Alias {
    host: String,
}

impl Resolve for Alias {
    fn resolve(&self, _: Name) -> Resolving {
        let host = self.host.clone();
        Box::pin(async move {
            let found: Vec<SocketAddr> = tokio::net::lookup_host((host, 0)).await?.collect();
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}
