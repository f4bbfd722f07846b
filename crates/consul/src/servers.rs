//! Which servers there are now: given by address and looked up by name, or by whoever knows better.

use std::net::IpAddr;

use async_trait::async_trait;
use reqwest::Url;

/// One server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    /// Its URL. The host is what its certificate is verified against, unless another name is configured.
    pub url: Url,
    /// Where connections go, at the URL's port.
    pub address: IpAddr,
}

/// Why there is no server to ask. The text says what to do about it.
#[derive(Debug, Clone, thiserror::Error)]
pub enum NoServers {
    /// None is up. One may come up, so this is waited for.
    #[error("{0}")]
    NotUp(String),
    /// It could not be found out.
    #[error("{0}")]
    Unknown(String),
}

/// Where the addresses of the servers come from. It is asked at the first request, and again after no server took a
/// connection.
#[async_trait]
pub trait ServerSource: Send + Sync {
    /// The servers that there are now, in the order in which they are to be tried: at least one.
    ///
    /// # Errors
    /// There is none, or it cannot be found out.
    async fn servers(&self) -> Result<Vec<Server>, NoServers>;
}
