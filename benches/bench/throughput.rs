//! How many stops one environment handles in a second, in batches of different sizes, and what a stop costs Consul: a real server with
//! many tokens, without TLS and distance.

use std::time::Duration;

use futures::{StreamExt, stream};
use local_stack::{
    pids,
    world::{World, documented_policy, task_id},
};
use serde_json::{Value, json};
use test_harness::function::{Function, RuntimeApi};

use crate::first_event::batch_of_all;

/// The tokens of other tasks in Consul.
pub(crate) const TOKENS: usize = 10_000;
/// The stops of a run, after one that reads the task definitions.
const STOPS: usize = 320;
/// The services of the stopped tasks.
const SERVICES: usize = 8;
/// Each task has logged in twice: to register, and in its dataplane.
const LOGINS: usize = 2;
/// Concurrent requests to Consul while the installation is made.
const AT_ONCE: usize = 16;

/// An installation whose tasks stop.
pub(crate) struct Throughput<'a> {
    world: World<'a>,
    /// The events of one stopped task of each service.
    stops: Vec<(String, Value)>,
    token: String,
    binary: String,
    /// The tasks so far.
    made: usize,
}

/// The result of one run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rate {
    pub(crate) stops_a_second: f64,
    /// Consul's processor time for each stop.
    pub(crate) consul: Duration,
}

impl Throughput<'static> {
    pub(crate) async fn prepare(binary: &str) -> Self {
        let world = World::without_deployment("throughput").await;
        world.create_node().await;
        let token = world.consul.token_with_rules("controller-throughput", &documented_policy()).await.secret_id;
        let mut stops = Vec::new();
        for number in 0..SERVICES {
            let service = format!("throughput-{number}");
            let task = world.run(&world.dataplane_definition(&service).await).await;
            stops.push((service, world.event_as(&task, "STOPPED", "STOPPED", 6).await));
        }
        let this = Self { world, stops, token, binary: binary.to_owned(), made: 0 };
        this.log_in((0..TOKENS).map(|number| ("throughput-other".to_owned(), other_task(number)))).await;
        this
    }
}

impl Throughput<'_> {
    /// Handles as many stops in batches of this size as one environment can.
    pub(crate) async fn run(&mut self, batch: usize) -> Rate {
        let stopped = self.stopped_tasks(STOPS + 1).await;
        let (first, others) = stopped.split_first().expect("a task");
        let batches: Vec<Value> =
            [std::slice::from_ref(first)].into_iter().chain(others.chunks(batch)).map(batch_of_all).collect();
        let count = batches.len();
        let runtime = RuntimeApi::start(batches).await;
        let cluster = self.world.cluster();
        let function = Function::start(
            &self.binary,
            &runtime,
            &[
                ("AWS_ENDPOINT_URL", self.world.aws.endpoint.as_str()),
                ("CONSUL_HTTP_ADDR", &self.world.consul.address),
                ("CONSUL_HTTP_TOKEN", &self.token),
                ("ECS_CLUSTER_ARNS", &cluster),
                ("SECRET_NAME_PREFIX", self.world.prefix),
                ("QUEUE_URL", &self.world.deployed.queue_url),
                ("LOG_LEVEL", "warn"),
            ],
        );
        let consul = self.world.consul.pid();
        runtime.answers(1).await;
        let before = pids::processor_time(consul).expect("Consul runs");
        let answers = runtime.answers(count).await;
        let consul = pids::processor_time(consul).expect("Consul runs").saturating_sub(before);
        let printed = function.end();
        assert!(answers.iter().all(|answer| answer.json()["batchItemFailures"] == json!([])), "{printed}");
        let left = self.world.service_ids().await;
        assert_eq!(left, [""; 0], "{printed}");
        let (start, end) = (answers[0].at, answers[count - 1].at);
        #[expect(clippy::cast_precision_loss, reason = "a few hundred")]
        let stops_a_second = STOPS as f64 / (end - start).as_secs_f64();
        Rate { stops_a_second, consul: consul / u32::try_from(STOPS).expect("a few hundred") }
    }

    /// The events of new stopped tasks, which have registered and logged in.
    async fn stopped_tasks(&mut self, count: usize) -> Vec<Value> {
        let tasks: Vec<(String, Value)> = (0..count)
            .map(|number| {
                let (service, event) = &self.stops[number % SERVICES];
                let old = task_id(event["detail"]["taskArn"].as_str().expect("an ARN")).to_owned();
                let new = format!("{:032x}", self.made + number);
                let event = event.to_string().replace(&old, &new);
                (service.clone(), serde_json::from_str(&event).expect("JSON"))
            })
            .collect();
        self.made += count;
        let arn = |event: &Value| event["detail"]["taskArn"].as_str().expect("an ARN").to_owned();
        let world = &self.world;
        let register = |(service, event): &(String, Value)| {
            let (service, task) = (service.clone(), arn(event));
            async move { world.register_instance(&service, &task).await }
        };
        stream::iter(tasks.iter().map(register)).buffer_unordered(AT_ONCE).collect::<Vec<()>>().await;
        let logins = tasks.iter().flat_map(|task| vec![task; LOGINS]);
        self.log_in(logins.map(|(service, event)| (service.clone(), arn(event)))).await;
        tasks.into_iter().map(|(_, event)| event).collect()
    }

    async fn log_in(&self, tasks: impl Iterator<Item = (String, String)>) {
        let world = &self.world;
        let log_in = |(service, task): (String, String)| async move { world.token_as_of_login(&service, &task).await };
        stream::iter(tasks.map(log_in)).buffer_unordered(AT_ONCE).for_each(async |_| ()).await;
    }
}

/// The ID of a task that runs elsewhere.
fn other_task(number: usize) -> String {
    format!("f{number:031x}")
}
