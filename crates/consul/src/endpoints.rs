//! The servers that requests go to: found at the first request and kept, until none of them takes a connection.

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

/// The longest pause before servers are looked for again.
const MAX_PAUSE: Duration = Duration::from_secs(2);

/// The servers, as last found.
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

/// A search that found nothing.
struct Failure {
    ended: Instant,
    why: NoServers,
}

impl Endpoints {
    pub(super) fn new(source: Arc<dyn ServerSource>, connector: Connector, retry_policy: RetryPolicy) -> Self {
        Self { source, connector, retry_policy, known: Mutex::default() }
    }

    /// The servers as last found; looked for now if they never were, or were forgotten. An error says what to do.
    pub(super) async fn current(&self) -> Result<Arc<[Endpoint]>, NoServers> {
        let asked = Instant::now();
        // Held throughout the search: those who come meanwhile wait for its result.
        let mut known = self.known.lock().await;
        if let Some(endpoints) = &known.endpoints {
            return Ok(Arc::clone(endpoints));
        }
        // A search that failed while this one waited for its turn is not repeated: requests side by side would wait one
        // after the other.
        if let Some(failure) = known.failure.as_ref().filter(|failure| failure.ended >= asked) {
            return Err(failure.why.clone());
        }
        let found = self.find_with_retries().await;
        match &found {
            Ok(endpoints) => known.endpoints = Some(Arc::clone(endpoints)),
            Err(why) => known.failure = Some(Failure { ended: Instant::now(), why: why.clone() }),
        }
        found
    }

    /// Has the servers looked for again, because none of these took a connection.
    pub(super) async fn forget(&self, failed: &Arc<[Endpoint]>) {
        let mut known = self.known.lock().await;
        // Others may have found new ones already.
        if known.endpoints.as_ref().is_some_and(|endpoints| Arc::ptr_eq(endpoints, failed)) {
            known.endpoints = None;
        }
    }

    /// Looks for servers, and waits for the first one to come up.
    async fn find_with_retries(&self) -> Result<Arc<[Endpoint]>, NoServers> {
        let backoff = ExponentialBuilder::default()
            .with_min_delay(self.retry_policy.first_retry)
            .with_factor(2.0)
            .with_max_delay(MAX_PAUSE)
            .without_max_times()
            .with_jitter();
        let mut last_seen =
            NoServers::NotUp(format!("the Consul servers were not found within {:?}", self.retry_policy.discovery));
        let search = (|| self.find_now())
            .retry(backoff)
            .when(|failure| matches!(failure, NoServers::NotUp(_)))
            .notify(|failure, _| last_seen = failure.clone());
        timeout(self.retry_policy.discovery, search).await.unwrap_or(Err(last_seen))
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
    async fn only_the_servers_that_failed_are_forgotten() {
        let retry_policy = RetryPolicy::default();
        let source = Arc::new("http://127.0.0.1:8500".parse::<ConsulUrls>().unwrap());
        let connector = Connector::new(&TlsSettings::default(), retry_policy).unwrap();
        let endpoints = Endpoints::new(source, connector, retry_policy);
        let first = endpoints.current().await.unwrap();
        assert!(Arc::ptr_eq(&first, &endpoints.current().await.unwrap()));
        endpoints.forget(&first).await;
        let second = endpoints.current().await.unwrap();
        assert!(!Arc::ptr_eq(&first, &second));
        // When a slower request fails at the first ones
        endpoints.forget(&first).await;
        assert!(Arc::ptr_eq(&second, &endpoints.current().await.unwrap()));
    }
}
