//! A soak: while tasks start, stop, and become healthy and unhealthy, entries of the catalog and statuses are mutilated at
//! random. In the end the catalog is what ECS says.

mod tasks;

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_sdk_ecs::config::{Credentials, SharedCredentialsProvider};
use consul::RetryPolicy;
use controller::{Controller, Deadline, Delivery, SweepOrder, settings::Settings};
use ecs_mesh_controller::wiring;
use local_stack::consul::Consul;
use report::{SweepOutcome, SweepReport};
use serde_json::{Value, json};
use test_harness::{jwt::JwtAuthMethod, proxy::seed, recorder::Recorder};

use self::tasks::{CLUSTER, Task, aws, with_node};
use crate::{chaos_time, number, print_figure};

/// The number of tasks, unless `SOAK_TASKS` says another one.
const TASKS: u64 = 100;
/// The least number of steps.
const STEPS: usize = 600;
/// The least number of sweeps beside them.
const LEAST_SWEEPS: usize = 3;
/// The time for a sweep of `reconcile`.
const TIME: Duration = Duration::from_secs(300);
/// The most sweeps until nothing is left to do: more than one only if calls time out on a busy machine.
const SWEEPS: usize = 10;

/// A mesh that is mutilated.
struct Soak<'a> {
    consul: &'a Consul,
    /// Where tasks log in.
    method: JwtAuthMethod<'a>,
    controller: Arc<Controller>,
    tasks: Arc<Mutex<Vec<Task>>>,
    random: fastrand::Rng,
    /// How often each step was taken.
    steps: BTreeMap<&'static str, usize>,
}

/// The controller of the mesh.
async fn controller(consul: &Consul, aws: &Recorder) -> Controller {
    let settings = Settings::read(|name| {
        Some(match name {
            "CONSUL_HTTP_ADDR" => consul.address.clone(),
            "CONSUL_HTTP_TOKEN" => consul.management_token.clone(),
            "ECS_CLUSTER_ARNS" => CLUSTER.to_owned(),
            "TOKEN_MODE" => "auth-method".to_owned(),
            "MAX_DELETE_PERCENT" => "100".to_owned(),
            "TIME_BOUNDS" => "health-lag=1".to_owned(),
            // The tasks' auth method has a type that Consul supports since 1.12.
            "BOOTSTRAP" => "none".to_owned(),
            "QUEUE_URL" => "http://127.0.0.1/queue".to_owned(),
            _ => return None,
        })
    })
    .expect("settings");
    let credentials = Credentials::new("test", "test", None, None, "tests");
    let sdk = SdkConfig::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::from_static("us-east-1"))
        .endpoint_url(&aws.url)
        .credentials_provider(SharedCredentialsProvider::new(credentials))
        .http_client(aws_smithy_http_client::Builder::new().build_http())
        .build();
    let edges = wiring::connect(&settings, &sdk, RetryPolicy::for_sweeps()).await.expect("edges");
    Controller::new(settings.scope, edges)
}

