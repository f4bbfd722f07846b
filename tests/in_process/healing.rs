//! Repairs that meet other writers: a sweep is held at one of its requests while something else happens.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use local_stack::{wait::eventually, world::World};
use mesh::consul_ecs::check_id;
use observe::{Deadline, SweepOrder};
use report::SweepReport;
use serde_json::{Value, json};
use test_harness::ecs_agent::{DataplaneTask, Release, SYNCED, catalog, deregister};
use test_harness::recorder::{Answer, Gate, RecordedRequest, Recorder};

use crate::environment::{Environment, aws, refusal};
use crate::time::LONG;

/// Both reads of a status follow each other at once: what happens in between is what the test says.
const SETTINGS: [(&str, &str); 3] =
    [("TOKEN_MODE", "auth-method"), ("BOOTSTRAP", "none"), ("TIME_BOUNDS", "health-lag=0")];

/// A request of a sweep.
#[derive(Clone)]
enum Request {
    /// The registration of a service instance with this ID.
    Register(String),
    /// A correction of checks.
    Correct,
    /// The n-th read of the checks on the node.
    ReadChecks(usize),
    /// The n-th description of tasks.
    Describe(usize),
}

impl Request {
    fn is(&self, seen: &RecordedRequest) -> bool {
        let registers = || seen.uri.starts_with("/v1/catalog/register");
        match self {
            Self::Register(id) => registers() && seen.json()["Service"]["ID"] == id.as_str(),
            Self::Correct => registers() && seen.json()["Service"] == Value::Null,
            Self::ReadChecks(_) => seen.uri.starts_with("/v1/health/node/"),
            Self::Describe(_) => seen.operation().as_deref() == Some("DescribeTasks"),
        }
    }

    /// Which of such requests it is.
    fn number(&self) -> usize {
        match self {
            Self::ReadChecks(number) | Self::Describe(number) => *number,
            Self::Register(_) | Self::Correct => 1,
        }
    }

    /// A script that holds this request at a gate.
    fn held_at(&self, gate: &Arc<Gate>) -> impl Fn(&RecordedRequest, usize) -> Answer + Send + Sync + 'static {
        let (request, gate, seen_before) = (self.clone(), Arc::clone(gate), AtomicUsize::new(1));
        move |seen, _| {
            let is_held = request.is(seen) && seen_before.fetch_add(1, Ordering::SeqCst) == request.number();
            if is_held { Answer::ForwardThrough(Arc::clone(&gate)) } else { Answer::Forward }
        }
    }
}

/// A controller that holds a request of its sweep.
struct Held {
    environment: Environment,
    gate: Arc<Gate>,
}

impl Held {
    async fn at(world: &World<'_>, request: Request) -> Self {
        let gate = Gate::closed();
        let consul = Recorder::before(&world.consul.address, request.held_at(&gate)).await;
        let aws = aws(request.held_at(&gate)).await;
        let environment = Environment::between(world, consul, aws, &SETTINGS, |edges| edges).await;
        Self { environment, gate }
    }

    async fn sweep(&self) -> SweepReport {
        Box::pin(self.environment.controller.sweep(&SweepOrder::default(), Deadline::after(LONG))).await
    }

    /// Sweeps. `meanwhile` happens while the request is held.
    async fn sweep_while(&self, meanwhile: impl Future<Output = ()>) -> SweepReport {
        let happens = async {
            eventually("the held request", LONG, || async {
                if self.gate.arrived() > 0 { Ok(()) } else { Err(self.environment.consul.lines().join("\n")) }
            })
            .await;
            meanwhile.await;
            self.gate.open();
        };
        let (report, ()) = tokio::join!(self.sweep(), happens);
        report
    }

    /// The writes to Consul.
    fn writes(&self) -> Vec<String> {
        let requests = self.environment.consul.requests();
        let writes = requests.iter().filter(|seen| seen.method != "GET");
        writes.map(|seen| format!("{} {}", seen.line(), seen.body)).collect()
    }
}

/// A controller that holds nothing.
async fn another(world: &World<'_>) -> Environment {
    Environment::scripted(world, &SETTINGS, |_, _| Answer::Forward).await
}

