//! The functions' own binaries, killed before and after each of their calls, on every path: whatever half-done work that
//! leaves behind heals when the message is delivered once more, and by a sweep: only that sees tokens that no secret names.

#[path = "killed/attempt.rs"]
mod attempt;
#[path = "killed/paths.rs"]
mod paths;

use std::{collections::BTreeSet, time::Duration};

use futures::{StreamExt, stream};
use serde_json::{Value, json};

use self::{
    attempt::{Attempt, Point},
    paths::{PATHS, Path},
};
use crate::{controller::LocalController, tell};
use local_stack::{Stack, aws::Aws, consul::Consul, functions, world::World};
use test_harness::{
    crowd::Crowd,
    invocation::{Invocation, Place},
    proxy::{Dialect, Proxy, When},
};
use tokio::sync::OnceCell;

const TASK_EVENTS: &str = "TaskEventsFunction";
const RECONCILE: &str = "ReconcileFunction";
/// Services are idle at once; and the guard, which would hold back what a handful of tasks do, is another test's.
const SETTINGS: [(&str, &str); 3] =
    [("REVOCATION_GRACE_SECONDS", "0"), ("BOOTSTRAP", "none"), ("MAX_DELETE_PERCENT", "100")];
/// How often a message is delivered, where nobody is killed.
const DELIVERIES: usize = 5;
/// A path has fewer calls than this.
const LONGEST_PATH: usize = 60;
/// How many attempts of a walk may end otherwise than by the kill: on a busy machine, calls time out.
const OTHER_ENDS: usize = 20;
/// How many paths are walked at once.
const AT_ONCE: usize = 3;

/// A stack in which what was written into a secret a moment ago is old, so that nothing has to be waited for.
async fn stack_with_late_clock() -> &'static Stack {
    static STACK: OnceCell<Stack> = OnceCell::const_new();
    STACK
        .get_or_init(|| async {
            let (aws, consul) = tokio::join!(Aws::start_with_late_clock(), Consul::start());
            Stack { aws, consul }
        })
        .await
}

/// A cluster with a queue of its own, and proxies before all that its functions call.
struct Scene<'a> {
    crowd: Crowd<'a>,
    before_consul: Proxy,
    before_aws: Proxy,
    /// Does what is not under test.
    controller: LocalController,
}

impl Scene<'_> {
    async fn set(name: &'static str) -> Self {
        let stack = stack_with_late_clock().await;
        let world = World::without_deployment_in(stack, name).await;
        let mut crowd = Crowd::of(world, "secrets-manager").await;
        crowd.logs_in = true;
        crowd.leaves_orphans = true;
        crowd.found_services(2).await;
        Self {
            before_consul: Proxy::before(&stack.consul.address, Dialect::Consul).await,
            before_aws: Proxy::before(&stack.aws.endpoint, Dialect::Aws).await,
            controller: LocalController::start(&crowd, Duration::ZERO).await,
            crowd,
        }
    }

    /// Starts a process for one message.
    async fn invoke(&self, function: &str, payload: &Value) -> Invocation {
        let binary = functions::binary(function);
        let place = Place {
            binary: binary.to_str().unwrap(),
            consul_address: &self.before_consul.url,
            aws_endpoint: &self.before_aws.url,
        };
        Invocation::start_with(&self.crowd.world, &place, &SETTINGS, payload).await
    }

    /// Has a function do a message's work undisturbed: like SQS, delivers it again if a busy machine lets a call time out.
    async fn done(&self, function: &str, payload: &Value) -> Value {
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

    /// Kills the function at every call of a path in turn, and delivers the message once more each time. The answer is at
    /// which calls.
    async fn walk(&mut self, path: &Path, when: When) -> BTreeSet<Point> {
        let (mut killed, mut other_ends) = (BTreeSet::new(), 0);
        loop {
            assert!(killed.len() < LONGEST_PATH, "{} does not end: {killed:?}", path.name);
            // Given a function that will be killed at the first call at which it was not killed yet
            let (function, message) = self.prepare(path).await;
            let attempt = Attempt::sparing(&killed, when);
            for proxy in [&self.before_consul, &self.before_aws] {
                attempt.watch(proxy);
            }
            // When it works on the message
            let invocation = self.invoke(function, &message).await;
            attempt.victim_is(invocation.killer());
            let ended = invocation.ended().await;
            self.before_consul.let_everything_through();
            self.before_aws.let_everything_through();
            let reached = attempt.reached();
            let said = format!("{}, {when:?} {reached:?}", path.name);
            match (&ended, reached) {
                // It came to no further call.
                (Some(Ok(_)), None) => {
                    self.clean_up(path).await;
                    return killed;
                }
                (None, Some(point)) => drop(killed.insert(point)),
                // It failed before, or gave the call up and went on: the same call once more.
                _ => {
                    other_ends += 1;
                    let printed = invocation.printed();
                    assert!(other_ends < OTHER_ENDS, "{said}: not killed, but {ended:?}; it printed:\n{printed}");
                }
            }
            drop(invocation);
            self.no_call_is_under_way().await;
            // Then the next delivery does what is left, and a later sweep
            self.done(function, &message).await;
            self.clean_up(path).await;
            self.controller.sweep_later().await;
            let wrong = self.crowd.violations().await;
            assert!(wrong.is_empty(), "{said}: {wrong:#?}");
        }
    }

    /// Waits until all that a killed function has asked for is done: AWS and Consul do not know that nobody listens.
    async fn no_call_is_under_way(&self) {
        self.before_consul.clients_have_left().await;
        self.before_aws.clients_have_left().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_at_any_of_its_calls_a_function_leaves_nothing_that_the_next_delivery_and_a_sweep_do_not_heal() {
    stream::iter(&PATHS).map(killed_at_every_call).buffer_unordered(AT_ONCE).collect::<Vec<()>>().await;
}

async fn killed_at_every_call(path: &Path) {
    let mut scene = Scene::set(path.name).await;
    let mut kills = 0;
    for when in [When::Before, When::After] {
        let killed = scene.walk(path, when).await;
        kills += killed.len();
        let missing: Vec<&str> = path.calls.iter().copied().filter(|call| !is_in(&killed, call)).collect();
        assert!(missing.is_empty(), "{} was not killed {when:?} {missing:?}, but {killed:?}", path.name);
    }
    // When every task has stopped, and also the looks are done that are due later
    for index in 0..scene.crowd.members.len() {
        scene.crowd.stop(index).await;
    }
    scene.controller.finish(&scene.crowd).await;
    scene.controller.sweep_to_the_end().await;
    // Then all is well, and a sweep finds nothing to do
    scene.crowd.leaves_orphans = false;
    scene.crowd.converged().await;
    let summary = scene.done(RECONCILE, &json!({})).await;
    let cluster = &summary["clusters"][0];
    assert_eq!(
        (&summary["outcome"], &cluster["hidden"], &cluster["deleted"], &cluster["created"]),
        (&json!("done"), &json!(0), &json!({}), &json!({}))
    );
    scene.crowd.converged().await;
    tell(&format!("{}: killed before and after each of its calls, {kills} times in all", path.name));
}

fn is_in(killed: &BTreeSet<Point>, call: &str) -> bool {
    killed.iter().any(|point| point.to_string() == call)
}
