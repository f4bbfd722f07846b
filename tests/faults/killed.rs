//! The functions' own binaries, killed before and after each of their calls, on every path: whatever half-done work that
//! leaves behind heals when the message is delivered once more.

#[path = "killed/paths.rs"]
mod paths;

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures::future::join_all;
use serde_json::{Value, json};

use self::paths::{PATHS, Path};
use crate::tell;
use local_stack::{
    Stack, functions,
    pids::{self, Signal},
    wait::eventually,
    world::World,
};
use test_harness::{
    crowd::Crowd,
    invocation::{Invocation, Place},
    proxy::{Deed, Dialect, Fault, Proxy, What, When},
};

const TASK_EVENTS: &str = "TaskEventsFunction";
const RECONCILE: &str = "ReconcileFunction";
/// Services are idle at once; and the guard, which would hold back what a handful of tasks do, is another test's.
const SETTINGS: [(&str, &str); 3] =
    [("REVOCATION_GRACE_SECONDS", "0"), ("BOOTSTRAP", "none"), ("MAX_DELETE_PERCENT", "100")];
/// How often a message is delivered, where nobody is killed.
const DELIVERIES: usize = 3;
/// A path has fewer calls than this.
const LONGEST_PATH: usize = 60;
/// Looks that follow a revocation come after 70 seconds.
const PATIENCE: Duration = Duration::from_secs(180);

/// A cluster with a queue of its own, and proxies before all that its functions call.
struct Scene<'a> {
    crowd: Crowd<'a>,
    before_consul: Proxy,
    before_aws: Proxy,
}

impl Scene<'_> {
    async fn set(name: &'static str) -> Self {
        let stack = Stack::shared().await;
        let world = World::without_deployment(name).await;
        let mut crowd = Crowd::of(world, "secrets-manager").await;
        crowd.logs_in = true;
        crowd.found_services(2).await;
        Self {
            crowd,
            before_consul: Proxy::before(&stack.consul.address, Dialect::Consul).await,
            before_aws: Proxy::before(&stack.aws.endpoint, Dialect::Aws).await,
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

    /// Has a message's work done undisturbed: like SQS, delivers it again if a busy machine lets a call time out.
    async fn done(&self, function: &str, payload: &Value) -> Value {
        let mut last = Value::Null;
        for _ in 0..DELIVERIES {
            match self.invoke(function, payload).await.answered().await {
                Ok(answer) => return answer,
                Err(error) => last = error,
            }
        }
        panic!("{payload} failed: {last}");
    }

    /// From now on, the `fatal`th call kills the process that makes it.
    fn kill_at(&self, fatal: usize, when: When) {
        let calls = Arc::new(AtomicUsize::new(0));
        for proxy in [&self.before_consul, &self.before_aws] {
            let calls = Arc::clone(&calls);
            proxy.script(move |_| {
                let kill: Deed = Arc::new(|peer| {
                    let owner = pids::owner_of(peer.port(), &pids::children(std::process::id()));
                    pids::signal(owner.expect("somebody calls"), Signal::Kill);
                });
                let is_fatal = calls.fetch_add(1, Ordering::SeqCst) + 1 == fatal;
                is_fatal.then(|| Fault { what: What::End("function killed", kill), when })
            });
        }
    }

    fn kill_nobody(&self) {
        self.before_consul.fair();
        self.before_aws.fair();
    }

    /// Kills the function at every call of a path in turn, and delivers the message once more each time. The answer is
    /// how often.
    async fn walk(&mut self, path: &Path) -> usize {
        let mut kills = 0;
        for when in [When::Before, When::After] {
            for fatal in 1.. {
                assert!(fatal < LONGEST_PATH, "{} does not end", path.name);
                let (function, payload) = self.prepare(path).await;
                self.kill_at(fatal, when);
                let ended = self.invoke(function, &payload).await.ended().await;
                self.kill_nobody();
                match ended {
                    Some(Ok(_)) => {
                        self.clean_up(path).await;
                        break;
                    }
                    // Killed; or, on a busy machine, failed before it came to that call.
                    None => kills += 1,
                    Some(Err(_)) => {}
                }
                self.done(function, &payload).await;
                let said = format!("{}, killed {when:?} call {fatal}", path.name);
                self.clean_up(path).await;
                // A pair that Consul does not know is blanked only when nobody can be about to create it.
                let mut wrong = self.crowd.violations().await;
                wrong.retain(|wrong| !wrong.contains("has [], and its secret holds a token"));
                assert!(wrong.is_empty(), "{said}: {wrong:#?}");
            }
        }
        kills
    }

    /// Works on the queue until it is empty, as Lambda would.
    async fn drain(&self) {
        let (sqs, url) = (self.crowd.world.aws.sqs(), &self.crowd.world.deployed.queue_url);
        eventually("the queue to be empty", PATIENCE, || async {
            let received = sqs.receive_message().queue_url(url).max_number_of_messages(10).send().await;
            let messages = received.expect("ReceiveMessage").messages.unwrap_or_default();
            let record = |message: &aws_sdk_sqs::types::Message| {
                json!({ "messageId": message.message_id, "receiptHandle": message.receipt_handle, "body": message.body })
            };
            if !messages.is_empty() {
                let records: Vec<Value> = messages.iter().map(record).collect();
                let answer = self.done(TASK_EVENTS, &json!({ "Records": records })).await;
                assert_eq!(answer["batchItemFailures"], json!([]), "{records:?}");
            }
            for message in &messages {
                let receipt = message.receipt_handle().expect("a receipt");
                sqs.delete_message().queue_url(url).receipt_handle(receipt).send().await.expect("DeleteMessage");
            }
            let left = self.crowd.world.aws.messages(url).await;
            if left.is_empty() { Ok(()) } else { Err(format!("{} messages", left.len())) }
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_at_any_of_its_calls_a_function_leaves_nothing_that_the_next_delivery_does_not_heal() {
    // Side by side, because most of the time is spent waiting for looks that are due later.
    join_all(PATHS.iter().map(killed_at_every_call)).await;
}

async fn killed_at_every_call(path: &Path) {
    let mut scene = Scene::set(path.name).await;
    let kills = scene.walk(path).await;
    assert!(kills >= path.calls_at_least, "only {kills} kills: is the path still what it was?");
    // When also the looks are done that are due later
    scene.drain().await;
    // Then all is well, and a sweep finds nothing to do
    scene.crowd.converged().await;
    let summary = scene.done(RECONCILE, &json!({})).await;
    let cluster = &summary["clusters"][0];
    assert_eq!(
        (&summary["outcome"], &cluster["deleted"], &cluster["created"]),
        (&json!("done"), &json!({}), &json!({}))
    );
    scene.crowd.converged().await;
    tell(&format!("{}: killed at each of its calls, {kills} times in all", path.name));
}