impl Soak<'_> {
    fn task(&self, number: usize) -> Task {
        self.tasks.lock().unwrap()[number].clone()
    }

    fn change(&self, number: usize, change: impl FnOnce(&mut Task)) -> Task {
        let mut tasks = self.tasks.lock().unwrap();
        change(&mut tasks[number]);
        tasks[number].clone()
    }

    /// A random task that runs.
    fn any_running(&mut self) -> Task {
        let running: Vec<Task> = self.tasks.lock().unwrap().iter().filter(|task| !task.is_stopped).cloned().collect();
        running[self.random.usize(..running.len())].clone()
    }

    async fn start(&mut self) {
        let task = {
            let mut tasks = self.tasks.lock().unwrap();
            let task = Task::new(tasks.len());
            tasks.push(task.clone());
            task
        };
        self.method.log_in_task("web", CLUSTER, &task.id()).await;
        task.mesh_init(self.consul).await;
        self.change(task.number, |task| task.is_registered = true);
    }

    /// A task stops. Its event may be lost.
    async fn stop(&mut self) {
        let number = self.any_running().number;
        let task = self.change(number, |task| task.is_stopped = true);
        if self.random.bool() {
            self.handle(&task.event()).await;
        }
    }

    async fn handle(&self, event: &Value) {
        let delivery = Delivery { id: "1".to_owned(), receipt: None, receives: 1, body: event.to_string() };
        // What fails is done by a sweep.
        drop(self.controller.handle(&[delivery], Deadline::after(TIME)).await);
    }

    async fn lose_proxy(&mut self) {
        let number = self.any_running().number;
        let task = self.change(number, |task| task.has_lost_proxy = true);
        self.handle(&task.event()).await;
    }

    async fn sync_health(&mut self, number: usize) {
        let mut task = self.task(number);
        task.health_sync(self.consul).await;
        self.change(number, |known| known.remembered = task.remembered);
    }

    async fn flip_health(&mut self) {
        let number = self.any_running().number;
        self.change(number, |task| task.is_app_healthy = !task.is_app_healthy);
        self.sync_health(number).await;
    }

    async fn deregister(&self, what: &Value) {
        let mut body = what.clone();
        body["Node"] = json!(CLUSTER);
        self.consul.put("/v1/catalog/deregister", &body).await;
    }

    /// A status from before comes back, as from a snapshot.
    async fn falsify_status(&mut self) {
        let task = self.any_running();
        let (id, instance, status) = task.statuses().swap_remove(self.random.usize(..3));
        let wrong = if status == "passing" { "critical" } else { "passing" };
        let check = json!({ "CheckID": id, "Name": "Consul ECS health check synced", "Type": "consul-ecs-health-check",
            "Status": wrong, "ServiceID": instance, "Node": CLUSTER });
        let token = &self.consul.management_token;
        let body = with_node(&json!({ "Checks": [check] }));
        // The instance may be forgotten.
        drop(self.consul.call(reqwest::Method::PUT, "/v1/catalog/register", token, Some(&body)).await);
    }

    async fn step(&mut self) {
        let name = match self.random.u32(..100) {
            0..10 => {
                self.start().await;
                "starts"
            }
            10..20 => {
                self.stop().await;
                "stops"
            }
            20..45 => {
                self.flip_health().await;
                "changes of health"
            }
            45..60 => {
                let task = self.any_running();
                let instance = &task.instances()[self.random.usize(..2)];
                self.deregister(&json!({ "ServiceID": instance })).await;
                "services deregistered"
            }
            60..75 => {
                let task = self.any_running();
                let (check, ..) = task.statuses().swap_remove(self.random.usize(..3));
                self.deregister(&json!({ "CheckID": check })).await;
                "checks deregistered"
            }
            75..97 => {
                self.falsify_status().await;
                "statuses falsified"
            }
            97..99 => {
                self.lose_proxy().await;
                "proxies lost"
            }
            _ => {
                self.deregister(&json!({})).await;
                "nodes deregistered"
            }
        };
        *self.steps.entry(name).or_default() += 1;
    }

    async fn sweep(&self) -> SweepReport {
        self.controller.sweep(&SweepOrder::default(), Deadline::after(TIME)).await
    }

    /// Sweeps until a complete sweep finds nothing to do.
    async fn sweep_until_calm(&self) {
        for _ in 0..SWEEPS {
            let report = self.sweep().await;
            let cluster = &report.clusters[0];
            let is_calm =
                cluster.deleted.is_empty() && (cluster.repaired, cluster.corrected, cluster.drained) == (0, 0, 0);
            if report.outcome == SweepOutcome::Done && is_calm {
                return;
            }
        }
        panic!("there is still something to do after {SWEEPS} sweeps");
    }

    /// What Consul should hold: instances, and checks with their statuses.
    fn expected(&self) -> (Vec<String>, BTreeMap<String, String>) {
        let (mut instances, mut checks) = (Vec::new(), BTreeMap::new());
        for task in self.tasks.lock().unwrap().iter().filter(|task| !task.is_stopped) {
            instances.extend(task.instances());
            checks.extend(task.statuses().into_iter().map(|(id, _, status)| (id, status.to_owned())));
            if task.has_lost_proxy {
                let drains = task.instances().map(|id| (format!("_service_maintenance:{id}"), "critical".to_owned()));
                checks.extend(drains);
            }
        }
        instances.sort();
        (instances, checks)
    }

    /// What Consul holds.
    async fn found(&self) -> (Vec<String>, BTreeMap<String, String>) {
        let node = CLUSTER.replace('/', "%2F");
        let services = self.consul.get(&format!("/v1/catalog/node-services/{node}")).await;
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let mut instances: Vec<String> =
            services["Services"].as_array().unwrap().iter().map(|service| text(&service["ID"])).collect();
        instances.sort();
        let checks = self.consul.get(&format!("/v1/health/node/{node}")).await;
        let checks = checks.as_array().unwrap().iter().map(|check| (text(&check["CheckID"]), text(&check["Status"])));
        (instances, checks.collect())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn soak() {
    let seed = seed("soak");
    let tasks = Arc::new(Mutex::new(Vec::new()));
    let (consul, aws) = tokio::join!(Consul::start(), aws(&tasks));
    let controller = Arc::new(controller(&consul, &aws).await);
    let random = fastrand::Rng::with_seed(seed);
    let method = JwtAuthMethod::create(&consul, "soak").await;
    let mut soak =
        Soak { consul: &consul, method, controller: Arc::clone(&controller), tasks, random, steps: BTreeMap::new() };
    // Given a mesh of running tasks
    let count = number("SOAK_TASKS").unwrap_or(TASKS);
    for _ in 0..count {
        soak.start().await;
    }
    // When it is mutilated while sweeps run
    let (is_over, sweeps) = (AtomicBool::new(false), AtomicUsize::new(0));
    let start = Instant::now();
    let mutilate = async {
        let mut steps = 0;
        while steps < STEPS || sweeps.load(Ordering::SeqCst) < LEAST_SWEEPS || start.elapsed() < chaos_time() {
            soak.step().await;
            steps += 1;
        }
        is_over.store(true, Ordering::SeqCst);
        steps
    };
    let sweep = async {
        while !is_over.load(Ordering::SeqCst) {
            controller.sweep(&SweepOrder::default(), Deadline::after(TIME)).await;
            sweeps.fetch_add(1, Ordering::SeqCst);
        }
    };
    let (steps, ()) = futures::join!(mutilate, sweep);
    // Then after calm the catalog is what ECS says
    let all = soak.tasks.lock().unwrap().len();
    for task in 0..all {
        soak.sync_health(task).await;
    }
    soak.sweep_until_calm().await;
    assert_eq!(soak.found().await, soak.expected());
    let sweeps = sweeps.load(Ordering::SeqCst);
    print_figure(&format!(
        "soak: {count} tasks, {steps} steps, {sweeps} sweeps beside them, in {:.0?}: {:?}",
        start.elapsed(),
        soak.steps
    ));
}
