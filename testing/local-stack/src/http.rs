//! HTTP calls.

use std::sync::LazyLock;

use reqwest::{Client, ClientBuilder, RequestBuilder};
use serde_json::Value;

/// A server's answer.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The HTTP status code.
    pub status: u16,
    /// The body as JSON; a body that is not JSON is a string.
    pub body: Value,
}

impl Answer {
    /// Sends a request. `Err` is the reason why there was no answer.
    pub async fn to(request: RequestBuilder) -> Result<Self, String> {
        let reason = |error: reqwest::Error| format!("{error:?}");
        let response = request.send().await.map_err(reason)?;
        let status = response.status().as_u16();
        let text = response.text().await.map_err(reason)?;
        let body = serde_json::from_str(&text).unwrap_or(Value::String(text));
        Ok(Self { status, body })
    }

    /// The body of an answer with a status of 2xx; `Err` is the status and body of any other.
    pub fn success(self) -> Result<Value, String> {
        match self.status {
            200..300 => Ok(self.body),
            status => Err(format!("{status}: {}", self.body)),
        }
    }
}

/// A client for all tests. It keeps no idle connections: a connection belongs to the runtime of one test.
pub fn client() -> &'static Client {
    static CLIENT: LazyLock<Client> = LazyLock::new(|| builder().build().unwrap());
    &CLIENT
}

/// A builder for a client without idle connections.
pub fn builder() -> ClientBuilder {
    choose_tls_backend();
    Client::builder().pool_max_idle_per_host(0).no_proxy()
}

/// Installs ring as the crypto provider for `reqwest`'s TLS.
pub fn choose_tls_backend() {
    // An error means that a provider is installed already.
    let _ = rustls::crypto::ring::default_provider().install_default();
}
