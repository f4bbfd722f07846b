//! Repairs that meet other writers: a sweep is held at one of its requests while something else happens.

mod stops;
mod writers;

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use controller::{Deadline, SweepOrder};
use local_stack::{wait::eventually, world::World};
use report::SweepReport;
use serde_json::Value;
use test_harness::{
    ecs_agent::DataplaneTask,
    recorder::{Answer, Gate, RecordedRequest, Recorder},
};

use crate::{
    environment::{Environment, aws},
    time::LONG,
};

/// Both looks at a status follow each other at once: what happens in between is what the test says.
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
    /// The events about what was done.
    Announce,
}

impl Request {
    fn is(&self, seen: &RecordedRequest) -> bool {
        let registers = || seen.uri.starts_with("/v1/catalog/register");
        match self {
            Self::Register(id) => registers() && seen.json()["Service"]["ID"] == id.as_str(),
            Self::Correct => registers() && seen.json()["Service"] == Value::Null,
            Self::ReadChecks(_) => seen.uri.starts_with("/v1/health/node/"),
            Self::Describe(_) => seen.operation().as_deref() == Some("DescribeTasks"),
            Self::Announce => seen.operation().as_deref() == Some("PutEvents"),
        }
    }

    /// Which of such requests it is.
    fn number(&self) -> usize {
        match self {
            Self::ReadChecks(number) | Self::Describe(number) => *number,
            Self::Register(_) | Self::Correct | Self::Announce => 1,
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
        Self::with_gate(world, &request, Gate::closed()).await
    }

    async fn with_gate(world: &World<'_>, request: &Request, gate: Arc<Gate>) -> Self {
        let consul = Recorder::before(&world.consul.address, request.held_at(&gate)).await;
        let aws = aws(request.held_at(&gate)).await;
        let environment = Environment::between(world, consul, aws, &SETTINGS, |edges| edges).await;
        Self { environment, gate }
    }

    async fn sweep(&self) -> SweepReport {
        Box::pin(self.environment.controller.sweep(&SweepOrder::default(), Deadline::after(LONG))).await
    }

    /// Waits until the request is held.
    async fn reached(&self) {
        eventually("the held request", LONG, || async {
            if self.gate.arrived() > 0 { Ok(()) } else { Err(self.environment.consul.lines().join("\n")) }
        })
        .await;
    }

    /// Sweeps. `meanwhile` happens while the request is held.
    async fn sweep_while(&self, meanwhile: impl Future<Output = ()>) -> SweepReport {
        let happens = async {
            self.reached().await;
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
    Box::pin(task.world().stop(&task.arn)).await;
    handle_event(task).await;
}

/// Another controller handles the event of the task's current state.
async fn handle_event(task: &DataplaneTask<'_>) {
    let world = task.world();
    let handled = async { another(world).await.handle(&[world.event(&task.arn).await]).await };
    let report = Box::pin(handled).await;
    assert!(report.failures.is_empty(), "{:?}", report.failures);
}
