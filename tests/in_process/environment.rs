//! One environment of the function in the test's process, against a real Consul and MiniStack, with recorders in front of both
//! that count requests and can change answers.

use std::sync::Arc;

use async_trait::async_trait;
use aws_config::{BehaviorVersion, Region, SdkConfig, timeout::TimeoutConfig};
use aws_sdk_ecs::config::{Credentials, SharedCredentialsProvider};
use consul::{ConsulUrls, CredentialError, CredentialSource, HttpConsul, RetryPolicy, TlsSettings, TokenOwner};
use controller::{BatchReport, Controller, Delivery, Edges, Writes, settings::Settings};
use ecs_mesh_controller::wiring;
use jiff::Timestamp;
use observe::{Clock, Deadline, Reads};
use secrecy::SecretString;
use serde_json::{Value, json};

use crate::time::{Fixed, LONG};
use local_stack::{Stack, world::World};
use test_harness::recorder::{Answer, RecordedRequest, Recorder};

/// A retry policy without timeouts: a request that times out would be retried, and counted twice. Unavailable servers are retried
/// nevertheless.
pub(crate) fn without_time_limits() -> RetryPolicy {
    let limit = 2 * LONG;
    RetryPolicy {
        connect: limit,
        request: limit,
        list: limit,
        silence: limit,
        discovery: limit,
        ..RetryPolicy::for_events()
    }
}

/// A constant credential.
pub(crate) struct Token(pub(crate) String);

#[async_trait]
impl CredentialSource for Token {
    async fn read(&self) -> Result<SecretString, CredentialError> {
        Ok(SecretString::from(self.0.clone()))
    }

    fn owner(&self) -> TokenOwner {
        TokenOwner::Controller
    }
}

/// The production edges, with a Consul client without timeouts and a fixed clock.
pub(crate) async fn edges_without_time_limits(settings: &Settings, token: &str, aws: &SdkConfig) -> Edges {
    let edges = wiring::Clients::new(settings, aws, without_time_limits()).await.expect("clients").edges;
    let servers = wiring::servers(&settings.consul_addresses, Arc::new(aws::ecs::AwsEcs::new(aws)));
    let token = Arc::new(Token(token.to_owned()));
    let consul =
        Arc::new(HttpConsul::new(servers, &TlsSettings::default(), token, without_time_limits()).expect("a client"));
    at(Arc::new(Fixed(Timestamp::now())), through(consul, edges))
}

/// A client of the Consul at this address, without time limits.
pub(crate) fn client(address: &str, token: &str) -> HttpConsul {
    let urls: ConsulUrls = address.parse().expect("an address");
    let token = Arc::new(Token(token.to_owned()));
    HttpConsul::new(Arc::new(urls), &TlsSettings::default(), token, without_time_limits()).expect("a client")
}

/// The edges with another clock.
pub(crate) fn at(clock: Arc<dyn Clock>, edges: Edges) -> Edges {
    Edges { reads: Reads { clock, ..edges.reads }, ..edges }
}

/// The edges with another client of Consul.
pub(crate) fn through(consul: Arc<HttpConsul>, edges: Edges) -> Edges {
    Edges { reads: Reads { consul: consul.clone(), ..edges.reads }, writes: Writes { consul, ..edges.writes }, ..edges }
}

/// The configuration of AWS clients with this endpoint, without timeouts.
pub(crate) fn sdk_at(endpoint: &str) -> SdkConfig {
    let credentials = Credentials::new("test", "test", None, None, "tests");
    SdkConfig::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::from_static("us-east-1"))
        .endpoint_url(endpoint)
        .credentials_provider(SharedCredentialsProvider::new(credentials))
        .http_client(aws::http::Http::default())
        // A request that times out would be retried, and counted twice.
        .timeout_config(TimeoutConfig::disabled())
        .build()
}

/// A recorder in front of AWS; `script` decides which requests are forwarded.
pub(crate) async fn aws(script: impl Fn(&RecordedRequest, usize) -> Answer + Send + Sync + 'static) -> Recorder {
    Recorder::before_aws(&Stack::shared().await.aws, script).await
}

/// AWS's answer with an error of this kind, in its JSON protocols.
pub(crate) fn refusal(kind: &str) -> Answer {
    Answer::status(400, json!({ "__type": kind, "message": "as AWS says it" }).to_string())
}

/// The function, and recorders in front of the servers that it calls.
pub(crate) struct Environment {
    pub(crate) controller: Controller,
    pub(crate) consul: Recorder,
    pub(crate) aws: Recorder,
}

