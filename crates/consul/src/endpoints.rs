//! The servers that requests are sent to: discovered at the first request, and cached until none of them accepts a
//! connection.

use std::{sync::Arc, time::Duration};

use backon::{ExponentialBuilder, Retryable};
use tokio::{
    sync::Mutex,
    time::{Instant, timeout},
};

use crate::{
    connector::{Connector, ConnectorError, Endpoint},
    retry_policy::RetryPolicy,
    servers::{NoServers, ServerSource},
};

/// The longest delay before the next discovery.
const MAX_PAUSE: Duration = Duration::from_secs(2);

/// The servers as last discovered.
pub(super) struct Endpoints {
    source: Arc<dyn ServerSource>,
    connector: Connector,
    retry_policy: RetryPolicy,
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
    pub(super) fn new(source: Arc<dyn ServerSource>, connector: Connector, retry_policy: RetryPolicy) -> Self {
        Self { source, connector, retry_policy, known: Mutex::default() }
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
        let backoff = ExponentialBuilder::default()
            .with_min_delay(self.retry_policy.first_retry)
            .with_factor(2.0)
            .with_max_delay(MAX_PAUSE)
            .without_max_times()
            .with_jitter();
        let mut last_failure =
            NoServers::NotUp(format!("the Consul servers were not found within {:?}", self.retry_policy.discovery));
        let discovery = (|| self.find_now())
            .retry(backoff)
            .when(|failure| matches!(failure, NoServers::NotUp(_)))
            .notify(|failure, _| last_failure = failure.clone());
        timeout(self.retry_policy.discovery, discovery).await.unwrap_or(Err(last_failure))
    }

    async fn find_now(&self) -> Result<Arc<[Endpoint]>, NoServers> {
        let servers = self.source.servers().await?;
        let endpoints = servers.iter().map(|server| self.connector.endpoint(server));
        endpoints.collect::<Result<_, _>>().map_err(|e: ConnectorError| NoServers::Unknown(e.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{address::ConsulUrls, connector::TlsSettings};

    #[tokio::test]
    async fn only_failed_servers_are_removed() {
        let retry_policy = RetryPolicy::for_events();
        let source = Arc::new("http://127.0.0.1:8500".parse::<ConsulUrls>().unwrap());
        let connector = Connector::new(&TlsSettings::default(), retry_policy).unwrap();
        let endpoints = Endpoints::new(source, connector, retry_policy);
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
