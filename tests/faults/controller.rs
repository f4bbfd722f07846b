//! The controller in this process, with a clock that can be advanced: for work that is not under test, and for idle checks that are
//! due later.
//!
//! A hidden token is deleted only after the time bounds, when concurrent attempts have ended and ECS's listings have caught up.
//! A test need not wait for that: it sees when no message is in flight, and `MiniStack`'s listings do not lag. So it takes
//! delayed idle checks from the queue, and handles them with a clock at which they are due.

use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use consul::RetryPolicy;
use controller::{BatchReport, Controller, Delivery, Edges, settings::Settings};
use ecs_mesh_controller::wiring;
use jiff::{SignedDuration, Timestamp};
use local_stack::deploy::TIME_BOUNDS;
use observe::{Clock, Deadline, Reads, SweepOrder};
use report::SweepOutcome;
use test_harness::fleet::Fleet;

/// The function's timeout.
const TIME: Duration = Duration::from_secs(60);
/// Longer than the delay of the idle check that deletes a hidden token.
const LATER_SECONDS: i64 = 75;
/// The most deliveries of a message.
const DELIVERIES: usize = 5;
/// The most rounds of idle checks: the check that hides a token schedules the one that deletes it.
const ROUNDS: usize = 6;
/// The messages of a batch.
const BATCH: usize = 10;

/// The controller, configured for a fleet.
pub(crate) struct LocalController {
    controller: Controller,
    clock_offset: Arc<AtomicI64>,
}

/// A clock with an offset in seconds.
struct OffsetClock(Arc<AtomicI64>);

impl Clock for OffsetClock {
    fn now(&self) -> Timestamp {
        Timestamp::now() + SignedDuration::from_secs(self.0.load(Ordering::SeqCst))
    }
}

impl LocalController {
    /// A controller with this grace period.
    pub(crate) async fn start(fleet: &Fleet<'_>, grace: Duration) -> Self {
        let world = &fleet.world;
        let settings = Settings::read(|name| {
            Some(match name {
                "CONSUL_HTTP_ADDR" => world.consul.address.clone(),
                "CONSUL_HTTP_TOKEN" => world.consul.management_token.clone(),
                "ECS_CLUSTER_ARNS" => world.cluster(),
                "SECRET_NAME_PREFIX" => world.prefix.to_owned(),
                "QUEUE_URL" => world.deployed.queue_url.clone(),
                "TOKEN_MODE" => fleet.mode.to_owned(),
                "REVOCATION_GRACE_SECONDS" => grace.as_secs().to_string(),
                "TIME_BOUNDS" => TIME_BOUNDS.to_owned(),
                // The tasks' auth method has a type that Consul supports since 1.12.
                "BOOTSTRAP" => "none".to_owned(),
                _ => return None,
            })
        })
        .expect("settings");
        let edges =
            wiring::Clients::new(&settings, &world.aws.sdk(), RetryPolicy::for_events()).await.expect("clients").edges;
        let clock_offset = Arc::new(AtomicI64::new(0));
        let edges =
            Edges { reads: Reads { clock: Arc::new(OffsetClock(Arc::clone(&clock_offset))), ..edges.reads }, ..edges };
        Self { controller: Controller::new(settings.scope, edges), clock_offset }
    }

    /// Handles messages. If they fail, as calls may on a busy machine, they are delivered again, as by SQS.
    async fn handle_all(&self, bodies: &[String]) {
        let mut report = BatchReport::default();
        for _ in 0..DELIVERIES {
            let delivery = |(index, body): (usize, &String)| Delivery {
                id: index.to_string(),
                receipt: None,
                receives: 1,
                body: body.clone(),
            };
            let deliveries: Vec<Delivery> = bodies.iter().enumerate().map(delivery).collect();
            report = self.controller.handle(&deliveries, Deadline::after(TIME)).await;
            if report.failures.is_empty() {
                return;
            }
        }
        panic!("{bodies:#?} failed {DELIVERIES} times: {report:#?}");
    }

    /// Sweeps until idle services have no tokens.
    pub(crate) async fn sweep_until_clean(&self) {
        for _ in 0..SWEEPS_UNTIL_CLEAN {
            self.sweep_later().await;
        }
    }

    /// Advances the clock so that no token is too young, and sweeps. If a call times out on a busy machine, it sweeps again.
    pub(crate) async fn sweep_later(&self) {
        self.clock_offset.fetch_add(LATER_SECONDS, Ordering::SeqCst);
        let order = SweepOrder { force: true, ..SweepOrder::default() };
        let mut report = None;
        for _ in 0..DELIVERIES {
            let swept = self.controller.sweep(&order, Deadline::after(TIME)).await;
            if swept.outcome == SweepOutcome::Done {
                return;
            }
            report = Some(swept);
        }
        panic!("{DELIVERIES} sweeps were incomplete, at last: {report:#?}");
    }

    /// Handles all messages in a fleet's queue, including delayed ones. No function may be handling a message.
    pub(crate) async fn finish(&self, fleet: &Fleet<'_>) {
        let (aws, url) = (fleet.world.aws, &fleet.world.deployed.queue_url);
        let mut waiting = Vec::new();
        for _ in 0..ROUNDS {
            waiting = aws.messages(url).await;
            if waiting.is_empty() {
                return;
            }
            aws.sqs().purge_queue().queue_url(url).send().await.expect("PurgeQueue");
            self.clock_offset.fetch_add(LATER_SECONDS, Ordering::SeqCst);
            let mut bodies: Vec<String> = waiting.iter().map(|it| it["Body"].as_str().unwrap().to_owned()).collect();
            // Idle checks of one service are equal.
            bodies.sort();
            bodies.dedup();
            for batch in bodies.chunks(BATCH) {
                self.handle_all(batch).await;
            }
        }
        panic!("idle checks remain after {ROUNDS} rounds: {waiting:#?}");
    }
}

/// The most sweeps that an idle service requires: one hides its token, one deletes it, and one deletes tokens that no secret names.
const SWEEPS_UNTIL_CLEAN: usize = 3;

/// Waits until the events are handled, handles the delayed idle checks, sweeps until idle services have no tokens, and asserts
/// that the dead-letter queue is empty and that the state has converged.
pub(crate) async fn assert_converges(fleet: &Fleet<'_>) {
    fleet.events_handled().await;
    let controller = LocalController::start(fleet, local_stack::world::GRACE).await;
    controller.finish(fleet).await;
    controller.sweep_until_clean().await;
    fleet.assert_no_dead_letters().await;
    fleet.converged().await;
}
