//! The first event of a new environment: its round trips to AWS and to Consul, and how long it takes.

use std::{
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use local_stack::{
    deploy::TIME_BOUNDS,
    scratch,
    world::{World, task_id},
};
use serde_json::{Value, json};
use test_harness::{
    function::{Function, RuntimeApi},
    jwt::JwtAuthMethod,
    recorder::{Answer, Recorder},
};

use crate::relay::{Identity, Relay};

/// A kind of first event.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Event {
    Stop,
    LegacyStop,
    ToldToStop,
    Start,
    LegacyStart,
}

/// How the function finds and trusts Consul.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Setup {
    /// At a URL, with the certificate of its authority in a secret.
    CaSecret,
    /// At a URL, with a certificate that the system trusts.
    SystemRoots,
    /// In an ECS task, with the certificate in a secret.
    EcsTask,
}

/// The rows of the table.
pub(crate) const ROWS: [(&str, Event, Setup); 7] = [
    ("stop, CA certificate in a secret", Event::Stop, Setup::CaSecret),
    ("stop, no CA secret", Event::Stop, Setup::SystemRoots),
    ("stop, ecs:// address", Event::Stop, Setup::EcsTask),
    ("stop, task reads a token", Event::LegacyStop, Setup::SystemRoots),
    ("told to stop", Event::ToldToStop, Setup::SystemRoots),
    ("start, task logs in", Event::Start, Setup::SystemRoots),
    ("start, task reads tokens", Event::LegacyStart, Setup::SystemRoots),
];

/// The cluster of Consul's servers, their family and their only task.
const SERVERS: &str = "consul-servers";

/// ECS, with one more task: Consul at 127.0.0.1.
pub(crate) async fn ecs_with_consul(aws: &str) -> Recorder {
    Recorder::before(aws, |seen, _| {
        let interface = json!({ "name": "privateIPv4Address", "value": "127.0.0.1" });
        let attachment = json!({ "type": "ElasticNetworkInterface", "status": "ATTACHED", "details": [interface] });
        let answer = match (seen.json()["cluster"] == SERVERS, seen.operation().as_deref()) {
            (true, Some("ListTasks")) => json!({ "taskArns": [SERVERS] }),
            (true, Some("DescribeTasks")) => {
                json!({ "tasks": [{ "taskArn": SERVERS, "lastStatus": "RUNNING", "attachments": [attachment] }] })
            }
            _ => return Answer::Forward,
        };
        Answer::ok(answer.to_string())
    })
    .await
}

/// One measured event.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Measured {
    /// From the start of the process until it asks for its first event.
    pub(crate) init: Duration,
    /// From the event until its answer.
    pub(crate) event: Duration,
    /// The connections to ECS, to Secrets Manager, to the other services of AWS, and to Consul.
    pub(crate) connections: [usize; 4],
}

/// Measures first events in one world.
pub(crate) struct FirstEvents<'a> {
    pub(crate) world: World<'a>,
    pub(crate) method: JwtAuthMethod<'a>,
    pub(crate) identity: Identity,
    /// The ARNs of the secrets of the controller's token and of the authority.
    pub(crate) secrets: (String, String),
    /// ECS, where Consul runs in a task.
    pub(crate) ecs: Recorder,
    pub(crate) binary: String,
    pub(crate) made: usize,
}

