//! What all HTTP clients have in common: one TLS backend (rustls on ring), root certificates that are read once for all of them, no
//! proxies and no redirects, and a limit for what is read of an answer.

mod body;

use std::{
    error::Error,
    io,
    sync::{Arc, LazyLock},
    time::Duration,
};

use reqwest::{Certificate, ClientBuilder, redirect::Policy};
use rustls::{AlertDescription, ClientConfig, crypto::ring};
use rustls_platform_verifier::BuilderVerifierExt;

pub use self::body::{Body, BodyError, Limit, beginning};

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

/// The error and its causes, without its URL, which may be long. A server that accepts nothing of what this client offers for TLS only
/// says that the handshake failed.
pub fn describe(error: &reqwest::Error) -> String {
    let mut text = if error.is_timeout() { "timed out".to_owned() } else { "request failed".to_owned() };
    let mut cause = error.source();
    while let Some(inner) = cause {
        text = format!("{text}: {inner}");
        if accepts_nothing(inner) {
            text.push_str(
                ". The server accepts none of the versions (TLS 1.2 and 1.3), ciphers or key-exchange groups (X25519, secp256r1, \
                 secp384r1) that are offered, or demands a certificate of the client",
            );
        }
        cause = inner.source();
    }
    text
}

/// Whether the server has ended the handshake because client and server have nothing in common.
fn accepts_nothing(cause: &(dyn Error + 'static)) -> bool {
    matches!(
        tls_error(cause),
        Some(rustls::Error::AlertReceived(AlertDescription::HandshakeFailure | AlertDescription::ProtocolVersion))
    )
}

/// The error of TLS in an error of input and output, which may be in another one.
fn tls_error<'e>(cause: &'e (dyn Error + 'static)) -> Option<&'e rustls::Error> {
    cause.downcast_ref().or_else(|| tls_error(cause.downcast_ref::<io::Error>()?.get_ref()?))
}

fn builder() -> ClientBuilder {
    // The only error is that a provider was selected before.
    let _ = ring::default_provider().install_default();
    // A redirect would carry tokens, and the body, to another host.
    ClientBuilder::new().pool_idle_timeout(IDLE).no_proxy().redirect(Policy::none())
}
