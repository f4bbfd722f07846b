//! The scenes of the demo: something happens in ECS, its event reaches the queue, and the controller reacts.

use std::time::{Duration, Instant};

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::timeline::{Actor, Timeline};
use local_stack::{
    deploy::delete,
    wait::{SOON, eventually},
    world::{Definition, Pair, World, task_id},
};

/// A service of consul-ecs 0.2 to 0.4: its tasks read a token from Secrets Manager.
const SERVICE: &str = "demo-web";
/// A service of consul-ecs 0.7 to 0.10, in the same cluster: its tasks log in.
const LOGIN_SERVICE: &str = "demo-api";

/// The secret that all Consul client agents read.
const CLIENT_SECRET: &str = "mesh-consul-client-token";

/// The last and the desired status of a task that starts, and of one that is told to stop.
const STARTING: (&str, &str) = ("PROVISIONING", "RUNNING");
const STOPPING: (&str, &str) = ("RUNNING", "STOPPED");

pub(crate) struct Demo<'a> {
    pub(crate) world: World<'a>,
    pub(crate) timeline: Timeline,
    definition: Option<Definition>,
    /// The number of log lines of the function that were printed.
    shown: usize,
}

impl<'a> Demo<'a> {
    pub(crate) fn new(world: World<'a>, timeline: Timeline) -> Self {
        Self { world, timeline, definition: None, shown: 0 }
    }

    pub(crate) async fn a_task_outside_the_mesh(&mut self) {
        Timeline::chapter("A task that is not in the mesh starts");
        let report = self.world.definition("demo-nightly-report", &json!([]), None).await;
        let task = self.world.run(&report).await;
        self.ecs(&task, "demo-nightly-report", "RUNNING");
        let start = self.deliver(&self.world.event(&task).await).await;
        self.world.events_handled().await;
        self.done("event of a task outside the mesh dismissed", start.elapsed()).await;
        assert!(
            self.world.tokens_about("demo-nightly-report").await.is_empty(),
            "no token for a task outside the mesh"
        );
    }

    pub(crate) async fn a_task_that_logs_in(&mut self) -> String {
        Timeline::chapter("A task of consul-ecs 0.7 to 0.10 starts: its definition reads no token, because it logs in");
        let task = self.world.run(&self.world.dataplane_definition(LOGIN_SERVICE).await).await;
        let start = self.reported(&task, LOGIN_SERVICE, STARTING, 1).await;
        self.world.events_handled().await;
        self.reacted("start of a task that logs in: nothing to do", start.elapsed()).await;
        self.join_mesh(LOGIN_SERVICE, &task).await;
        self.print_state().await;
        assert!(self.world.tokens_about(LOGIN_SERVICE).await.is_empty(), "no token for a task that logs in");
        task
    }

    pub(crate) async fn the_task_that_logs_in_stops(&mut self, task: &str) {
        Timeline::chapter("The task that logs in is told to stop, and stops");
        let start = self.reported(task, LOGIN_SERVICE, STOPPING, 2).await;
        self.drained(task).await;
        self.reacted("task that logs in told to stop: in maintenance mode", start.elapsed()).await;
        let start = self.stopped(task, LOGIN_SERVICE).await;
        self.services_left(LOGIN_SERVICE, 0).await;
        self.done("task that logs in stopped: services deregistered", start.elapsed()).await;
    }

    pub(crate) async fn the_first_task_of_a_service(&mut self) -> String {
        Timeline::chapter("The first task of a service of consul-ecs 0.2 to 0.4 starts: its definition reads a token");
        let definition = self.world.mesh_definition(SERVICE).await;
        let task = self.world.run(&definition).await;
        let start = self.reported(&task, SERVICE, STARTING, 1).await;
        self.world.provisioned(&self.secret()).await;
        self.world.provisioned(CLIENT_SECRET).await;
        self.reacted("first start: tokens in Consul and in Secrets Manager", start.elapsed()).await;
        self.definition = Some(definition);
        self.join_mesh(SERVICE, &task).await;
        self.print_state().await;
        task
    }

    pub(crate) async fn a_second_task(&mut self) -> String {
        Timeline::chapter("A second task of the service starts: the token exists");
        let before = self.world.pair(&self.secret()).await;
        let definition = self.definition.clone().expect("the first task came before");
        let task = self.world.run(&definition).await;
        self.ecs(&task, SERVICE, "RUNNING");
        let start = self.deliver(&self.world.event(&task).await).await;
        self.world.events_handled().await;
        self.reacted("second start: no change", start.elapsed()).await;
        self.join_mesh(SERVICE, &task).await;
        self.print_state().await;
        assert_eq!(self.world.pair(&self.secret()).await, before, "the token is unchanged");
        task
    }

