//! The HTTP client of all AWS clients: the one that Consul's client uses too, so that a function carries only one.

use std::{
    sync::{Arc, OnceLock},
    time::{Duration, Instant},
};

use aws_smithy_runtime_api::{
    box_error::BoxError,
    client::{
        http::{HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector},
        orchestrator::{HttpRequest, HttpResponse},
        result::ConnectorError,
        runtime_components::RuntimeComponents,
    },
};
use aws_smithy_types::body::SdkBody;
use http_client::{Body, BodyError, Limit};
use telemetry::Service;
use tracing::debug;

/// The time-out of connecting.
pub(crate) const CONNECT: Duration = Duration::from_secs(2);

/// The client for all services. It is made at the first call, because that reads the root certificates.
#[derive(Debug, Clone, Default)]
pub struct Http(Arc<OnceLock<reqwest::Client>>);

/// The client, as one service uses it.
#[derive(Debug)]
struct Connector {
    http: Http,
    /// The time-out of an answer.
    read_timeout: Option<Duration>,
}

impl Http {
    fn client(&self) -> Result<reqwest::Client, ConnectorError> {
        if let Some(client) = self.0.get() {
            return Ok(client.clone());
        }
        let client = http_client::trusting_the_system().connect_timeout(CONNECT).build().map_err(user)?;
        Ok(self.0.get_or_init(|| client).clone())
    }

    /// Sends one request, which is counted and logged as the calls of the SDK's clients are.
    #[cfg(feature = "ec2")]
    pub(crate) async fn send(
        &self,
        request: HttpRequest,
        limit: Option<Duration>,
    ) -> Result<HttpResponse, ConnectorError> {
        Connector { http: self.clone(), read_timeout: limit }.call(request).await
    }
}

impl HttpClient for Http {
    fn http_connector(&self, settings: &HttpConnectorSettings, _: &RuntimeComponents) -> SharedHttpConnector {
        SharedHttpConnector::new(Connector { http: self.clone(), read_timeout: settings.read_timeout() })
    }
}

impl HttpConnector for Connector {
    /// Logs each call, without its body.
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        // The operation, in the protocols of ECS, Secrets Manager and SQS.
        let operation = request.headers().get("x-amz-target").unwrap_or_default().to_owned();
        let (start, client, limit) = (Instant::now(), self.http.client(), self.read_timeout);
        HttpConnectorFuture::new(async move {
            let answer = async { send(client?, request, limit).await }.await;
            let status = answer.as_ref().ok().map(|answer| answer.status().as_u16());
            telemetry::call(Service::Aws, start.elapsed(), status.is_none_or(is_error));
            debug!(action = "call_aws", operation, status, milliseconds = start.elapsed().as_millis());
            answer
        })
    }
}

async fn send(
    client: reqwest::Client,
    request: HttpRequest,
    limit: Option<Duration>,
) -> Result<HttpResponse, ConnectorError> {
    let (head, body) = request.try_into_http1x().map_err(user)?.into_parts();
    let body = body.bytes().ok_or_else(|| user("a body that is a stream"))?.to_vec();
    let mut request: reqwest::Request = http::Request::from_parts(head, body).try_into().map_err(user)?;
    *request.timeout_mut() = limit;
    let answer = client.execute(request).await.map_err(failed)?;
    let (status, headers) = (answer.status(), answer.headers().clone());
    let body = if status.is_success() {
        Body::of(answer, Limit::Whole).whole().await.map_err(|error| match error {
            BodyError::Failed(error) => failed(error),
            // Of this kind, because the SDK does not repeat it.
            BodyError::TooLarge(_) => ConnectorError::other(error.into(), None),
        })?
    } else {
        http_client::beginning(answer).await.map_err(failed)?
    };
    let mut response = http::Response::new(SdkBody::from(body));
    (*response.status_mut(), *response.headers_mut()) = (status, headers);
    response.try_into().map_err(user)
}

/// An error of a request that cannot be sent.
fn user(error: impl Into<BoxError>) -> ConnectorError {
    ConnectorError::user(error.into())
}

/// An error of a request that was sent. Without the URL, which the SDK's errors do not contain either.
fn failed(error: reqwest::Error) -> ConnectorError {
    let error = error.without_url();
    if error.is_timeout() { ConnectorError::timeout(error.into()) } else { ConnectorError::io(error.into()) }
}

/// Whether a status says that something is wrong: access is denied, there are too many requests, or the service has failed.
/// With 400, which also says that an object is missing, most services report throttling too; that is not told apart here.
fn is_error(status: u16) -> bool {
    matches!(status, 403 | 429) || status >= 500
}
