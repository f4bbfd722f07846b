//! The functions' binaries, killed before and after each of their calls, on every path. The next delivery of the message and a
//! sweep complete the interrupted work; only a sweep sees tokens that no secret names.

mod attempt;
mod paths;

use std::{collections::BTreeSet, time::Duration};

use futures::{StreamExt, stream};
use serde_json::{Value, json};

use self::{
    attempt::{Attempt, Point},
    paths::{PATHS, Path},
};
use crate::{controller::LocalController, print_figure};
use local_stack::{Stack, aws::Aws, consul::Consul, functions, world::World};
use test_harness::{
    fleet::Fleet,
    invocation::{FunctionSetup, Invocation},
    proxy::{Dialect, FaultPoint, Proxy},
};
use tokio::sync::OnceCell;

const TASK_EVENTS: &str = "TaskEventsFunction";
const RECONCILE: &str = "ReconcileFunction";
/// No grace period, and no guard, which would trip for a handful of tasks.
const SETTINGS: [(&str, &str); 3] =
    [("REVOCATION_GRACE_SECONDS", "0"), ("BOOTSTRAP", "none"), ("MAX_DELETE_PERCENT", "100")];
/// The most deliveries of a message without a kill.
const DELIVERIES: usize = 5;
/// More than the calls of any path.
const LONGEST_PATH: usize = 60;
/// The most attempts on a path that end without the kill: on a busy machine, calls time out.
const OTHER_ENDS: usize = 20;
/// How many paths run concurrently.
const CONCURRENT_PATHS: usize = 3;

/// A stack in which a new version of a secret is an hour old, so that no test waits for `shown`.
async fn stack_with_slow_clock() -> &'static Stack {
    static STACK: OnceCell<Stack> = OnceCell::const_new();
    STACK
        .get_or_init(|| async {
            let (aws, consul) = tokio::join!(Aws::start_with_slow_clock(), Consul::start());
            Stack { aws, consul }
        })
        .await
}

/// A cluster with its own queue, and proxies in front of the servers that its functions call.
struct Fixture<'a> {
    fleet: Fleet<'a>,
    before_consul: Proxy,
    before_aws: Proxy,
    /// For work that is not under test.
    controller: LocalController,
}

impl Fixture<'_> {
    async fn new(name: &'static str) -> Self {
        let stack = stack_with_slow_clock().await;
        let world = World::without_deployment_in(stack, name).await;
        let mut fleet = Fleet::of(world, "auto").await;
        fleet.logs_in = true;
        fleet.leaves_orphans = true;
        fleet.add_services(2).await;
        Self {
            before_consul: Proxy::before(&stack.consul.address, Dialect::Consul).await,
            before_aws: Proxy::before(&stack.aws.endpoint, Dialect::Aws).await,
            controller: LocalController::start(&fleet, Duration::ZERO).await,
            fleet,
        }
    }

    /// Starts a process for one message.
    async fn invoke(&self, function: &str, payload: &Value) -> Invocation {
        let binary = functions::binary(function);
        let setup = FunctionSetup {
            binary: binary.to_str().unwrap(),
            consul_address: &self.before_consul.url,
            aws_endpoint: &self.before_aws.url,
        };
        Invocation::start_with(&self.fleet.world, &setup, &SETTINGS, payload).await
    }

    /// Has a function handle a message. If a call times out on a busy machine, the message is delivered again, as by SQS.
    async fn handle(&self, function: &str, payload: &Value) -> Value {
        let mut failures = Vec::new();
        for _ in 0..DELIVERIES {
            let invocation = self.invoke(function, payload).await;
            match invocation.answered().await {
                Ok(answer) => return answer,
                Err(error) => failures.push(format!("{error}\n{}", invocation.printed())),
            }
        }
        panic!("{payload} failed {DELIVERIES} times: {}", failures.join("\n"));
    }

    /// Kills the function at every call of a path in turn, and delivers the message again each time. Returns the calls.
    async fn kill_at_each_call(&mut self, path: &Path, when: FaultPoint) -> BTreeSet<Point> {
        let (mut killed, mut other_ends) = (BTreeSet::new(), 0);
        loop {
            assert!(killed.len() < LONGEST_PATH, "{} does not end: {killed:?}", path.name);
            // Given a function that is killed at its first call at which it was not killed before
            let (function, message) = self.prepare(path).await;
            let attempt = Attempt::sparing(&killed, when);
            for proxy in [&self.before_consul, &self.before_aws] {
                attempt.watch(proxy);
            }
            // When it handles the message
            let invocation = self.invoke(function, &message).await;
            attempt.set_victim(invocation.killer());
            let ended = invocation.ended().await;
            self.before_consul.pass_through();
            self.before_aws.pass_through();
            let reached = attempt.reached();
            let attempted = format!("{}, {when:?} {reached:?}", path.name);
            match (&ended, reached) {
                // It made no further call.
                (Some(Ok(_)), None) => {
                    self.clean_up(path).await;
                    return killed;
                }
                (None, Some(point)) => drop(killed.insert(point)),
                // It failed before the call, or timed out at the call and continued: repeat the attempt.
                _ => {
                    other_ends += 1;
                    let printed = invocation.printed();
                    assert!(other_ends < OTHER_ENDS, "{attempted}: not killed, but {ended:?}; it printed:\n{printed}");
                }
            }
            drop(invocation);
            self.wait_for_calls().await;
            // Then the next delivery and a later sweep complete the work
            self.handle(function, &message).await;
            self.clean_up(path).await;
            self.controller.sweep_later().await;
            let wrong = self.fleet.violations().await;
            assert!(wrong.is_empty(), "{attempted}: {wrong:#?}");
        }
    }

    /// Waits until AWS and Consul have handled all calls of a killed function.
    async fn wait_for_calls(&self) {
        self.before_consul.wait_until_idle().await;
        self.before_aws.wait_until_idle().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_function_killed_at_any_call_recovers() {
    stream::iter(&PATHS).map(killed_at_every_call).buffer_unordered(CONCURRENT_PATHS).collect::<Vec<()>>().await;
}

async fn killed_at_every_call(path: &Path) {
    let mut fixture = Fixture::new(path.name).await;
    let mut kills = 0;
    for when in [FaultPoint::Before, FaultPoint::After] {
        let killed = fixture.kill_at_each_call(path, when).await;
        kills += killed.len();
        let missing: Vec<&str> = path.calls.iter().copied().filter(|call| !is_in(&killed, call)).collect();
        assert!(missing.is_empty(), "{} was not killed {when:?} {missing:?}, but {killed:?}", path.name);
    }
    // When every task has stopped, and delayed idle checks are handled as well
    for index in 0..fixture.fleet.tasks.len() {
        fixture.fleet.stop(index).await;
    }
    fixture.controller.finish(&fixture.fleet).await;
    fixture.controller.sweep_until_clean().await;
    // Then the state has converged, and a sweep changes nothing
    fixture.fleet.leaves_orphans = false;
    fixture.fleet.converged().await;
    let summary = fixture.handle(RECONCILE, &json!({})).await;
    let cluster = &summary["clusters"][0];
    assert_eq!(
        (&summary["outcome"], &cluster["hidden"], &cluster["deleted"], &cluster["created"]),
        (&json!("done"), &json!(0), &json!({}), &json!({}))
    );
    fixture.fleet.converged().await;
    print_figure(&format!("{}: killed before and after each of its calls, {kills} kills", path.name));
}

fn is_in(killed: &BTreeSet<Point>, call: &str) -> bool {
    killed.iter().any(|point| point.to_string() == call)
}
