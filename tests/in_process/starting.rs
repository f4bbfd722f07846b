//! The start of a function: what it reads and connects to before its first event.

use std::{collections::BTreeMap, time::Instant};

use aws::sdk;
use aws_config::timeout::TimeoutConfig;
use controller::{Controller, Delivery, settings::Settings};
use ecs_mesh_controller::wiring::{self, Clients};
use local_stack::world::{World, task_id};
use observe::Deadline;
use serde_json::{Value, json};
use test_harness::{
    jwt::JwtAuthMethod,
    recorder::{Answer, RecordedRequest, Recorder},
    tls::certificate_for,
};

use crate::{
    environment::{aws, consul_call, without_time_limits},
    time::LONG,
};

/// Lambda's variables and the function's settings.
fn variables(world: &World<'_>, aws: &str, consul: &str, secret: &str) -> BTreeMap<&'static str, String> {
    BTreeMap::from([
        ("AWS_REGION", "us-east-1".to_owned()),
        ("AWS_ACCESS_KEY_ID", "test".to_owned()),
        ("AWS_SECRET_ACCESS_KEY", "test".to_owned()),
        ("AWS_ENDPOINT_URL", aws.to_owned()),
        ("CONSUL_HTTP_ADDR", consul.to_owned()),
        ("CONSUL_HTTP_TOKEN_SECRET_ARN", secret.to_owned()),
        ("ECS_CLUSTER_ARNS", world.cluster()),
        ("SECRET_NAME_PREFIX", world.prefix.to_owned()),
        ("QUEUE_URL", world.deployed.queue_url.clone()),
    ])
}

/// The servers that a function calls. On AWS, each service has a host of its own.
struct Servers {
    ecs: Recorder,
    secrets: Recorder,
    others: Recorder,
    consul: Recorder,
}

impl Servers {
    /// Servers where Consul also runs in the only task of the family `consul` in the cluster `infra`.
    async fn start(world: &World<'_>) -> Self {
        let ecs = aws(|seen, _| match (seen.json()["cluster"] == "infra", seen.operation().as_deref()) {
            (true, Some("ListTasks")) => Answer::ok(json!({ "taskArns": ["consul-1"] }).to_string()),
            (true, Some("DescribeTasks")) => {
                let interface = json!({ "name": "privateIPv4Address", "value": "127.0.0.1" });
                let attachment =
                    json!({ "type": "ElasticNetworkInterface", "status": "ATTACHED", "details": [interface] });
                let task = json!({ "taskArn": "consul-1", "lastStatus": "RUNNING", "attachments": [attachment] });
                Answer::ok(json!({ "tasks": [task] }).to_string())
            }
            _ => Answer::Forward,
        });
        Self {
            ecs: ecs.await,
            secrets: aws(|_, _| Answer::Forward).await,
            others: aws(|_, _| Answer::Forward).await,
            consul: Recorder::before(&world.consul.address, |_, _| Answer::Forward).await,
        }
    }

    /// The requests since the last call of this function, in the order in which they arrived.
    fn requests(&self) -> Vec<String> {
        let operation = |seen: &RecordedRequest| seen.operation().unwrap_or_else(|| seen.line());
        let mut all: Vec<(Instant, String)> = Vec::new();
        for server in [&self.ecs, &self.secrets, &self.others] {
            all.extend(server.requests().iter().map(|seen| (seen.at, operation(seen))));
            server.forget();
        }
        all.extend(self.consul.requests().iter().map(|seen| (seen.at, consul_call(seen))));
        self.consul.forget();
        all.sort();
        all.into_iter().map(|(_, request)| request).collect()
    }

    /// The connections so far: to ECS, to Secrets Manager, to other services of AWS, and to Consul.
    fn connections(&self) -> [usize; 4] {
        [&self.ecs, &self.secrets, &self.others, &self.consul].map(Recorder::connections)
    }
}

/// What happens first in a new environment, and how the function finds Consul.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum First {
    Stop,
    StopWithCaSecret,
    StopWithServersInEcs,
    LegacyStop,
    ToldToStop,
    Start,
    LegacyStart,
}