impl FirstEvents<'_> {
    /// Starts the function for one event, with AWS and Consul this far away.
    pub(crate) async fn measure(&mut self, event: Event, setup: Setup, round_trip: Duration) -> Measured {
        self.made += 1;
        let (event, gone) = self.event(event).await;
        let relay = |server| Relay::before(server, &self.identity, round_trip);
        // On AWS, each service has a host of its own.
        let aws = &self.world.aws.endpoint;
        let (ecs, secrets, others) = (relay(&self.ecs.url).await, relay(aws).await, relay(aws).await);
        let consul = relay(&self.world.consul.address).await;
        let port = consul.url.rsplit(':').next().expect("a port");
        let address = match setup {
            Setup::EcsTask => format!("ecs://{SERVERS}/{SERVERS}:{port}?scheme=https"),
            Setup::CaSecret | Setup::SystemRoots => consul.url.clone(),
        };
        let roots = self.roots();
        let cluster = self.world.cluster();
        let mut variables = self.variables(&address, &cluster, &roots);
        variables.extend([
            ("AWS_ENDPOINT_URL", others.url.as_str()),
            ("AWS_ENDPOINT_URL_ECS", ecs.url.as_str()),
            ("AWS_ENDPOINT_URL_SECRETS_MANAGER", secrets.url.as_str()),
            // What the function printed is shown if an assertion fails.
            ("LOG_LEVEL", "debug"),
        ]);
        if setup != Setup::SystemRoots {
            variables.push(("CONSUL_CACERT_SECRET_ARN", self.secrets.1.as_str()));
        }
        if setup == Setup::EcsTask {
            // The certificate has no address.
            variables.push(("CONSUL_TLS_SERVER_NAME", "localhost"));
        }
        let runtime = RuntimeApi::start(vec![batch_of(&event)]).await;
        let started = Instant::now();
        let function = Function::start(&self.binary, &runtime, &variables);
        let answer = runtime.answers(1).await.remove(0);
        let printed = function.end();
        assert!(answer.uri.ends_with("/response"), "{}\n{printed}", answer.body);
        assert_eq!(answer.json()["batchItemFailures"], json!([]), "{printed}");
        if let Some(gone) = gone {
            let left = self.world.service_ids().await;
            assert!(!left.iter().any(|id| id.contains(&gone)), "{gone} is still registered: {left:?}\n{printed}");
        }
        let asked = runtime.0.requests().remove(0).at;
        let connections = [ecs, secrets, others, consul].map(|relay| relay.connections());
        Measured { init: asked - started, event: answer.at - asked, connections }
    }

    /// The settings of the function, without the endpoints of AWS. It trusts the certificates in the file `roots`.
    pub(crate) fn variables<'v>(
        &'v self,
        consul: &'v str,
        cluster: &'v str,
        roots: &'v Path,
    ) -> Vec<(&'static str, &'v str)> {
        vec![
            ("SSL_CERT_FILE", roots.to_str().expect("a path in UTF-8")),
            ("CONSUL_HTTP_ADDR", consul),
            ("CONSUL_HTTP_TOKEN_SECRET_ARN", &self.secrets.0),
            ("ECS_CLUSTER_ARNS", cluster),
            ("SECRET_NAME_PREFIX", self.world.prefix),
            ("QUEUE_URL", &self.world.deployed.queue_url),
            ("TIME_BOUNDS", TIME_BOUNDS),
        ]
    }

    /// A file with the certificates that the function trusts.
    pub(crate) fn roots(&self) -> PathBuf {
        let roots = scratch::directory().join("authority.pem");
        std::fs::write(&roots, &self.identity.authority).expect("a file");
        roots
    }

    /// A new event, and the ID of the task that it must remove from the catalog.
    pub(crate) async fn event(&self, event: Event) -> (Value, Option<String>) {
        let (world, service) = (&self.world, self.world.service());
        match event {
            Event::LegacyStart => {
                let definition = world.mesh_definition(&format!("{service}-{}", self.made)).await;
                let task = world.run(&definition).await;
                return (world.event(&task).await, None);
            }
            Event::LegacyStop => {
                let definition = world.mesh_definition(&service).await;
                let task = world.run(&definition).await;
                world.register_instance(&service, &task).await;
                world.stop(&task).await;
                return (world.event(&task).await, Some(task_id(&task).to_owned()));
            }
            Event::Stop | Event::ToldToStop | Event::Start => {}
        }
        let definition = world.dataplane_definition(&service).await;
        let task = world.run(&definition).await;
        if let Event::Start = event {
            return (world.event(&task).await, None);
        }
        world.register_instance(&service, &task).await;
        self.method.log_in_task(&service, &world.cluster(), task_id(&task)).await;
        if let Event::ToldToStop = event {
            return (world.event_as(&task, "RUNNING", "STOPPED", 4).await, None);
        }
        world.stop(&task).await;
        (world.event(&task).await, Some(task_id(&task).to_owned()))
    }
}

pub(crate) fn batch_of(event: &Value) -> Value {
    batch_of_all(std::slice::from_ref(event))
}

pub(crate) fn batch_of_all(events: &[Value]) -> Value {
    let record = |(number, event): (usize, &Value)| {
        json!({
            "messageId": number.to_string(),
            "receiptHandle": number.to_string(),
            "body": event.to_string(),
            "attributes": { "ApproximateReceiveCount": "1" },
            "eventSource": "aws:sqs",
        })
    };
    json!({ "Records": events.iter().enumerate().map(record).collect::<Vec<Value>>() })
}
