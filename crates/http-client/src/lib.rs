//! What all HTTP clients have in common: one TLS backend (rustls on ring), root certificates that are read once for all of them, no
//! proxies and no redirects.

use std::{
    sync::{Arc, LazyLock},
    time::Duration,
};

use reqwest::{Certificate, ClientBuilder, redirect::Policy};
use rustls::{ClientConfig, crypto::ring};
use rustls_platform_verifier::BuilderVerifierExt;

/// How long an unused connection is kept: so that events a few minutes apart need no new one. Consul keeps it for longer; after a
/// load balancer has closed it, the request is repeated.
const IDLE: Duration = Duration::from_secs(300);

/// Read once: that takes longer than all else at the start of a function.
static SYSTEM_ROOTS: LazyLock<Result<ClientConfig, rustls::Error>> = LazyLock::new(|| {
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let mut config = builder.with_safe_default_protocol_versions()?.with_platform_verifier()?.with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
});

/// Verifies servers with the system's root certificates.
pub fn trusting_the_system() -> ClientBuilder {
    match &*SYSTEM_ROOTS {
        Ok(config) => builder().tls_backend_preconfigured(config.clone()),
        // Building the client fails for the same reason, and reports it.
        Err(_) => builder(),
    }
}

/// Verifies servers with these CA certificates only.
pub fn trusting_only(certificates: impl IntoIterator<Item = Certificate>) -> ClientBuilder {
    builder().tls_certs_only(certificates)
}

fn builder() -> ClientBuilder {
    // The only error is that a provider was selected before.
    let _ = ring::default_provider().install_default();
    // A redirect would carry tokens, and the body, to another host.
    ClientBuilder::new().pool_idle_timeout(IDLE).no_proxy().redirect(Policy::none())
}