    pub(crate) async fn a_task_is_told_to_stop(&mut self, task: &str) {
        Timeline::chapter("A task is told to stop: traffic drains while it finishes");
        let start = self.reported(task, SERVICE, STOPPING, 2).await;
        self.drained(task).await;
        self.done("told to stop: in maintenance mode", start.elapsed()).await;
    }

    pub(crate) async fn a_task_stops(&mut self, task: &str) {
        Timeline::chapter("The task is STOPPED: its services are deregistered, and the other task is unaffected");
        let start = self.stopped(task, SERVICE).await;
        self.services_left(SERVICE, 2).await;
        self.reacted("stopped: services and checks deregistered", start.elapsed()).await;
        self.world.settled().await;
        self.print_state().await;
        self.world.provisioned(&self.secret()).await;
    }

    pub(crate) async fn the_last_task_stops(&mut self, task: &str, grace: Duration) -> Pair {
        Timeline::chapter("The last task stops: after the grace period the service's token is revoked");
        let stolen = self.world.pair(&self.secret()).await.expect("a token");
        let start = self.stopped(task, SERVICE).await;
        self.services_left(SERVICE, 0).await;
        self.reacted("last task stopped: services deregistered", start.elapsed()).await;
        self.world.hidden(&self.secret()).await;
        let after_grace = start.elapsed().saturating_sub(grace);
        let what = format!("token hidden from new tasks, after the grace period of {} s", grace.as_secs());
        self.reacted(&what, after_grace).await;
        let hidden = Instant::now();
        self.world.emptied(&self.secret()).await;
        self.world.revoked(&stolen).await;
        self.done("hidden token deleted, once ECS would list every task", hidden.elapsed()).await;
        assert!(!self.world.is_valid(&stolen.token).await, "a stolen copy of the token is refused");
        self.timeline.say(Actor::Consul, "a stolen copy of the token is refused");
        stolen
    }

    pub(crate) async fn the_service_comes_back(&mut self, stolen: &Pair) {
        Timeline::chapter("The service starts again: it gets a new secret, and the stolen one stays invalid");
        let definition = self.definition.clone().expect("the first task came before");
        let task = self.world.run(&definition).await;
        let start = self.reported(&task, SERVICE, STARTING, 1).await;
        let new = self.world.provisioned(&self.secret()).await;
        self.done("restart: a new token", start.elapsed()).await;
        assert_ne!(new.token, stolen.token, "the new token has a new secret");
        assert!(!self.world.is_valid(&stolen.token).await, "the stolen token stays invalid");
    }

    pub(crate) async fn a_gone_task_is_swept(&mut self) {
        Timeline::chapter(
            "A task that ECS no longer knows is still in the catalog, and no event will report it: a sweep",
        );
        let gone = format!("arn:aws:ecs:us-east-1:000000000000:task/demo/{}", "0".repeat(32));
        self.world.register_instance(SERVICE, &gone).await;
        self.timeline.say(Actor::Consul, &format!("catalog: {} services", self.world.service_ids().await.len()));
        let start = Instant::now();
        let cluster = self.world.swept().await;
        let waiting = cluster["waiting"].as_array().map_or(0, Vec::len);
        let found = format!("sweep: found {}; {waiting} removals wait for a second look at ECS", cluster["found"]);
        self.timeline.say(Actor::Controller, &found);
        self.services_left(SERVICE, 0).await;
        let what = "sweep on demand and its second look: the services of a task that is gone are deregistered";
        self.done(what, start.elapsed()).await;
    }

    pub(crate) async fn the_stack_is_deleted(&mut self, stack: &str) {
        Timeline::chapter("The stack is deleted, with CleanupOnDelete: nothing of the controller is left in Consul");
        let tokens = self.world.tokens_about("Token for").await.len();
        self.timeline.say(Actor::Consul, &format!("before: {tokens} tokens of the controller, and the cluster's node"));
        let start = Instant::now();
        delete(self.world.aws, stack).await.expect("the stack is deleted");
        self.timeline.reacted("stack deleted", start.elapsed());
        let nodes = self.world.consul.get("/v1/catalog/nodes").await;
        let names = nodes.as_array().expect("nodes").iter().filter_map(|node| node["Node"].as_str());
        let names: Vec<&str> = names.collect();
        assert!(!names.contains(&self.world.cluster().as_str()), "the synthetic node is gone");
        assert!(self.world.tokens_about("Token for").await.is_empty(), "no token of the controller is left");
        self.timeline.say(Actor::Consul, &format!("after: no token of the controller; nodes: {}", list(&names)));
    }

    /// Prints what the controller did, and how long it took.
    async fn reacted(&mut self, what: &str, took: Duration) {
        self.world.events_handled().await;
        self.controller_lines().await;
        self.timeline.reacted(what, took);
    }

    // ---- events ----

