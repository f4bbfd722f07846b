//! Requests to Consul's HTTP API: addresses with failover, time-outs, retries, the credential and its renewal.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use backon::{ExponentialBuilder, Retryable};
use reqwest::{StatusCode, header};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::sync::Semaphore;

use crate::{
    connector::{Connector, ConnectorError, Endpoint, TlsSettings},
    credential::{Credential, CredentialSource, Reading},
    endpoints::Endpoints,
    error::{ConsulError, Refusal, classify},
    request::Request,
    retry_policy::RetryPolicy,
    servers::{NoServers, ServerSource},
};
use mesh::secret::redact;

/// The header by which Consul (from 1.11 on) says that the token may not see all results.
const FILTERED_BY_ACLS: &str = "X-Consul-Results-Filtered-By-ACLs";
/// The longest wait that Consul may ask for with `Retry-After`; beyond it, the queue is the better waiting room.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(5);

/// How many requests are under way at send_once: with the most environments that there are (`MaximumConcurrency`), this bounds
/// the load on Consul, whatever work meets in a batch.
const MAX_CONCURRENT_REQUESTS: usize = 8;

/// Consul's HTTP API, at one or several addresses.
pub(super) struct Http {
    endpoints: Endpoints,
    preferred: AtomicUsize,
    credential: Credential,
    retry_policy: RetryPolicy,
    permits: Semaphore,
}

impl Http {
    pub(super) fn new(
        servers: Arc<dyn ServerSource>,
        tls: &TlsSettings,
        credential: Arc<dyn CredentialSource>,
        retry_policy: RetryPolicy,
    ) -> Result<Self, ConnectorError> {
        let endpoints = Endpoints::new(servers, Connector::new(tls, retry_policy)?, retry_policy);
        Ok(Self {
            endpoints,
            preferred: AtomicUsize::new(0),
            credential: Credential::new(credential),
            retry_policy,
            permits: Semaphore::new(MAX_CONCURRENT_REQUESTS),
        })
    }

    /// Sends a request and reads the answer's JSON.
    pub(super) async fn json<T: DeserializeOwned>(&self, request: &Request) -> Result<T, ConsulError> {
        let body = self.send(request).await?;
        // serde's own message may quote the answer, which may hold secrets: only the position is told.
        serde_json::from_slice(&body).map_err(|e| ConsulError::Malformed {
            subject: request.subject.clone(),
            reason: format!("{:?} error at line {} column {}", e.classify(), e.line(), e.column()),
        })
    }

    /// Sends a request. After a 403 the credential is read again, and the request repeated if it had changed.
    pub(super) async fn send(&self, request: &Request) -> Result<Vec<u8>, ConsulError> {
        let reading = self.credential.current().await?;
        match self.send_as(request, &reading).await {
            Err(refused @ (ConsulError::CredentialRejected { .. } | ConsulError::PermissionDenied { .. })) => {
                match self.credential.renewed(&reading).await? {
                    Some(renewed) => self.send_as(request, &renewed).await,
                    None => Err(refused),
                }
            }
            answer => answer,
        }
    }

    /// Sends a request with one token, and finds out what an ambiguous answer means.
    async fn send_as(&self, request: &Request, reading: &Reading) -> Result<Vec<u8>, ConsulError> {
        match self.with_retries(request, reading).await {
            Ok(body) => Ok(body),
            Err(Refusal::Ambiguous) if self.is_known(reading).await? => {
                Err(ConsulError::NotFound { subject: request.subject.clone() })
            }
            Err(Refusal::Ambiguous) => Err(ConsulError::CredentialRejected { subject: request.subject.clone() }),
            Err(Refusal::NoServers(error) | Refusal::Known(error)) => Err(error),
        }
    }

    /// Whether Consul knows our own token: what tells the two meanings of an ambiguous answer apart.
    async fn is_known(&self, reading: &Reading) -> Result<bool, ConsulError> {
        let own_token = Request::get("the controller's own token", &["acl", "token", "self"]);
        match self.with_retries(&own_token, reading).await {
            Ok(_) => Ok(true),
            Err(Refusal::Ambiguous | Refusal::Known(ConsulError::PermissionDenied { .. })) => Ok(false),
            Err(Refusal::NoServers(error) | Refusal::Known(error)) => Err(error),
        }
    }

    async fn with_retries(&self, request: &Request, reading: &Reading) -> Result<Vec<u8>, Refusal> {
        let backoff = ExponentialBuilder::default()
            .with_min_delay(self.retry_policy.first_retry)
            .with_factor(2.0)
            .with_max_times(self.retry_policy.retries);
        (|| self.send_to_any_endpoint(request, reading))
            .retry(backoff)
            .when(is_retryable)
            .adjust(|refusal, ceiling| Some(full_jitter(refusal, ceiling?)))
            .await
    }