/// Sweeps with a controller of its own, and returns the numbers of repaired tasks and of corrected checks.
async fn sweep(world: &World<'_>) -> (usize, usize) {
    let environment = another(world).await;
    counts(&environment.controller.sweep(&SweepOrder::default(), Deadline::after(LONG)).await)
}

/// The numbers of repaired tasks and of corrected checks of a complete sweep.
fn counts(report: &SweepReport) -> (usize, usize) {
    assert_eq!(report.outcome.as_str(), "done", "{report:?}");
    (report.clusters[0].repaired, report.clusters[0].corrected)
}

/// The task stops, and its event is handled by another controller.
async fn stop_and_handle(task: &DataplaneTask<'_>) {
    let world = task.world();
    Box::pin(world.stop(&task.arn)).await;
    let handled = async { another(world).await.handle(&[world.event(&task.arn).await]).await };
    let report = Box::pin(handled).await;
    assert!(report.failures.is_empty(), "{:?}", report.failures);
}

/// Asserts that Consul holds nothing but a healthy task, also after another sweep.
async fn assert_only(world: &World<'_>, other: &DataplaneTask<'_>) {
    for _ in 0..2 {
        assert_eq!(world.service_ids().await, [other.instance(), other.sidecar()]);
        assert_eq!(world.node_checks().await.len(), other.check_ids().len());
        assert_eq!(other.statuses().await, other.all_checks("passing"));
        assert_eq!(sweep(world).await, (0, 0));
    }
}

/// A task that Consul has lost, and another one that is repaired with it.
async fn lost<'a>(world: &'a World<'a>) -> (DataplaneTask<'a>, DataplaneTask<'a>) {
    let task = DataplaneTask::start(world, Release::V0_10).await;
    let other = DataplaneTask::start(world, Release::V0_10).await;
    deregister(world, &json!({})).await;
    (task, other)
}

#[tokio::test]
async fn a_task_that_ecs_does_not_describe_after_its_registration_is_left_to_its_event() {
    let world = World::without_deployment("stops-unread").await;
    let (task, other) = lost(&world).await;
    // Given an ECS that refuses to describe tasks after the registration, and a task that stops then
    let described = AtomicUsize::new(0);
    let refusing = aws(move |seen, _| match seen.operation().as_deref() {
        Some("DescribeTasks") if described.fetch_add(1, Ordering::SeqCst) >= 2 => refusal("AccessDeniedException"),
        _ => Answer::Forward,
    })
    .await;
    let consul = Recorder::before(&world.consul.address, |_, _| Answer::Forward).await;
    let environment = Environment::between(&world, consul, refusing, &SETTINGS, |edges| edges).await;
    let report = environment.controller.sweep(&SweepOrder::default(), Deadline::after(LONG)).await;
    assert_eq!(report.outcome.as_str(), "incomplete", "{report:?}");
    // Then nothing of a task that may run is taken back
    assert_eq!(world.service_ids().await.len(), 4);
    // And the event deregisters the one that has stopped
    stop_and_handle(&task).await;
    assert_only(&world, &other).await;
}

#[tokio::test]
async fn a_task_that_stops_while_a_status_is_corrected_leaves_nothing() {
    let world = World::without_deployment("stops-corrected").await;
    let task = DataplaneTask::start(&world, Release::V0_10).await;
    let other = DataplaneTask::start(&world, Release::V0_10).await;
    task.write_status(&task.check_ids()[0], "critical").await;
    // Its event deregisters it, and the correction comes after that
    let held = Held::at(&world, Request::Correct).await;
    let report = held.sweep_while(stop_and_handle(&task)).await;
    assert_eq!(counts(&report), (0, 0));
    assert_only(&world, &other).await;
}