/// Requests in the order in which they wait for each other. Within a step, they do not, or only in part.
type Steps = &'static [&'static [&'static str]];

/// Requests of one step, each pair in this order: the second needs what the first reads.
const WAITS: [(&str, &str); 2] = [("ListTasks", "DescribeTasks"), ("DescribeTasks", "GET status/leader")];

/// A row of the table in docs/explanation/performance.md.
struct Row {
    world: &'static str,
    first: First,
    start: Steps,
    /// The connections that the start opens, as [`Servers::connections`] counts them.
    connections: [usize; 4],
    event: Steps,
    /// The most connections that the event opens.
    further: [usize; 4],
}

const START: Steps = &[&["GET status/leader", "GET status/leader", "GetSecretValue", "ListClusters"]];
const STOP: Steps =
    &[&["DescribeTaskDefinition"], &["GET acl/tokens", "GET catalog/node-services"], &["DELETE acl/token", "PUT txn"]];

/// A stop: each row says what differs.
const ROW: Row =
    Row { world: "", first: First::Stop, start: START, connections: [1, 1, 0, 2], event: STOP, further: [0, 0, 0, 0] };

const ROWS: [Row; 7] = [
    Row { world: "first-stop", ..ROW },
    Row { world: "first-ca", first: First::StopWithCaSecret, start: &[&["GetSecretValue"], START[0]], ..ROW },
    Row {
        world: "first-ecs",
        first: First::StopWithServersInEcs,
        start: &[&[
            "DescribeTasks",
            "GET status/leader",
            "GET status/leader",
            "GetSecretValue",
            "ListClusters",
            "ListTasks",
        ]],
        connections: [2, 1, 0, 2],
        ..ROW
    },
    Row {
        world: "first-legacy-stop",
        first: First::LegacyStop,
        event: &[
            &["DescribeTaskDefinition"],
            &["GET acl/tokens", "GET catalog/node-services"],
            &["PUT txn", "SendMessageBatch"],
        ],
        further: [0, 0, 1, 0],
        ..ROW
    },
    Row {
        world: "first-told",
        first: First::ToldToStop,
        event: &[
            &["DescribeTaskDefinition"],
            &["GET catalog/node-services", "GET health/node"],
            &["PUT catalog/register"],
        ],
        ..ROW
    },
    Row {
        world: "first-start",
        first: First::Start,
        event: &[&["DescribeTaskDefinition"], &["GET catalog/nodes"]],
        ..ROW
    },
    Row {
        world: "first-legacy-start",
        first: First::LegacyStart,
        event: &[
            &["DescribeTaskDefinition"],
            // Each of the two tokens is created at its own pace.
            &[
                "CreateSecret",
                "CreateSecret",
                "GET catalog/nodes",
                "GetSecretValue",
                "GetSecretValue",
                "PUT acl/policy",
                "PUT acl/token",
                "PUT acl/token",
            ],
            &["PutEvents"],
        ],
        // A request opens a connection if none is idle, and the answers to others may come later. Secrets Manager gets four requests
        // over the connection of the start, Consul gets four over two.
        further: [0, 3, 1, 2],
        ..ROW
    },
];

/// Requests that arrived in this order, divided into steps as expected; the last has those that are too many.
fn in_steps(requests: &[String], expected: Steps) -> Vec<Vec<String>> {
    let mut left = requests;
    let mut steps = Vec::new();
    for (index, step) in expected.iter().enumerate() {
        let is_last = index + 1 == expected.len();
        let (of_this, after) = left.split_at(if is_last { left.len() } else { step.len().min(left.len()) });
        let mut of_this = of_this.to_vec();
        of_this.sort();
        steps.push(of_this);
        left = after;
    }
    steps
}

/// A new event, and the task that it is about.
async fn event(world: &World<'_>, method: &JwtAuthMethod<'_>, first: First) -> Value {
    let service = world.service();
    let reads_tokens = matches!(first, First::LegacyStop | First::LegacyStart);
    let definition =
        if reads_tokens { world.mesh_definition(&service).await } else { world.dataplane_definition(&service).await };
    let task = world.run(&definition).await;
    if matches!(first, First::Start | First::LegacyStart) {
        return world.event(&task).await;
    }
    world.register_instance(&service, &task).await;
    if first == First::ToldToStop {
        return world.event_as(&task, "RUNNING", "STOPPED", 4).await;
    }
    if !reads_tokens {
        method.log_in_task(&service, &world.cluster(), task_id(&task)).await;
    }
    world.stop(&task).await;
    world.event(&task).await
}

#[tokio::test]
async fn the_first_event_finds_its_connections_open() {
    for row in ROWS {
        // Given an event
        let world = World::without_deployment(row.world).await;
        world.create_node().await;
        let method = JwtAuthMethod::create(world.consul, row.world).await;
        let servers = Servers::start(&world).await;
        let secret = world.aws.create_secret(&format!("{}-token", row.world), &world.consul.management_token).await;
        let mut variables = variables(&world, &servers.others.url, &servers.consul.url, &secret);
        variables.insert("AWS_ENDPOINT_URL_ECS", servers.ecs.url.clone());
        variables.insert("AWS_ENDPOINT_URL_SECRETS_MANAGER", servers.secrets.url.clone());
        let mut settings = Settings::read(|name| variables.get(name).cloned()).expect("settings");
        // Both without TLS, which settings do not permit
        if row.first == First::StopWithCaSecret {
            let authority = certificate_for("localhost").authority;
            let arn = world.aws.create_secret(&format!("{}-authority", row.world), &authority).await;
            settings.ca_certificate_secret = Some(arn);
        }
        if row.first == First::StopWithServersInEcs {
            let port = servers.consul.url.rsplit(':').next().expect("a port");
            settings.consul_addresses = format!("ecs://infra/consul:{port}").parse().expect("an address");
        }
        let sdk = sdk::of_function(move |name| variables.get(name).cloned());
        // A call that times out would be repeated
        let sdk = sdk.into_builder().timeout_config(TimeoutConfig::disabled()).build();
        // When the function starts
        let clients = Clients::new(&settings, &sdk, without_time_limits()).await.expect("clients");
        clients.open_connections().await;
        // Then it reads its token, and connects to what the event needs
        let requests = servers.requests();
        assert_eq!(in_steps(&requests, row.start), row.start, "{}", row.world);
        for (first, then) in WAITS {
            let last_of_first = requests.iter().rposition(|request| request == first);
            let then = requests.iter().position(|request| request == then);
            assert!(then.is_none_or(|then| last_of_first < Some(then)), "{}: {requests:?}", row.world);
        }
        assert_eq!(servers.connections(), row.connections, "{}", row.world);
        // And the event makes no other requests than its own
        let body = event(&world, &method, row.first).await.to_string();
        let delivery = Delivery { id: "1".to_owned(), receipt: None, receives: 1, body };
        let report = Controller::new(settings.scope, clients.edges).handle(&[delivery], Deadline::after(LONG)).await;
        assert!(report.failures.is_empty(), "{}: {:?}", row.world, report.failures);
        assert_eq!(in_steps(&servers.requests(), row.event), row.event, "{}", row.world);
        let all = servers.connections();
        for ((all, before), further) in all.into_iter().zip(row.connections).zip(row.further) {
            assert!(all <= before + further, "{}: {all} instead of {before} and {further} more", row.world);
        }
    }
}

#[tokio::test]
async fn a_start_does_not_depend_on_its_connections() {
    let world = World::without_deployment("refused").await;
    let secret = "arn:aws:secretsmanager:us-east-1:000000000000:secret:token-AbCdEf";
    // Given servers that refuse connections, at a port that was free a moment ago, and one that never answers
    let refusing = format!("http://127.0.0.1:{}", local_stack::ports::reserve());
    let silent = Recorder::start(|_, _| Answer::Hang).await;
    for url in [&refusing, &silent.url] {
        let variables = variables(&world, url, url, secret);
        // When the function starts, then it gets ready for events, which report what is wrong
        let started = wiring::start(Ok(()), without_time_limits(), move |name| variables.get(name).cloned()).await;
        assert!(started.is_ok(), "{:?}", started.err());
    }
}
