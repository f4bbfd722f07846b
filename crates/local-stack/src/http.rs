//! HTTP calls whose answer is looked at as a whole.

use std::sync::LazyLock;

use reqwest::{Client, ClientBuilder, RequestBuilder};
use serde_json::Value;

/// What a server said.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The HTTP status code.
    pub status: u16,
    /// The body as JSON; what is not JSON comes as a string.
    pub body: Value,
}

impl Answer {
    /// Sends a request. An `Err` says why there was no answer at all.
    pub async fn to(request: RequestBuilder) -> Result<Self, String> {
        let told = |error: reqwest::Error| format!("{error:?}");
        let response = request.send().await.map_err(told)?;
        let status = response.status().as_u16();
        let text = response.text().await.map_err(told)?;
        let body = serde_json::from_str(&text).unwrap_or(Value::String(text));
        Ok(Self { status, body })
    }

    /// The body of a good answer; an `Err` shows any other.
    pub fn good(self) -> Result<Value, String> {
        match self.status {
            200..300 => Ok(self.body),
            status => Err(format!("{status}: {}", self.body)),
        }
    }
}

/// A client that may be used from any test: it keeps no connection, because that would belong to the runtime of one
/// test.
pub fn client() -> &'static Client {
    static CLIENT: LazyLock<Client> = LazyLock::new(|| builder().build().unwrap());
    &CLIENT
}

/// Settings of such a client.
pub fn builder() -> ClientBuilder {
    choose_tls_backend();
    Client::builder().pool_max_idle_per_host(0).no_proxy()
}

/// Has `reqwest` use ring, which nothing else chooses in a process of tests.
pub fn choose_tls_backend() {
    // An error only says that this process has chosen before.
    let _ = rustls::crypto::ring::default_provider().install_default();
}
