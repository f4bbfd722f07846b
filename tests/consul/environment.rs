//! One environment of the function in the test's own process, before a real Consul and MiniStack: for what has to be
//! counted, stopped halfway, or shown another answer.

use std::{
    collections::BTreeMap,
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use ecs_mesh_controller::{
    controller::{BatchReport, Controller, Deadline, Delivery, Edges, settings::Settings},
    wiring,
};
use serde_json::Value;

use local_stack::{Stack, world::World};
use test_harness::recorder::{Answer, Recorder, Seen};

/// The function, and proxies before all that it calls.
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

    /// An environment before a Consul that answers by `script`, with further settings.
    pub(crate) async fn scripted(
        world: &World<'_>,
        settings: &[(&'static str, &'static str)],
        script: impl Fn(&Seen, usize) -> Answer + Send + Sync + 'static,
    ) -> Self {
        let consul = Recorder::before(&world.consul.address, script).await;
        Self::with(world, consul, settings, |edges| edges).await
    }

    /// An environment whose first write of `secret` Secrets Manager refuses, as one that came second; and which then reads
    /// another version.
    pub(crate) async fn refusing_first_write(world: &World<'_>, consul: Recorder, secret: &str) -> Self {
        let (secret, refused) = (secret.to_owned(), AtomicBool::new(false));
        let aws = Recorder::before(&world.aws.endpoint, move |seen, _| {
            let operation = seen.operation().filter(|_| seen.body.contains(&secret));
            match operation.as_deref() {
                Some("PutSecretValue") if !refused.swap(true, Ordering::SeqCst) => version_exists(),
                Some("GetSecretValue") if refused.load(Ordering::SeqCst) => {
                    let other = |answer: String| {
                        let mut answer: Value = serde_json::from_str(&answer).unwrap();
                        answer["VersionId"] = "00000000-0000-4000-8000-00000000000e".into();
                        answer.to_string()
                    };
                    Answer::ForwardAs(seen.body.clone(), Box::new(other))
                }
                _ => Answer::Forward,
            }
        })
        .await;
        Self::between(world, consul, aws, &[], |edges| edges).await
    }

    /// An environment whose edges are changed by `change`.
    pub(crate) async fn with(
        world: &World<'_>,
        consul: Recorder,
        further: &[(&'static str, &'static str)],
        change: impl FnOnce(Edges) -> Edges,
    ) -> Self {
        let aws = Recorder::before(&world.aws.endpoint, |seen, _| versions_as_in_aws(seen)).await;
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
        let config = world.aws.sdk().into_builder().endpoint_url(&aws.url).build();
        let edges = wiring::connect(&settings, &config).await.expect("edges");
        Self { controller: Controller::new(settings.scope, change(edges)), consul, aws }
    }

    /// Handles events as one batch within a time.
    pub(crate) async fn handle_within(&self, time: Duration, events: &[Value]) -> BatchReport {
        let delivery = |(index, event): (usize, &Value)| Delivery {
            id: index.to_string(),
            receipt: None,
            receives: 1,
            body: event.to_string(),
        };
        let deliveries: Vec<Delivery> = events.iter().enumerate().map(delivery).collect();
        self.controller.handle(&deliveries, Deadline::after(time)).await
    }

    /// Handles events as one batch.
    pub(crate) async fn handle(&self, events: &[Value]) -> BatchReport {
        self.handle_within(Duration::from_secs(60), events).await
    }

    /// Handles events as one batch, and says what was called: AWS operations and Consul requests, both sorted.
    pub(crate) async fn calls_for(&self, events: &[Value]) -> (Vec<String>, Vec<String>) {
        // A call that has to be repeated would be counted.
        let _alone = Stack::shared().await.aws.ecs_alone().await;
        self.aws.forget();
        self.consul.forget();
        let report = self.handle(events).await;
        assert!(report.failures.is_empty(), "{:?}", report.failures);
        let request = |seen: &Seen| {
            let path = seen.uri.split('?').next().unwrap_or_default();
            let parts: Vec<&str> = path.split('/').skip(2).take(2).filter(|part| !part.is_empty()).collect();
            format!("{} {}", seen.method, parts.join("/"))
        };
        let mut consul: Vec<String> = self.consul.seen().iter().map(request).collect();
        consul.sort();
        (self.aws.operations(), consul)
    }
}

/// AWS refuses a version ID that exists with other content. Its emulator writes whatever comes.
fn versions_as_in_aws(seen: &Seen) -> Answer {
    static WRITTEN: Mutex<BTreeMap<(String, String), String>> = Mutex::new(BTreeMap::new());
    if !matches!(seen.operation().as_deref(), Some("PutSecretValue" | "CreateSecret")) {
        return Answer::Forward;
    }
    let body = seen.json();
    let field = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
    let name = if body["SecretId"].is_string() { field("SecretId") } else { field("Name") };
    let content = field("SecretString");
    let mut written = WRITTEN.lock().unwrap();
    let known = written.entry((name, field("ClientRequestToken"))).or_insert_with(|| content.clone());
    if *known == content { Answer::Forward } else { version_exists() }
}

fn version_exists() -> Answer {
    let error = serde_json::json!({
        "__type": "ResourceExistsException",
        "Message": "You can't use ClientRequestToken … because that value is already in use",
    });
    Answer::status(400, error.to_string())
}
