//! The controller in this process, with a clock that is ahead: for what is not under test, and for looks that are due
//! later.
//!
//! A token is hidden for a while before it is deleted: until whoever was at work has ended, and ECS's lists have caught up.
//! Both can be had at once here: a test sees when no message is in work any more, and `MiniStack`'s lists do not lag. So the
//! waiting looks are taken from the queue, and done by the same controller at the time that they are due.

use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use controller::{
    BatchReport, Clock, Controller, Deadline, Delivery, Edges, SweepOrder, SweepOutcome, settings::Settings,
};
use ecs_mesh_controller::wiring;
use jiff::{SignedDuration, Timestamp};
use local_stack::world::TIME_BOUNDS;
use serde_json::Value;
use test_harness::crowd::Crowd;

/// The function's time-out.
const TIME: Duration = Duration::from_secs(60);
/// Later than a look is due that deletes a hidden token.
const LATER_SECONDS: i64 = 75;
/// How often a message is delivered.
const DELIVERIES: usize = 5;
/// How often looks may ask for further ones: the one that hides a token asks for the one that deletes it.
const ROUNDS: usize = 6;
/// How many messages make a batch.
const BATCH: usize = 10;

/// The controller, as it is configured for a crowd.
pub(crate) struct LocalController {
    controller: Controller,
    ahead: Arc<AtomicI64>,
}

/// A clock that is so many seconds ahead.
struct Ahead(Arc<AtomicI64>);

impl Clock for Ahead {
    fn now(&self) -> Timestamp {
        Timestamp::now() + SignedDuration::from_secs(self.0.load(Ordering::SeqCst))
    }
}

impl LocalController {
    /// A controller with this grace period.
    pub(crate) async fn start(crowd: &Crowd<'_>, grace: Duration) -> Self {
        let world = &crowd.world;
        let settings = Settings::read(|name| {
            Some(match name {
                "CONSUL_HTTP_ADDR" => world.consul.address.clone(),
                "CONSUL_HTTP_TOKEN" => world.consul.management_token.clone(),
                "ECS_CLUSTER_ARNS" => world.cluster(),
                "SECRET_NAME_PREFIX" => world.prefix.to_owned(),
                "QUEUE_URL" => world.deployed.queue_url.clone(),
                "TOKEN_MODE" => crowd.mode.to_owned(),
                "REVOCATION_GRACE_SECONDS" => grace.as_secs().to_string(),
                "TIME_BOUNDS" => TIME_BOUNDS.to_owned(),
                // The auth method of tasks is of a type that Consul has from 1.12 on.
                "BOOTSTRAP" => "none".to_owned(),
                _ => return None,
            })
        })
        .expect("settings");
        let edges = wiring::connect(&settings, &world.aws.sdk()).await.expect("edges");
        let ahead = Arc::new(AtomicI64::new(0));
        let edges = Edges { clock: Arc::new(Ahead(Arc::clone(&ahead))), ..edges };
        Self { controller: Controller::new(settings.scope, edges), ahead }
    }

    /// Does a message's work; what fails on a busy machine is delivered again, as SQS does.
    pub(crate) async fn done(&self, message: &Value) {
        self.all_done(&[message.to_string()]).await;
    }

    async fn all_done(&self, bodies: &[String]) {
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

    /// Sweeps until idle services have nothing.
    pub(crate) async fn sweep_to_the_end(&self) {
        for _ in 0..SWEEPS_TO_THE_END {
            self.sweep_later().await;
        }
    }

    /// Sweeps when everything that there is now is old, again if a busy machine lets a call time out.
    pub(crate) async fn sweep_later(&self) {
        self.ahead.fetch_add(LATER_SECONDS, Ordering::SeqCst);
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

    /// Does all that waits in the queue of a crowd whose functions are at work on nothing, each at the time that it is due.
    pub(crate) async fn finish(&self, crowd: &Crowd<'_>) {
        let (aws, url) = (crowd.world.aws, &crowd.world.deployed.queue_url);
        let mut waiting = Vec::new();
        for _ in 0..ROUNDS {
            waiting = aws.messages(url).await;
            if waiting.is_empty() {
                return;
            }
            aws.sqs().purge_queue().queue_url(url).send().await.expect("PurgeQueue");
            self.ahead.fetch_add(LATER_SECONDS, Ordering::SeqCst);
            let mut bodies: Vec<String> = waiting.iter().map(|it| it["Body"].as_str().unwrap().to_owned()).collect();
            // Looks at one service do the same.
            bodies.sort();
            bodies.dedup();
            for batch in bodies.chunks(BATCH) {
                self.all_done(batch).await;
            }
        }
        panic!("looks ask for further looks without end: {waiting:#?}");
    }
}

/// How many sweeps an idle service needs at most: one hides its token, one deletes it, and one what no secret names.
const SWEEPS_TO_THE_END: usize = 3;

/// After a sweep: waits until the events are done, does the looks that are due later, sweeps until idle services have nothing,
/// and asserts that nothing was given up and that everything has converged.
pub(crate) async fn converges(crowd: &Crowd<'_>) {
    crowd.worked_off().await;
    let controller = LocalController::start(crowd, local_stack::world::GRACE).await;
    controller.finish(crowd).await;
    controller.sweep_to_the_end().await;
    crowd.nothing_given_up().await;
    crowd.converged().await;
}