impl Environment {
    /// An environment in one of the token modes.
    pub(crate) async fn start(world: &World<'_>, mode: &'static str) -> Self {
        let consul = Recorder::before(&world.consul.address, |_, _| Answer::Forward).await;
        Self::with(world, consul, &[("TOKEN_MODE", mode)], |edges| edges).await
    }

    /// An environment whose Consul answers by `script`, with further settings.
    pub(crate) async fn scripted(
        world: &World<'_>,
        settings: &[(&'static str, &'static str)],
        script: impl Fn(&RecordedRequest, usize) -> Answer + Send + Sync + 'static,
    ) -> Self {
        let consul = Recorder::before(&world.consul.address, script).await;
        Self::with(world, consul, settings, |edges| edges).await
    }

    /// An environment with changed edges. Its clock shows the time of its creation.
    pub(crate) async fn with(
        world: &World<'_>,
        consul: Recorder,
        further: &[(&'static str, &'static str)],
        change: impl FnOnce(Edges) -> Edges,
    ) -> Self {
        let aws = aws(|_, _| Answer::Forward).await;
        Self::between(world, consul, aws, further, change).await
    }

    pub(crate) async fn between(
        world: &World<'_>,
        consul: Recorder,
        aws: Recorder,
        further: &[(&'static str, &'static str)],
        change: impl FnOnce(Edges) -> Edges,
    ) -> Self {
        let settings = Settings::read(|name| {
            if let Some((_, value)) = further.iter().find(|(key, _)| *key == name) {
                return Some((*value).to_owned());
            }
            Some(match name {
                "CONSUL_HTTP_ADDR" => consul.url.clone(),
                "CONSUL_HTTP_TOKEN" => world.consul.management_token.clone(),
                "ECS_CLUSTER_ARNS" => world.cluster(),
                "SECRET_NAME_PREFIX" => world.prefix.to_owned(),
                "QUEUE_URL" => world.deployed.queue_url.clone(),
                _ => return None,
            })
        })
        .expect("settings");
        let config = sdk_at(&aws.url);
        let edges = edges_without_time_limits(&settings, &world.consul.management_token, &config).await;
        Self { controller: Controller::new(settings.scope, change(edges)), consul, aws }
    }

    /// The numbers of unanswered requests to Consul and to AWS, and whether a connection to either has unread data.
    pub(crate) fn under_way(&self) -> ([usize; 2], bool) {
        let both = [&self.consul, &self.aws];
        (both.map(Recorder::under_way), both.into_iter().any(Recorder::has_unread))
    }

    /// Handles events as one batch until a deadline.
    pub(crate) async fn handle_until(&self, deadline: Deadline, events: &[Value]) -> BatchReport {
        let delivery = |(index, event): (usize, &Value)| Delivery {
            id: index.to_string(),
            receipt: None,
            receives: 1,
            body: event.to_string(),
        };
        let deliveries: Vec<Delivery> = events.iter().enumerate().map(delivery).collect();
        self.controller.handle(&deliveries, deadline).await
    }

    /// Handles events as one batch.
    pub(crate) async fn handle(&self, events: &[Value]) -> BatchReport {
        self.handle_until(Deadline::after(LONG), events).await
    }

    /// Handles events as one batch, and returns the calls: AWS operations and Consul requests, both sorted.
    pub(crate) async fn calls_for(&self, events: &[Value]) -> (Vec<String>, Vec<String>) {
        let (report, calls) = self.calls_of(self.handle(events)).await;
        assert!(report.failures.is_empty(), "{:?}", report.failures);
        calls
    }

    /// Works, and returns the calls: AWS operations and Consul requests, both sorted.
    pub(crate) async fn calls_of<T>(&self, work: impl Future<Output = T>) -> (T, (Vec<String>, Vec<String>)) {
        self.aws.forget();
        self.consul.forget();
        let done = work.await;
        let mut consul: Vec<String> = self.consul.requests().iter().map(consul_call).collect();
        consul.sort();
        (done, (self.aws.operations(), consul))
    }
}

/// A request to Consul, for example `GET acl/tokens`.
pub(crate) fn consul_call(seen: &RecordedRequest) -> String {
    let path = seen.uri.split('?').next().unwrap_or_default();
    let parts: Vec<&str> = path.split('/').skip(2).take(2).filter(|part| !part.is_empty()).collect();
    format!("{} {}", seen.method, parts.join("/"))
}