#[tokio::test]
async fn a_status_that_changes_before_the_recheck_is_left_to_the_next_sweep() {
    let world = World::without_deployment("before-recheck").await;
    let task = DataplaneTask::start(&world, Release::V0_8).await;
    let check = check_id(&task.instance(), SYNCED[0]);
    for (what, request, corrected_next) in [
        ("health-sync corrects it", Request::ReadChecks(2), 0),
        ("another program writes it again", Request::ReadChecks(2), 1),
        ("ECS confirms it", Request::Describe(3), 0),
    ] {
        // Given a critical check of a container that ECS reports as healthy
        task.write_status(&check, "critical").await;
        // When this happens between the two reads of a sweep
        let held = Held::at(&world, request).await;
        let happens = async {
            match what {
                "health-sync corrects it" => task.sync_health().await,
                "ECS confirms it" => task.report_health(SYNCED[0], "UNHEALTHY").await,
                _ => {
                    task.write_status(&check, "passing").await;
                    task.write_status(&check, "critical").await;
                }
            }
        };
        let report = held.sweep_while(happens).await;
        // Then the sweep writes nothing, and the next one what is still wrong
        assert_eq!((counts(&report), held.writes()), ((0, 0), Vec::new()), "{what}");
        assert_eq!(sweep(&world).await, (0, corrected_next), "{what}");
    }
}

#[tokio::test]
async fn a_node_that_is_deregistered_during_a_correction_is_repaired_by_the_next_sweep() {
    let world = World::without_deployment("node-vanishes").await;
    let task = DataplaneTask::start(&world, Release::V0_10).await;
    let before = catalog(&world).await;
    task.write_status(&task.check_ids()[0], "critical").await;
    let held = Held::at(&world, Request::Correct).await;
    let report = held.sweep_while(deregister(&world, &json!({}))).await;
    assert_eq!(counts(&report), (0, 0));
    assert_eq!(sweep(&world).await, (1, 0));
    assert_eq!(catalog(&world).await, before);
}

#[tokio::test]
async fn a_repair_that_was_written_in_part_is_counted_and_reported() {
    // Given a task that Consul has lost, whose sidecar proxy Consul refuses to register
    let world = World::without_deployment("in-part").await;
    let task = DataplaneTask::start(&world, Release::V0_10).await;
    task.forget().await;
    let sidecar = Request::Register(task.sidecar());
    let refusing = move |seen: &RecordedRequest, _| {
        if sidecar.is(seen) { Answer::status(403, "Permission denied") } else { Answer::Forward }
    };
    let environment = Environment::scripted(&world, &SETTINGS, refusing).await;
    // When a sweep repairs it
    let report = environment.controller.sweep(&SweepOrder::default(), Deadline::after(LONG)).await;
    // Then its service is registered, counted and announced, and the failure is reported
    assert_eq!((report.outcome.as_str(), report.clusters[0].repaired), ("incomplete", 1), "{report:?}");
    assert!(report.problems.iter().any(|problem| problem.reason.contains("Permission denied")), "{report:?}");
    assert!(environment.aws.operations().contains(&"PutEvents".to_owned()));
    assert_eq!(world.service_ids().await, [task.instance()]);
    // And when Consul accepts it, the next sweep does the rest
    assert_eq!(sweep(&world).await.0, 1);
}

#[tokio::test]
async fn a_task_that_consul_refuses_to_register_is_a_fault_of_its_own() {
    // Given two tasks that Consul has lost, one of them with a configuration that Consul refuses
    let world = World::without_deployment("refused-task").await;
    let (refused, other) =
        (DataplaneTask::start(&world, Release::V0_10).await, DataplaneTask::start(&world, Release::V0_10).await);
    let id = refused.id().to_owned();
    let registration = Request::Register(refused.instance());
    refused.forget().await;
    other.forget().await;
    let refusing = move |seen: &RecordedRequest, _| {
        if registration.is(seen) { Answer::status(500, "upstreams: duplicate port") } else { Answer::Forward }
    };
    let environment = Environment::scripted(&world, &SETTINGS, refusing).await;
    let report = environment.controller.sweep(&SweepOrder::default(), Deadline::after(LONG)).await;
    // Then it is a fault of this task, and the other one is registered
    assert_eq!((report.outcome.as_str(), report.clusters[0].repaired), ("done", 1), "{report:?}");
    assert_eq!(report.faults[0].owner, Some(format!("task {id}")), "{report:?}");
    assert_eq!(world.service_ids().await, [other.instance(), other.sidecar()]);
}
