//! Where calls wait: every call of an edge is put here, and goes on only when the schedule serves it. Whoever calls may
//! be killed meanwhile, or give up: then the call may take effect all the same.

use std::{
    fmt,
    future::Future,
    pin::Pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    task::{Context, Poll, Waker},
};

use super::{
    scenario::Scenario,
    world::{World, note},
};

/// Whom a call is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Service {
    Consul,
    Ecs,
    Secrets,
    Sqs,
}

/// What becomes of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    Served,
    /// An error, without effect.
    Refused(Fault),
    /// It takes effect, and an error is answered.
    AnswerLost,
    /// It takes effect, its answer is lost, and the client repeats it.
    Repeated,
}

/// Why a call fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    Throttled,
    Unavailable,
    /// Consul does not know the controller's own token; Secrets Manager does not let the function write.
    Credential,
}

type Effect = Box<dyn FnMut(&mut World, Fate) + Send>;

/// A call that waits.
pub(crate) struct Operation {
    pub(crate) environment: usize,
    pub(crate) service: Service,
    pub(crate) since: u64,
    /// Until when it is stuck somewhere on its way, or its answer is.
    pub(crate) stuck_until: u64,
    effect: Effect,
    performed: bool,
    ticket: Arc<Ticket>,
}

/// What the caller holds of it.
#[derive(Default)]
struct Ticket {
    delivered: AtomicBool,
    abandoned: AtomicBool,
    waker: Mutex<Option<Waker>>,
}

/// All that the edges and the schedule share.
pub(crate) struct Stage {
    pub(crate) world: Mutex<World>,
    pub(crate) board: Mutex<Vec<Operation>>,
}

impl Operation {
    /// How many times longer it may take than a bound allows.
    fn excess(&self, scenario: &Scenario) -> u64 {
        match (self.performed, self.is_abandoned()) {
            (true, _) => scenario.late_answers,
            (false, true) => scenario.late_effects,
            (false, false) => 1,
        }
    }

    /// Whether it may take no longer.
    pub(crate) fn is_late(&self, world: &World) -> bool {
        self.since + world.scenario.longest_call * self.excess(&world.scenario) < world.now
    }

    /// Whether it is stuck. Once all is calm, only what exceeds a bound is.
    pub(crate) fn is_stuck(&self, world: &World) -> bool {
        let excess = self.excess(&world.scenario);
        let stuck_for = self.stuck_until.saturating_sub(self.since);
        let may_be_stuck = excess > 1 || !world.calm;
        may_be_stuck && self.since + stuck_for * excess > world.now
    }

    pub(crate) fn is_performed(&self) -> bool {
        self.performed
    }

    pub(crate) fn is_abandoned(&self) -> bool {
        self.ticket.abandoned.load(SeqCst)
    }

    pub(crate) fn perform(&mut self, world: &mut World, fate: Fate) {
        world.caller = self.environment;
        (self.effect)(world, fate);
        self.performed = true;
        self.stuck_until = world.stuck_until();
    }

    /// Hands the answer over.
    pub(crate) fn deliver(&self) {
        self.ticket.delivered.store(true, SeqCst);
        if let Some(waker) = self.ticket.waker.lock().unwrap().take() {
            waker.wake();
        }
    }

    /// Hands the answer over; the call is still somewhere on its way, and takes effect once more.
    pub(crate) fn deliver_and_repeat(self, world: &mut World) -> Self {
        self.deliver();
        let ticket = Arc::new(Ticket { abandoned: AtomicBool::new(true), ..Ticket::default() });
        Self { since: world.now, stuck_until: world.stuck_until(), performed: false, ticket, ..self }
    }
}

/// One environment's way to the world.
#[derive(Clone)]
pub(crate) struct Line {
    pub(crate) stage: Arc<Stage>,
    pub(crate) environment: usize,
}

impl Line {
    /// Makes a call: waits until the schedule lets it happen, and until it hands over the answer.
    pub(crate) async fn call<T, E>(
        &self,
        service: Service,
        label: impl FnOnce() -> String,
        mut effect: impl FnMut(&mut World) -> Result<T, E> + Send + 'static,
        failure: impl Fn(Fault) -> E + Send + 'static,
    ) -> Result<T, E>
    where
        T: fmt::Debug + Send + 'static,
        E: fmt::Display + Send + 'static,
    {
        let slot = Arc::new(Mutex::new(None));
        let answer = Arc::clone(&slot);
        let (since, stuck_until, label) = {
            let mut world = self.stage.world.lock().unwrap();
            (world.now, world.stuck_until(), world.trace.is_some().then(label).unwrap_or_default())
        };
        let environment = self.environment;
        let effect = move |world: &mut World, fate: Fate| {
            let result = match fate {
                Fate::Served => effect(world),
                Fate::Refused(fault) => Err(failure(fault)),
                Fate::AnswerLost => {
                    drop(effect(world));
                    Err(failure(Fault::Unavailable))
                }
                Fate::Repeated => {
                    drop(effect(world));
                    effect(world)
                }
            };
            if world.trace.is_some() {
                let shown = match &result {
                    Ok(value) => format!("{value:?}"),
                    Err(error) => format!("ERROR {error}"),
                };
                let fate = if fate == Fate::Served { String::new() } else { format!(" [{fate:?}]") };
                note!(world, "environment {environment} {service:?}: {label}{fate} -> {}", cut(&shown));
            }
            *answer.lock().unwrap() = Some(result);
        };
        let ticket = Arc::new(Ticket::default());
        self.stage.board.lock().unwrap().push(Operation {
            environment,
            service,
            since,
            stuck_until,
            effect: Box::new(effect),
            performed: false,
            ticket: Arc::clone(&ticket),
        });
        Call { ticket, slot }.await
    }
}

fn cut(text: &str) -> String {
    let text = text.replace("arn:aws:ecs:us-east-1:123456789012:", "").replace("0000000000000000000000000000", "");
    let mut shown: String = text.chars().take(250).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}

struct Call<T> {
    ticket: Arc<Ticket>,
    slot: Arc<Mutex<Option<T>>>,
}

impl<T> Future for Call<T> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        if self.ticket.delivered.load(SeqCst) {
            return Poll::Ready(self.slot.lock().unwrap().take().expect("an answer, once"));
        }
        *self.ticket.waker.lock().unwrap() = Some(context.waker().clone());
        Poll::Pending
    }
}

impl<T> Drop for Call<T> {
    fn drop(&mut self) {
        if !self.ticket.delivered.load(SeqCst) {
            self.ticket.abandoned.store(true, SeqCst);
        }
    }
}
