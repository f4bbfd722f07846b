//! The client of a Consul datacenter: failover between addresses, timeouts, retries, and renewal of the credential.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use backon::{ExponentialBuilder, Retryable};
use http_client::{Body, BodyError, Limit};
use reqwest::{StatusCode, header};
use serde::de::DeserializeOwned;
use serde_json::Value;
use telemetry::Service;
use tokio::sync::Semaphore;
use tracing::debug;

use crate::{
    array::{self, BodyReader},
    credential::{Credential, CredentialSource, Reading, TokenOwner},
    endpoints::{ConnectorError, Endpoint, Endpoints, TlsSettings},
    error::{ConsulError, Refusal, classify},
    request::{Request, RetryPolicy},
    servers::{NoServers, ServerSource},
};
use mesh::secret::redact;

/// The header of Consul 1.11 and newer for results that were filtered by ACLs.
const FILTERED_BY_ACLS: &str = "X-Consul-Results-Filtered-By-ACLs";
/// The longest `Retry-After` that is waited for. After a longer one the request fails, and its message returns to the
/// queue.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(5);

/// The most concurrent requests of one environment. With the number of environments (`MaximumConcurrency`), this bounds
/// the load on Consul.
const MAX_CONCURRENT_REQUESTS: usize = 8;

/// A client of a Consul datacenter, which implements one trait for each part of the API.
pub struct HttpConsul {
    endpoints: Endpoints,
    preferred: AtomicUsize,
    credential: Credential,
    retry_policy: RetryPolicy,
    permits: Semaphore,
    pub(crate) accepts_hidden: bool,
}

impl HttpConsul {
    /// A client that discovers its servers, and reads its token from `credential`, at the first request.
    ///
    /// # Errors
    /// The CA certificate or the server name is invalid.
    pub fn new(
        servers: Arc<dyn ServerSource>,
        tls: &TlsSettings,
        credential: Arc<dyn CredentialSource>,
        retry_policy: RetryPolicy,
    ) -> Result<Self, ConnectorError> {
        Ok(Self {
            endpoints: Endpoints::new(servers, tls, retry_policy)?,
            preferred: AtomicUsize::new(0),
            credential: Credential::new(credential),
            retry_policy,
            permits: Semaphore::new(MAX_CONCURRENT_REQUESTS),
            accepts_hidden: false,
        })
    }

    /// The same client for a credential with `acl:read`, to which Consul does not show secret IDs: see
    /// [`Token::hides_its_secret`](crate::Token::hides_its_secret).
    #[must_use]
    pub fn accepting_hidden_secrets(self) -> Self {
        Self { accepts_hidden: true, ..self }
    }

    /// Whose token it sends.
    pub(super) fn token_owner(&self) -> TokenOwner {
        self.credential.owner()
    }

    /// Reads the credential and opens two connections to the first server, because most events begin with two concurrent reads. A
    /// failure shows in the first request.
    pub async fn open_connections(&self) {
        let connect = async {
            let Ok(endpoints) = self.endpoints.current().await else { return };
            let Some(endpoint) = endpoints.first() else { return };
            let limit = self.retry_policy.request;
            tokio::join!(endpoint.open_connection(limit), endpoint.open_connection(limit));
        };
        let _ = tokio::join!(self.credential.current(), connect);
    }

    /// Sends a request and reads the answer's JSON.
    pub(super) async fn json<T: DeserializeOwned>(&self, request: &Request) -> Result<T, ConsulError> {
        let body = self.send(request).await?;
        // The message of serde may contain the answer, which may contain secrets: only the position is used.
        serde_json::from_slice(&body).map_err(|e| {
            request.malformed(format!("{:?} error at line {} column {}", e.classify(), e.line(), e.column()))
        })
    }

    /// Sends a request, and returns the body of the answer.
    pub(super) async fn send(&self, request: &Request) -> Result<Vec<u8>, ConsulError> {
        self.stream(request, Vec::new).await
    }

    /// Sends a request, and reads the answer while it arrives, with a new reader for each attempt. After status 403 the
    /// credential is read again, and the request repeated if it has changed.
    pub(super) async fn stream<R: BodyReader>(
        &self,
        request: &Request,
        reader: impl Fn() -> R + Sync,
    ) -> Result<R::Output, ConsulError> {
        let reading = self.credential.current().await?;
        match self.read_as(request, &reading, &reader).await {
            Err(refused @ (ConsulError::CredentialRejected { .. } | ConsulError::PermissionDenied { .. })) => {
                match self.credential.renewed(&reading).await? {
                    Some(renewed) => self.read_as(request, &renewed, &reader).await,
                    None => Err(refused),
                }
            }
            answer => answer,
        }
    }