    fn ecs(&self, task: &str, family: &str, status: &str) {
        let id: String = task_id(task).chars().take(8).collect();
        self.timeline.say(Actor::Ecs, &format!("task {id}… of {family} is {status}"));
    }

    /// What the controller did, and what there is then.
    async fn done(&mut self, what: &str, took: Duration) {
        self.reacted(what, took).await;
        self.print_state().await;
    }

    /// The event that a task has these states, and when it was delivered.
    async fn reported(&self, task: &str, service: &str, (last, desired): (&str, &str), version: u64) -> Instant {
        let shown = if desired == "STOPPED" { format!("{last}, desired {desired}") } else { last.to_owned() };
        self.ecs(task, service, &shown);
        self.deliver(&self.world.event_as(task, last, desired, version).await).await
    }

    async fn stopped(&self, task: &str, service: &str) -> Instant {
        self.world.stop(task).await;
        self.ecs(task, service, "STOPPED");
        self.deliver(&self.world.event(task).await).await
    }

    async fn deliver(&self, event: &Value) -> Instant {
        self.world.deliver(std::slice::from_ref(event)).await;
        Instant::now()
    }

    /// The registrations of the task's containers once they have their token.
    async fn join_mesh(&self, service: &str, task: &str) {
        self.world.register_instance(service, task).await;
        self.timeline.say(Actor::Ecs, "its containers register the service and its sidecar proxy in Consul");
    }

    async fn drained(&self, task: &str) {
        eventually("it to get no more traffic", SOON, || async {
            let checks = self.world.checks_of(task).await;
            let drained = checks.iter().filter(|check| check["Type"] == "maintenance").count();
            if drained == 2 { Ok(()) } else { Err(format!("{drained} of 2 instances are in maintenance mode")) }
        })
        .await;
    }

    async fn services_left(&self, service: &str, wanted: usize) {
        eventually(&format!("{wanted} instances and proxies of {service} in the catalog"), SOON, || async {
            let left = self.registered(service).await;
            if left.len() == wanted { Ok(()) } else { Err(format!("{left:?}")) }
        })
        .await;
    }

    /// The IDs of a service's instances and sidecar proxies.
    async fn registered(&self, service: &str) -> Vec<String> {
        let all = self.world.service_ids().await;
        all.into_iter().filter(|id| id.starts_with(service)).collect()
    }

    // ---- state ----

    fn secret(&self) -> String {
        self.world.secret_name(SERVICE)
    }

    /// Prints the controller's log lines, and the state of Consul and Secrets Manager.
    async fn print_state(&mut self) {
        self.world.events_handled().await;
        self.controller_lines().await;
        let tokens = self.world.tokens_about("Token for").await;
        let holders = tokens.iter().filter_map(|token| token["Description"].as_str()?.lines().next());
        let holders: Vec<&str> = holders.map(|line| line.trim_start_matches("Token for ")).collect();
        self.timeline.say(Actor::Consul, &format!("tokens: {}", list(&holders)));
        let mut catalog = Vec::new();
        for service in [LOGIN_SERVICE, SERVICE] {
            let registered = self.registered(service).await;
            let instances = registered.iter().filter(|id| !id.ends_with("-sidecar-proxy")).count();
            catalog.push(format!("{service} × {instances}, its proxy × {}", registered.len() - instances));
        }
        self.timeline.say(Actor::Consul, &format!("catalog: {}", catalog.join(" · ")));
        let mut held = Vec::new();
        for name in [self.secret(), CLIENT_SECRET.to_owned()] {
            held.push(match self.world.is_empty(&name).await {
                None => format!("{name}: no such secret"),
                Some(true) => format!("{name}: empty"),
                Some(false) => format!("{name}: a token"),
            });
        }
        self.timeline.say(Actor::Secrets, &held.join(" · "));
    }

    /// Prints the lines that the function has logged since the last call, once its invocations have ended.
    async fn controller_lines(&mut self) {
        let lines = self.world.aws.logs(&self.world.deployed.log_group).await;
        for line in lines.iter().skip(self.shown) {
            let Ok(event) = serde_json::from_str::<Value>(line) else { continue };
            let Some(action) = event["action"].as_str() else { continue };
            let outcome = event["outcome"].as_str().unwrap_or_default();
            let about = ["holder", "service_id", "check_id", "service", "secret"];
            let about = about.iter().find_map(|field| event[*field].as_str()).unwrap_or_default();
            let moment = event["timestamp"].as_str().and_then(|at| at.parse().ok()).unwrap_or_else(Timestamp::now);
            self.timeline.say_of(moment, Actor::Controller, &format!("{action} {about}: {outcome}"));
        }
        self.shown = lines.len();
    }
}

fn list(items: &[&str]) -> String {
    if items.is_empty() { "none".to_owned() } else { items.join(", ") }
}
