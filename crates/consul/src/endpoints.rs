//! The servers that requests are sent to: discovered at the first request, and cached until none of them accepts a
//! connection. Each has an HTTP client, which trusts the system's root certificates or the deployment's own CA.

use std::{
    iter,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use backon::{ExponentialBuilder, Retryable};
use reqwest::{
    Certificate, Client, Url,
    dns::{Addrs, Name, Resolve, Resolving},
};
use telemetry::Service;
use tokio::{
    sync::Mutex,
    time::{Instant, timeout},
};

use crate::{
    request::RetryPolicy,
    servers::{NoServers, Server, ServerSource},
};

/// The longest delay before the next discovery.
const MAX_PAUSE: Duration = Duration::from_secs(2);

/// The servers as last discovered.
pub(super) struct Endpoints {
    source: Arc<dyn ServerSource>,
    connector: Connector,
    known: Mutex<Cached>,
}

#[derive(Default)]
struct Cached {
    endpoints: Option<Arc<[Endpoint]>>,
    failure: Option<Failure>,
}

/// A failed discovery.
struct Failure {
    ended: Instant,
    why: NoServers,
}

impl Endpoints {
    pub(super) fn new(
        source: Arc<dyn ServerSource>,
        tls: &TlsSettings,
        retry_policy: RetryPolicy,
    ) -> Result<Self, ConnectorError> {
        Ok(Self { source, connector: Connector::new(tls, retry_policy)?, known: Mutex::default() })
    }

    /// The cached servers, which are discovered if there are none. An error says what to do.
    pub(super) async fn current(&self) -> Result<Arc<[Endpoint]>, NoServers> {
        let requested = Instant::now();
        // The lock is held during the discovery: concurrent requests wait for its result.
        let mut known = self.known.lock().await;
        if let Some(endpoints) = &known.endpoints {
            return Ok(Arc::clone(endpoints));
        }
        // A discovery that failed while this request waited is not repeated, or concurrent requests would wait one
        // after the other.
        if let Some(failure) = known.failure.as_ref().filter(|failure| failure.ended >= requested) {
            return Err(failure.why.clone());
        }
        let found = self.find_with_retries().await;
        match &found {
            Ok(endpoints) => known.endpoints = Some(Arc::clone(endpoints)),
            Err(why) => known.failure = Some(Failure { ended: Instant::now(), why: why.clone() }),
        }
        found
    }

    /// Removes the servers from the cache, because none of them accepted a connection.
    pub(super) async fn forget(&self, failed: &Arc<[Endpoint]>) {
        let mut known = self.known.lock().await;
        // Another request may have discovered new ones.
        if known.endpoints.as_ref().is_some_and(|endpoints| Arc::ptr_eq(endpoints, failed)) {
            known.endpoints = None;
        }
    }

    /// Discovers servers, and waits until one is up.
    async fn find_with_retries(&self) -> Result<Arc<[Endpoint]>, NoServers> {
        let RetryPolicy { first_retry, discovery, .. } = self.connector.retry_policy;
        let backoff = ExponentialBuilder::default()
            .with_min_delay(first_retry)
            .with_factor(2.0)
            .with_max_delay(MAX_PAUSE)
            .without_max_times()
            .with_jitter();
        let mut last_failure = NoServers::NotUp(format!("the Consul servers were not found within {discovery:?}"));
        let found = (|| self.find_now())
            .retry(backoff)
            .when(|failure| matches!(failure, NoServers::NotUp(_)))
            .notify(|failure, _| last_failure = failure.clone());
        timeout(discovery, found).await.unwrap_or(Err(last_failure))
    }

    async fn find_now(&self) -> Result<Arc<[Endpoint]>, NoServers> {
        let servers = self.source.servers().await?;
        let endpoints = servers.iter().map(|server| self.connector.endpoint(server));
        endpoints.collect::<Result<_, _>>().map_err(|e: ConnectorError| NoServers::Unknown(e.to_string()))
    }
}

/// A server, and the client that connects to it.
pub(super) struct Endpoint {
    pub(super) url: Url,
    pub(super) client: Client,
}

impl Endpoint {
    /// Connects by a request that needs no token, and may take this long.
    pub(super) async fn open_connection(&self, limit: Duration) {
        let Ok(url) = self.url.join("v1/status/leader") else { return };
        let start = Instant::now();
        // A connection is kept once its answer was read.
        let answer = async { http_client::beginning(self.client.get(url).timeout(limit).send().await?).await }.await;
        telemetry::call(Service::Consul, start.elapsed(), answer.is_err());
    }
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
    #[error("CONSUL_CACERT_SECRET_ARN: the secret holds an unusable certificate: {0}")]
    UnusableCertificate(Box<Self>),
    /// The server name is invalid.
    #[error("CONSUL_TLS_SERVER_NAME: got {name:?}, expected a host name: {reason}")]
    ServerName { name: String, reason: String },
    /// The HTTP library refused the settings.
    #[error("the HTTP client for {url} could not be created: {source}")]
    Client { url: Url, source: reqwest::Error },
}

/// Creates clients for the TLS settings.
struct Connector {
    certificates: Option<Vec<Certificate>>,
    server_name: Option<String>,
    retry_policy: RetryPolicy,
}

impl Connector {
    fn new(tls: &TlsSettings, retry_policy: RetryPolicy) -> Result<Self, ConnectorError> {
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
    fn endpoint(&self, server: &Server) -> Result<Endpoint, ConnectorError> {
        Ok(Endpoint { url: self.url_for(&server.url)?, client: self.client_for(server)? })
    }

    fn client_for(&self, server: &Server) -> Result<Client, ConnectorError> {
        let builder = match &self.certificates {
            Some(certificates) => http_client::trusting_only(certificates.clone()),
            // Needs no roots, which take long to read.
            None if server.url.scheme() == "http" => http_client::trusting_only([]),
            None => http_client::trusting_the_system(),
        };
        let builder = builder
            .connect_timeout(self.retry_policy.connect)
            .read_timeout(self.retry_policy.silence)
            .dns_resolver(Arc::new(Pinned(server.address)));
        builder.build().map_err(|source| ConnectorError::Client { url: server.url.clone(), source })
    }

    /// The URL with the certificate's name as its host, where one is configured.
    fn url_for(&self, url: &Url) -> Result<Url, ConnectorError> {
        let mut named = url.clone();
        if let (Some(name), "https") = (&self.server_name, url.scheme()) {
            let invalid = |reason| ConnectorError::ServerName { name: name.clone(), reason };
            named.set_host(Some(name)).map_err(|e| invalid(e.to_string()))?;
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
        Box::pin(async move { Ok(Box::new(iter::once(found)) as Addrs) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::servers::ConsulUrls;

    #[tokio::test]
    async fn only_failed_servers_are_removed() {
        let retry_policy = RetryPolicy::for_events();
        let source = Arc::new("http://127.0.0.1:8500".parse::<ConsulUrls>().unwrap());
        let endpoints = Endpoints::new(source, &TlsSettings::default(), retry_policy).unwrap();
        let first = endpoints.current().await.unwrap();
        assert!(Arc::ptr_eq(&first, &endpoints.current().await.unwrap()));
        endpoints.forget(&first).await;
        let second = endpoints.current().await.unwrap();
        assert!(!Arc::ptr_eq(&first, &second));
        // When a slower request fails with the first servers
        endpoints.forget(&first).await;
        assert!(Arc::ptr_eq(&second, &endpoints.current().await.unwrap()));
    }
}
