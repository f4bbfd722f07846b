//! The scenes of the demo: something happens in ECS or in Consul, and the controller reacts.

use std::time::{Duration, Instant};

use local_stack::{
    consul::Token,
    deploy::delete,
    wait::{SOON, eventually},
    world::{World, mesh_tags},
};
use reqwest::Method;
use serde_json::{Value, json};
use test_harness::ecs_agent::{DataplaneService, DataplaneTask, MESH_INIT, Release};

use crate::{
    log::{Log, short},
    logins::Logins,
    timeline::{Actor, Timeline, reacted, seconds},
};

/// A service whose tasks come and go one at a time.
const API: &str = "demo-api";
/// A service with a dozen tasks.
const WEB: &str = "demo-web";
const WEB_TASKS: usize = 12;
/// What the impostor's role may be.
const BATCH: &str = "demo-batch";

/// The last and the desired status of a task that starts, and of one that is told to stop.
pub(crate) const STARTING: (&str, &str) = ("PROVISIONING", "RUNNING");
const STOPPING: (&str, &str) = ("RUNNING", "STOPPED");

pub(crate) struct Demo<'a> {
    pub(crate) world: &'a World<'a>,
    pub(crate) logins: Logins<'a>,
    pub(crate) timeline: Timeline,
    log: Log,
}

/// A service, with the IAM role of its tasks where they log in with one.
struct Service {
    name: &'static str,
    role: Option<String>,
    definition: DataplaneService,
}

impl<'a> Demo<'a> {
    pub(crate) async fn new(world: &'a World<'a>, logins: Logins<'a>) -> Self {
        let log = Log::from_now(world).await;
        Self { world, logins, timeline: Timeline::start(), log }
    }

