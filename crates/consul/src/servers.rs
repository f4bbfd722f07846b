//! Discovery of servers: by address and DNS here, or by another [`ServerSource`].

use std::net::IpAddr;

use async_trait::async_trait;
use reqwest::Url;

/// One server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    /// Its URL. Its certificate is verified for the host, unless another name is configured.
    pub url: Url,
    /// The IP address of connections, at the URL's port.
    pub address: IpAddr,
}

/// Why no server is known. The text says what to do.
#[derive(Debug, Clone, thiserror::Error)]
pub enum NoServers {
    /// None is up. The client waits for one to come up.
    #[error("{0}")]
    NotUp(String),
    /// Discovery failed.
    #[error("{0}")]
    Unknown(String),
}

/// The source of the servers' addresses, called at the first request, and again after no server accepted a connection.
#[async_trait]
pub trait ServerSource: Send + Sync {
    /// The current servers, in the order in which they are tried: at least one.
    ///
    /// # Errors
    /// There is none, or discovery failed.
    async fn servers(&self) -> Result<Vec<Server>, NoServers>;
}