    /// One attempt: the preferred address first, and the others as long as none takes a connection.
    async fn send_to_any_endpoint(&self, request: &Request, reading: &Reading) -> Result<Vec<u8>, Refusal> {
        let endpoints = self.endpoints.current().await.map_err(|why| no_servers(request, &why))?;
        let first = self.preferred.load(Ordering::Relaxed);
        let order = (0..endpoints.len()).map(|n| (first + n) % endpoints.len());
        let mut unreachable = unavailable(request, "no server is known".to_owned(), true);
        for index in order {
            let Some(endpoint) = endpoints.get(index) else {
                continue;
            };
            match self.send_once(endpoint, request, reading).await {
                Err(Refusal::Known(error @ ConsulError::Unavailable { had_no_effect: true, .. })) => {
                    unreachable = Refusal::Known(error);
                }
                // It took the connection and failed: the next attempt begins at the next address.
                Err(refusal @ Refusal::Known(ConsulError::Unavailable { .. })) => {
                    self.preferred.store(index + 1, Ordering::Relaxed);
                    return Err(refusal);
                }
                answer => {
                    self.preferred.store(index, Ordering::Relaxed);
                    return answer;
                }
            }
        }
        self.endpoints.forget(&endpoints).await;
        Err(unreachable)
    }

    async fn send_once(&self, endpoint: &Endpoint, request: &Request, reading: &Reading) -> Result<Vec<u8>, Refusal> {
        let mut url = endpoint.url.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.clear().push("v1").extend(&request.path);
        }
        let mut built = endpoint
            .client
            .request(request.method.clone(), url)
            .header("X-Consul-Token", reading.header().map_err(Refusal::Known)?)
            .query(&request.query);
        if let Some(body) = &request.body {
            built = built.json(body);
        }
        // Held until the whole answer is here. The semaphore is never closed.
        let _permit = self.permits.acquire().await.ok();
        let answer = built.send().await.map_err(|e| unavailable(request, at(endpoint, &e), e.is_connect()))?;
        let (status, retry_after) = (answer.status(), retry_after(answer.headers()));
        let is_filtered = answer.headers().get(FILTERED_BY_ACLS).is_some_and(|value| value == "true");
        let body = answer.bytes().await.map_err(|e| unavailable(request, at(endpoint, &e), false))?;
        if status == StatusCode::OK && is_filtered {
            // A part of the truth is no truth: what is missing here would pass for absent.
            let reason = "Consul left results out, because the token may not read them".to_owned();
            let subject = request.subject.clone();
            return Err(Refusal::Known(ConsulError::PermissionDenied { subject, reason }));
        }
        if status == StatusCode::OK {
            return Ok(body.to_vec());
        }
        let said = without_secrets(&String::from_utf8_lossy(&body), request, reading);
        Err(classify(&request.subject, status.as_u16(), retry_after, &said))
    }
}

/// What the server said, without the secrets that were sent to it.
fn without_secrets(said: &str, request: &Request, reading: &Reading) -> String {
    let said = reading.redacted(said);
    match request.body.as_ref().and_then(|body| body.get("SecretID")).and_then(Value::as_str) {
        Some(secret) => redact(&said, secret),
        None => said,
    }
}

fn no_servers(request: &Request, why: &NoServers) -> Refusal {
    let (subject, reason) = (request.subject.clone(), why.to_string());
    Refusal::NoServers(ConsulError::Unavailable { subject, reason, had_no_effect: true })
}

fn unavailable(request: &Request, reason: String, had_no_effect: bool) -> Refusal {
    Refusal::Known(ConsulError::Unavailable { subject: request.subject.clone(), reason, had_no_effect })
}

/// Where it happened, and what.
fn at(endpoint: &Endpoint, error: &reqwest::Error) -> String {
    format!("{}: {}", endpoint.url.as_str().trim_end_matches('/'), describe(error))
}

/// The error and its causes, without the URL: a filter in it is long, and the subject says the same.
fn describe(error: &reqwest::Error) -> String {
    let mut text = if error.is_timeout() { "timed out".to_owned() } else { "request failed".to_owned() };
    let mut cause = std::error::Error::source(error);
    while let Some(inner) = cause {
        text = format!("{text}: {inner}");
        cause = inner.source();
    }
    text
}

fn retry_after(headers: &header::HeaderMap) -> Option<Duration> {
    let seconds = headers.get(header::RETRY_AFTER)?.to_str().ok()?.parse().ok()?;
    Some(Duration::from_secs(seconds))
}

/// Every request of this client may be repeated: tokens and policies have given names, and a transaction whose first
/// answer was lost reports a conflict, after which the caller looks again.
fn is_retryable(refusal: &Refusal) -> bool {
    match refusal {
        Refusal::Known(ConsulError::Unavailable { .. }) => true,
        Refusal::Known(ConsulError::Throttled { retry_after, .. }) => {
            retry_after.is_none_or(|wait| wait <= MAX_RETRY_AFTER)
        }
        _ => false,
    }
}

/// Full jitter: anything from nothing to the backoff's ceiling, on top of what Consul asked for.
fn full_jitter(refusal: &Refusal, ceiling: Duration) -> Duration {
    let asked = match refusal {
        Refusal::Known(ConsulError::Throttled { retry_after, .. }) => retry_after.unwrap_or_default(),
        _ => Duration::ZERO,
    };
    asked + ceiling.mul_f64(fastrand::f64())
}