    /// Sends a request with one token, and resolves an ambiguous answer.
    async fn read_as<R: BodyReader>(
        &self,
        request: &Request,
        reading: &Reading,
        reader: &(impl Fn() -> R + Sync),
    ) -> Result<R::Output, ConsulError> {
        match self.with_retries(request, reading, reader).await {
            Ok(body) => Ok(body),
            Err(Refusal::Ambiguous) if self.is_known(reading).await? => {
                Err(ConsulError::NotFound { subject: request.subject.clone() })
            }
            Err(Refusal::Ambiguous) => {
                telemetry::call_error(Service::Consul);
                let (subject, token) = (request.subject.clone(), reading.owner);
                Err(if reading.is_empty() {
                    ConsulError::CredentialUnreadable { token, reason: "it is empty".to_owned(), is_denied: false }
                } else {
                    ConsulError::CredentialRejected { subject, token }
                })
            }
            Err(Refusal::Known(ConsulError::PermissionDenied { subject, token, reason })) if reading.is_empty() => {
                let reason = format!("{reason} (the token is empty, so Consul judged its anonymous token)");
                Err(ConsulError::PermissionDenied { subject, token, reason })
            }
            Err(Refusal::NoServers(error) | Refusal::Known(error)) => Err(error),
        }
    }

    /// Whether Consul knows the client's token, to resolve an ambiguous answer.
    async fn is_known(&self, reading: &Reading) -> Result<bool, ConsulError> {
        match self.with_retries(&Request::own_token(reading.owner), reading, &Vec::new).await {
            // Without ACLs every credential is accepted.
            Ok(_) | Err(Refusal::Known(ConsulError::AclsDisabled { .. })) => Ok(true),
            Err(Refusal::Ambiguous | Refusal::Known(ConsulError::PermissionDenied { .. })) => Ok(false),
            Err(Refusal::NoServers(error) | Refusal::Known(error)) => Err(error),
        }
    }

    async fn with_retries<R: BodyReader>(
        &self,
        request: &Request,
        reading: &Reading,
        reader: &(impl Fn() -> R + Sync),
    ) -> Result<R::Output, Refusal> {
        let backoff = ExponentialBuilder::default()
            .with_min_delay(self.retry_policy.first_retry)
            .with_factor(2.0)
            .with_max_times(self.retry_policy.retries);
        (|| self.send_to_any_endpoint(request, reading, reader))
            .retry(backoff)
            .when(is_retryable)
            .adjust(|refusal, ceiling| Some(full_jitter(refusal, ceiling?)))
            .await
    }