    pub(crate) async fn a_task_starts_and_logs_in(&mut self) -> DataplaneTask<'a> {
        self.timeline.scene("A task of consul-ecs 0.10 starts, and logs in");
        let service = self.service(API).await;
        let task = service.definition.run(self.world).await;
        let start = self.reported(&task.arn, API, STARTING, 1).await;
        let took = start.elapsed();
        assert!(self.nodes().await.contains(&self.world.cluster()), "the cluster's node is in Consul");
        self.reacted(took, "the cluster's node is in Consul. No token to create: the task logs in").await;
        self.join(&service, &task).await;
        self.print_state(API).await;
        let ours = "makes sure of the cluster's node; nothing else to do".to_owned();
        self.timeline.outcome("A task logs in", ours, "nothing to do; reads all tasks and tokens every 10 s");
        task
    }

    pub(crate) async fn it_is_drained(&mut self, task: &DataplaneTask<'_>) {
        self.timeline.scene("It is told to stop: new requests go elsewhere, while it finishes its own");
        let start = self.reported(&task.arn, API, STOPPING, 2).await;
        eventually("it to get no more traffic", SOON, || async {
            let checks = self.world.checks_of(&task.arn).await;
            let drained = checks.iter().filter(|check| check["Type"] == "maintenance").count();
            if drained == 2 { Ok(()) } else { Err(format!("{drained} of 2 instances are in maintenance mode")) }
        })
        .await;
        let took = start.elapsed();
        assert_eq!((self.instances(API).await, self.login_tokens(task).await), (1, 1), "it keeps both");
        self.reacted(took, "drained. It keeps its registration and its token").await;
        self.print_state(API).await;
        assert_eq!(self.world.passing(API).await, [""; 0]);
        self.timeline.outcome(
            "A task is told to stop",
            format!("drains it after {}; it keeps its token until it has stopped", seconds(took)),
            "deregisters it and deletes its token while it still finishes requests",
        );
    }

    pub(crate) async fn it_stops(&mut self, task: &DataplaneTask<'_>) {
        self.timeline.scene("It has stopped, and was killed before it could deregister and log out");
        self.world.stop(&task.arn).await;
        self.ecs(&task.arn, API, "STOPPED");
        let start = self.deliver(&self.world.event(&task.arn).await).await;
        self.instances_left(API, 0).await;
        self.login_tokens_left(task, 0).await;
        let took = start.elapsed();
        self.reacted(took, "its services, checks and login token are gone").await;
        self.print_state(API).await;
        self.timeline.outcome(
            "A task stops",
            format!("removes what it left after {}", seconds(took)),
            "removes it after 5.6 s (9.9 s at worst)",
        );
    }

    pub(crate) async fn consul_loses_a_task(&mut self) -> Vec<DataplaneTask<'a>> {
        self.timeline.scene("Consul loses one of twelve running tasks");
        let service = self.service(WEB).await;
        let tasks = service.definition.create_ecs_service(self.world, WEB_TASKS, &json!([])).await;
        for task in &tasks {
            self.logins.log_in(WEB, service.role.as_deref(), task).await;
            settle(task).await;
        }
        self.print_state(WEB).await;
        if let Some(task) = tasks.first() {
            task.forget().await;
        }
        self.timeline.say(Actor::Consul, "one of them is deregistered by mistake; it runs on, without requests");
        let (took, swept) = self.sweep().await;
        assert_eq!(swept["repaired"], 1, "{swept}");
        self.reacted(took, "registered again").await;
        self.print_state(WEB).await;
        assert_eq!(self.world.passing(WEB).await.len(), WEB_TASKS);
        self.timeline.outcome(
            "Consul loses a running task",
            format!("the next sweep registers it again ({} after its start)", seconds(took)),
            "never registers a task: it stays out until it is replaced",
        );
        tasks
    }

    pub(crate) async fn a_zombie_leaves(&mut self) {
        self.timeline.scene("A zombie: a task has died with its host, and its event is lost");
        let service = self.service(API).await;
        let task = service.definition.run(self.world).await;
        self.join(&service, &task).await;
        self.world.stop(&task.arn).await;
        self.timeline.say(Actor::Ecs, "it is STOPPED, and no event says so");
        self.print_state(API).await;
        let (took, swept) = self.sweep().await;
        self.instances_left(API, 0).await;
        self.login_tokens_left(&task, 0).await;
        self.reacted(took, "the zombie has left").await;
        assert_eq!(swept["deleted"]["services"], 2, "{swept}");
        self.print_state(API).await;
        self.timeline.outcome(
            "A task dies, and its event is lost",
            format!("the next sweep removes it ({} after its start)", seconds(took)),
            "the next poll removes it, within 10 s: sooner than a sweep",
        );
    }

    pub(crate) async fn an_impostor_is_refused(&mut self) {
        self.timeline.scene(&format!("An impostor: a task claims to be {WEB}, and its role is {BATCH}'s"));
        let mut service = self.service(BATCH).await;
        service.definition.tags = mesh_tags(WEB);
        service.definition.config["service"]["name"] = json!(WEB);
        let task = service.definition.run(self.world).await;
        let token = self.logins.log_in(BATCH, service.role.as_deref(), &task).await;
        let status = self.register_as_web(&task, &token).await;
        let text = format!("{} logs in as {BATCH}, and registers itself as {WEB}", short(&task.arn));
        self.timeline.say(Actor::Task, &text);
        self.timeline.say(Actor::Consul, &format!("refuses with status {status}: the token is for {BATCH}"));
        assert_eq!(status, 403);
        task.report_stopped(MESH_INIT, 0).await;
        task.report_all_healthy().await;
        self.timeline.say(Actor::Ecs, "its containers are healthy: it looks like a task that Consul has lost");
        let (took, swept) = self.sweep().await;
        let why = why_skipped(&swept, &task).expect("the sweep says why it leaves the task alone");
        self.reacted(took, &format!("not registered: {why}")).await;
        assert_eq!((&swept["repaired"], self.instances(WEB).await), (&json!(0), WEB_TASKS), "{swept}");
        self.world.stop(&task.arn).await;
        self.ecs(&task.arn, BATCH, "STOPPED");
        let start = self.deliver(&self.world.event(&task.arn).await).await;
        self.login_tokens_left(&task, 0).await;
        self.reacted(start.elapsed(), "its login token is gone").await;
        let ours = format!("sweeps do not register it without a proof that it is {WEB}");
        self.timeline.outcome("A task claims another's name", ours, "registers no task, so it can refuse none");
    }

    pub(crate) async fn half_of_the_tasks_are_not_listed(&mut self, tasks: &[DataplaneTask<'_>]) {
        let (half, all) = (tasks.len() / 2, tasks.len());
        self.timeline.scene(&format!("ECS's answers lack {half} of the {all} tasks of {WEB}, which all run"));
        for task in &tasks[..half] {
            task.set_hidden(true).await;
        }
        let (took, swept) = self.sweep().await;
        let guard = swept["guard"].as_str().unwrap_or_else(|| panic!("the guard holds nothing back: {swept}"));
        self.reacted(took, &format!("all is held back: {guard}")).await;
        self.print_state(WEB).await;
        assert_eq!(self.world.passing(WEB).await.len(), all);
        for task in &tasks[..half] {
            task.set_hidden(false).await;
        }
        let (took, swept) = self.sweep().await;
        self.reacted(took, "ECS lists all of them again: nothing to do").await;
        assert_eq!((swept.get("guard"), &swept["deleted"]), (None, &json!({})), "{swept}");
        self.timeline.outcome(
            "ECS's list is incomplete",
            format!("holds the removal of {half} tasks back, and says why"),
            "deregisters every task that it does not see, and deletes its token",
        );
    }

    pub(crate) async fn the_stack_is_deleted(&mut self, stack: &str) {
        self.timeline.scene("The stack is deleted, with CleanupOnDelete");
        let before = format!("{} instances, and the cluster's node", self.instances(WEB).await);
        self.timeline.say(Actor::Consul, &format!("before: {before}"));
        let start = Instant::now();
        delete(self.world.aws, stack).await.expect("the stack is deleted");
        let took = start.elapsed();
        let names = self.nodes().await;
        assert!(!names.contains(&self.world.cluster()), "the synthetic node is gone");
        assert_eq!(self.world.tokens_about(&self.world.cluster()).await, Vec::<Value>::new());
        reacted(took, "the node with its services and checks, and the tokens, have left Consul");
        self.timeline.say(Actor::Consul, &format!("after: no token of the cluster; nodes: {}", names.join(", ")));
        self.timeline.outcome(
            "The controller is removed",
            "removes its node, services, checks and tokens".to_owned(),
            "leaves them in Consul",
        );
    }

    // ---- tasks ----

    async fn service(&self, name: &'static str) -> Service {
        let role = self.logins.role(name).await;
        let mut definition = DataplaneService::named(name, Release::V0_10);
        definition.task_role.clone_from(&role);
        definition.config["consulLogin"] = json!({ "enabled": true });
        Service { name, role, definition }
    }

    /// What the containers of a task do when they start.
    async fn join(&self, service: &Service, task: &DataplaneTask<'_>) {
        self.logins.log_in(service.name, service.role.as_deref(), task).await;
        settle(task).await;
        let credential = self.logins.credential();
        let text = format!("{} logs in with {credential}, registers itself, and is healthy", short(&task.arn));
        self.timeline.say(Actor::Task, &text);
    }

    /// The status of Consul's answer to a registration as another service.
    async fn register_as_web(&self, task: &DataplaneTask<'_>, token: &Token) -> u16 {
        let mut bodies = task.registrations().await;
        let body: Value = serde_json::from_str(&bodies.remove(0).to_string().replace(BATCH, WEB)).expect("JSON");
        self.world.consul.call(Method::PUT, "/v1/catalog/register", &token.secret_id, Some(&body)).await.status
    }

    // ---- events and sweeps ----

    pub(crate) fn ecs(&self, task: &str, family: &str, status: &str) {
        self.timeline.say(Actor::Ecs, &format!("task {} of {family} is {status}", short(task)));
    }

    /// The event that a task has these states, and when it was delivered.
    pub(crate) async fn reported(
        &self,
        task: &str,
        service: &str,
        (last, desired): (&str, &str),
        version: u64,
    ) -> Instant {
        let shown = if desired == "STOPPED" { format!("{last}, desired {desired}") } else { last.to_owned() };
        self.ecs(task, service, &shown);
        let start = self.deliver(&self.world.event_as(task, last, desired, version).await).await;
        if desired == "RUNNING" {
            self.world.events_handled().await;
        }
        start
    }

    pub(crate) async fn deliver(&self, event: &Value) -> Instant {
        self.world.deliver(std::slice::from_ref(event)).await;
        Instant::now()
    }

    /// A sweep of the cluster, as the next one by schedule would do it: its time, and its summary.
    async fn sweep(&self) -> (Duration, Value) {
        let start = Instant::now();
        let summary = self.world.sweep(&json!({})).await.unwrap_or_else(|error| panic!("the sweep failed: {error}"));
        (start.elapsed(), summary["clusters"][0].clone())
    }

    /// Prints what the controller logged, and what has happened so long after the event or the start of the sweep.
    pub(crate) async fn reacted(&mut self, took: Duration, what: &str) {
        self.world.events_handled().await;
        for (moment, text) in self.log.news(self.world).await {
            self.timeline.say_of(moment, Actor::Controller, &text);
        }
        reacted(took, what);
    }

    // ---- state ----

    /// The number of instances of a service, without their proxies.
    async fn instances(&self, service: &str) -> usize {
        let all = self.world.service_ids().await;
        all.iter().filter(|id| id.starts_with(service) && !id.ends_with("-sidecar-proxy")).count()
    }

    pub(crate) async fn instances_left(&self, service: &str, wanted: usize) {
        eventually(&format!("{wanted} instances of {service} in the catalog"), SOON, || async {
            let left = self.instances(service).await;
            if left == wanted { Ok(()) } else { Err(format!("{left}")) }
        })
        .await;
    }

    async fn login_tokens(&self, task: &DataplaneTask<'_>) -> usize {
        self.world.tokens_about(task.id()).await.len()
    }

    /// The names of Consul's nodes.
    async fn nodes(&self) -> Vec<String> {
        let nodes = self.world.consul.get("/v1/catalog/nodes").await;
        let names = nodes.as_array().expect("nodes").iter().filter_map(|node| node["Node"].as_str());
        names.map(str::to_owned).collect()
    }

    async fn login_tokens_left(&self, task: &DataplaneTask<'_>, wanted: usize) {
        eventually("the login tokens of a task to be deleted", SOON, || async {
            let left = self.login_tokens(task).await;
            if left == wanted { Ok(()) } else { Err(format!("{left} are left")) }
        })
        .await;
    }

    /// Prints what Consul holds of a service.
    async fn print_state(&self, service: &str) {
        let logins = self.world.tokens_about("token created via login").await;
        let is_of = |token: &&Value| token["ServiceIdentities"][0]["ServiceName"] == service;
        let (instances, tokens) = (self.instances(service).await, logins.iter().filter(is_of).count());
        let passing = self.world.passing(service).await.len();
        let plural = |count: usize| if count == 1 { "" } else { "s" };
        let text = format!(
            "{service}: {instances} instance{}, {passing} with requests, {tokens} login token{}",
            plural(instances),
            plural(tokens)
        );
        self.timeline.say(Actor::Consul, &text);
    }
}

/// The registrations of `mesh-init`, the health of the containers, and what `health-sync` writes of it.
async fn settle(task: &DataplaneTask<'_>) {
    task.register().await;
    task.report_stopped(MESH_INIT, 0).await;
    task.report_all_healthy().await;
    task.sync_health().await;
}

/// Why a sweep has left a task alone.
fn why_skipped<'s>(swept: &'s Value, task: &DataplaneTask<'_>) -> Option<&'s str> {
    let what = format!("task {}", task.id());
    let mut skipped = swept["skipped"].as_array().into_iter().flatten();
    skipped.find(|entry| entry["what"] == what.as_str())?["why"].as_str()
}
