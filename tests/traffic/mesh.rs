//! The mesh of a scene: one task `web`, which sends requests, and three tasks `api`, which answer them.

use std::{
    net::Ipv4Addr,
    time::{Duration, Instant},
};

use local_stack::{
    aws::Aws,
    consul::Consul,
    deploy::install,
    ports,
    wait::{SOON, eventually},
    world::{World, documented_policy},
};
use serde_json::{Value, json};
use test_harness::ecs_agent::DataplaneTask;

use crate::{load::Load, programs::Programs, task::Task};

/// From the death of a container or a task to ECS's event: an assumption.
pub(crate) const ECS_DELAY: Duration = Duration::from_millis(1_500);
/// How long no request may fail before a scene begins.
const CALM: Duration = Duration::from_secs(2);
/// The tasks that answer.
const TASKS: usize = 3;
/// The cluster, the stack, and the prefix of its secrets.
const NAME: &str = "traffic";

pub(crate) struct Mesh {
    pub(crate) world: &'static World<'static>,
    pub(crate) programs: &'static Programs,
    /// Consul's ports.
    pub(crate) http: u16,
    pub(crate) grpc: u16,
    /// Whether ECS's events reach the controller.
    pub(crate) has_controller: bool,
    pub(crate) api: Vec<Task>,
    /// Tasks `api` that have lost a program.
    broken: Vec<Task>,
    /// Where `web` reaches `api`.
    upstream: u16,
    last_address: u8,
}

impl Mesh {
    /// Starts everything. The second part is the task `web`, which runs as long as it is held.
    pub(crate) async fn start(programs: Programs) -> (Self, Task) {
        // What the tasks and their events use lives as long as the process.
        let (aws, (consul, grpc)) = tokio::join!(Aws::start(), Consul::start_for_proxies());
        let (aws, consul): (&'static Aws, &'static Consul) = (Box::leak(Box::new(aws)), Box::leak(Box::new(consul)));
        let token = consul.token_with_rules(NAME, &documented_policy()).await;
        let deployed = install(aws, &consul.address, NAME, &[NAME], &token.secret_id, &[]).await.expect("a stack");
        let world: &'static World<'static> =
            Box::leak(Box::new(World { aws, consul, deployed, name: NAME, prefix: NAME }));
        let http = consul.address.rsplit(':').next().and_then(|port| port.parse().ok()).expect("a port");
        let mut mesh = Self {
            world,
            programs: Box::leak(Box::new(programs)),
            http,
            grpc,
            has_controller: true,
            api: Vec::new(),
            broken: Vec::new(),
            upstream: ports::reserve(),
            last_address: 10,
        };
        mesh.fill().await;
        let upstreams = json!([{ "destinationName": "api", "localBindPort": mesh.upstream }]);
        let web = Task::start(&mut mesh, "web", &upstreams).await;
        (mesh, web)
    }

    /// An address on loopback that no task has had.
    pub(crate) fn next_address(&mut self) -> Ipv4Addr {
        self.last_address = self.last_address.checked_add(1).expect("fewer than 245 tasks");
        Ipv4Addr::new(127, 0, 0, self.last_address)
    }

    /// Starts tasks until there are three, and waits until Consul has these three alone.
    pub(crate) async fn fill(&mut self) {
        for task in std::mem::take(&mut self.broken) {
            task.kill(self).await;
        }
        let gone = self.instances().await;
        let kept: Vec<String> = self.api.iter().map(|task| task.ecs.id().to_owned()).collect();
        for instance in gone.iter().filter(|instance| !kept.iter().any(|id| instance.0.contains(id))) {
            let body = json!({ "Node": instance.1, "ServiceID": instance.0 });
            self.world.consul.put("/v1/catalog/deregister", &body).await;
        }
        while self.api.len() < TASKS {
            self.add_task().await;
        }
        eventually("three tasks that pass", SOON, || async {
            let passing = self.passing().await;
            if passing == TASKS { Ok(()) } else { Err(format!("{passing} pass")) }
        })
        .await;
    }

    /// Starts one more task `api`.
    pub(crate) async fn add_task(&mut self) {
        let task = Task::start(self, "api", &json!([])).await;
        self.api.push(task);
    }

    /// Keeps what is left of a task running until the scene is over.
    pub(crate) fn end_later(&mut self, task: Task) {
        self.broken.push(task);
    }

    /// The IDs of the proxies of `api` in Consul and of their services, with their nodes.
    async fn instances(&self) -> Vec<(String, Value)> {
        let mut found = Vec::new();
        for service in ["api", "api-sidecar-proxy"] {
            let answer = self.world.consul.get(&format!("/v1/catalog/service/{service}")).await;
            let instances = answer.as_array().expect("instances").iter();
            found.extend(
                instances.map(|it| (it["ServiceID"].as_str().unwrap_or_default().to_owned(), it["Node"].clone())),
            );
        }
        found
    }

    /// How many tasks Envoy may send requests to.
    pub(crate) async fn passing(&self) -> usize {
        let answer = self.world.consul.get("/v1/health/connect/api?passing").await;
        answer.as_array().map_or(0, Vec::len)
    }

    /// Delivers the event of the task's current state after a delay, if there is a controller.
    pub(crate) async fn event_of(&self, task: &DataplaneTask<'static>, after: Duration) {
        if !self.has_controller {
            return;
        }
        let (world, event) = (self.world, self.world.event(&task.arn).await);
        tokio::spawn(async move {
            tokio::time::sleep(after).await;
            world.deliver(&[event]).await;
        });
    }

    /// Sends requests, and waits until none has failed for a while.
    pub(crate) async fn load(&self) -> Load {
        let url = format!("http://127.0.0.1:{}/", self.upstream);
        let start = Instant::now();
        loop {
            let load = Load::start(&url);
            tokio::time::sleep(CALM).await;
            if load.failed() == 0 {
                return load;
            }
            assert!(start.elapsed() < SOON, "requests fail although nothing has ended");
        }
    }
}