    /// One attempt: the preferred address first, then the others while none accepts a connection.
    async fn send_to_any_endpoint<R: BodyReader>(
        &self,
        request: &Request,
        reading: &Reading,
        reader: &(impl Fn() -> R + Sync),
    ) -> Result<R::Output, Refusal> {
        let endpoints = self.endpoints.current().await.map_err(|why| {
            telemetry::call_error(Service::Consul);
            no_servers(request, &why)
        })?;
        let first = self.preferred.load(Ordering::Relaxed);
        let order = (0..endpoints.len()).map(|n| (first + n) % endpoints.len());
        let mut unreachable = unavailable(request, "no server is known".to_owned(), true);
        for index in order {
            let Some(endpoint) = endpoints.get(index) else {
                continue;
            };
            // Held until the answer was received; waiting for it is no part of the call's time. The semaphore is never closed.
            let _permit = self.permits.acquire().await.ok();
            let start = Instant::now();
            let answer = self.send_once(endpoint, request, reading, reader()).await;
            log_call(request, start, answer.is_ok());
            telemetry::call(Service::Consul, start.elapsed(), answer.as_ref().is_err_and(counts_as_failure));
            match answer {
                Err(Refusal::Known(error @ ConsulError::Unavailable { had_no_effect: true, .. })) => {
                    unreachable = Refusal::Known(error);
                }
                // It accepted the connection and failed: the next attempt starts with the next address.
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

    async fn send_once<R: BodyReader>(
        &self,
        endpoint: &Endpoint,
        request: &Request,
        reading: &Reading,
        mut reader: R,
    ) -> Result<R::Output, Refusal> {
        let mut url = endpoint.url.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.clear().push("v1").extend(&request.path);
        }
        let limit = if request.is_list { self.retry_policy.list } else { self.retry_policy.request };
        let mut built = endpoint
            .client
            .request(request.method.clone(), url)
            .header("X-Consul-Token", reading.header().map_err(Refusal::Known)?)
            .query(&request.query)
            .timeout(limit);
        if let Some(body) = &request.body {
            built = built.json(body);
        }
        let failed = |e: reqwest::Error| unavailable(request, at(endpoint, &e), e.is_connect());
        let too_large = |limit: Limit| {
            let (subject, limit) = (request.subject.clone(), limit.mebibytes());
            Refusal::Known(ConsulError::TooLarge { subject, limit })
        };
        let unread = |e| match e {
            BodyError::Failed(e) => failed(e),
            BodyError::TooLarge(limit) => too_large(limit),
        };
        let unparsed = |e: array::BodyError| match e {
            array::BodyError::TooLong(limit) => too_large(limit),
            other => Refusal::Known(request.malformed(other.to_string())),
        };
        let answer = built.send().await.map_err(failed)?;
        let (status, retry_after) = (answer.status(), retry_after(answer.headers()));
        if status != StatusCode::OK {
            let body = http_client::beginning(answer).await.map_err(failed)?;
            let text = without_secrets(&String::from_utf8_lossy(&body), request, reading);
            if status == StatusCode::NOT_FOUND && request.is_about_own_token() && !is_about_a_token(&text) {
                let reason = "this is not Consul's API: it has no /v1/acl/token/self".to_owned();
                return Err(Refusal::Known(request.malformed(reason)));
            }
            return Err(classify(&request.subject, reading.owner, status.as_u16(), retry_after, &text));
        }
        if answer.headers().get(FILTERED_BY_ACLS).is_some_and(|value| value == "true") {
            // A filtered result would make existing objects appear absent.
            let reason = "Consul filtered the results, because the token may not read all of them".to_owned();
            let subject = request.subject.clone();
            return Err(Refusal::Known(ConsulError::PermissionDenied { subject, token: reading.owner, reason }));
        }
        let mut body = Body::of(answer, request.limit);
        while let Some(part) = body.part().await.map_err(unread)? {
            reader.read(part.as_ref()).map_err(unparsed)?;
        }
        reader.end().map_err(unparsed)
    }
}

/// Whether the metrics count an answer as failed: not one that says that an object is missing or has changed. An ambiguous one
/// is counted when it is resolved.
fn counts_as_failure(refusal: &Refusal) -> bool {
    match refusal {
        Refusal::Ambiguous | Refusal::NoServers(_) => false,
        Refusal::Known(error) => !matches!(
            error,
            ConsulError::NotFound { .. } | ConsulError::Conflict { .. } | ConsulError::AclsDisabled { .. }
        ),
    }
}

/// Logs a request that has ended, without its query and its body.
fn log_call(request: &Request, start: Instant, is_ok: bool) {
    let (method, path) = (request.method.as_str(), request.path.join("/"));
    let (outcome, milliseconds) = (if is_ok { "done" } else { "failed" }, start.elapsed().as_millis());
    debug!(action = "call_consul", method, path, outcome, milliseconds);
}

/// Whether an answer with status 404 about the own token is Consul's: some releases answer so about a token that they do not know.
fn is_about_a_token(text: &str) -> bool {
    ["token does not exist", "ACL not found"].iter().any(|part| text.contains(part))
}

/// The text of an answer, without the secrets in the request.
fn without_secrets(text: &str, request: &Request, reading: &Reading) -> String {
    let text = reading.redacted(text);
    match request.body.as_ref().and_then(|body| body.get("SecretID")).and_then(Value::as_str) {
        Some(secret) => redact(&text, secret),
        None => text,
    }
}

fn no_servers(request: &Request, why: &NoServers) -> Refusal {
    let (subject, reason) = (request.subject.clone(), why.to_string());
    Refusal::NoServers(ConsulError::Unavailable { subject, reason, had_no_effect: true })
}

fn unavailable(request: &Request, reason: String, had_no_effect: bool) -> Refusal {
    Refusal::Known(ConsulError::Unavailable { subject: request.subject.clone(), reason, had_no_effect })
}

/// The address and the error.
fn at(endpoint: &Endpoint, error: &reqwest::Error) -> String {
    format!("{}: {}", endpoint.url.as_str().trim_end_matches('/'), http_client::describe(error))
}

fn retry_after(headers: &header::HeaderMap) -> Option<Duration> {
    let seconds = headers.get(header::RETRY_AFTER)?.to_str().ok()?.parse().ok()?;
    Some(Duration::from_secs(seconds))
}

/// Whether to retry. Every request may be repeated: tokens and policies have given names, and a repeated transaction
/// returns a conflict, after which the caller reads again.
fn is_retryable(refusal: &Refusal) -> bool {
    match refusal {
        Refusal::Known(ConsulError::Unavailable { .. }) => true,
        Refusal::Known(ConsulError::Throttled { retry_after, .. }) => {
            retry_after.is_none_or(|wait| wait <= MAX_RETRY_AFTER)
        }
        _ => false,
    }
}

/// Full jitter: a random delay up to the ceiling of the backoff, added to `Retry-After`.
fn full_jitter(refusal: &Refusal, ceiling: Duration) -> Duration {
    let requested = match refusal {
        Refusal::Known(ConsulError::Throttled { retry_after, .. }) => retry_after.unwrap_or_default(),
        _ => Duration::ZERO,
    };
    requested + ceiling.mul_f64(fastrand::f64())
}
