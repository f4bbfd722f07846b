//! Pending calls: every call of an edge waits until the schedule serves it. A call may take effect although its caller was killed
//! or has timed out meanwhile.

use std::{
    fmt,
    sync::{Arc, Mutex},
};

use tokio::sync::oneshot;

use super::{
    scenario::Scenario,
    world::{World, note},
};

/// The service that a call is made to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Service {
    Consul,
    Ec2,
    Ecs,
    Iam,
    Secrets,
    Sqs,
}

/// The outcome of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallOutcome {
    Served,
    /// An error, without effect.
    Refused(Fault),
    /// It takes effect, and the caller gets an error.
    AnswerLost,
    /// It takes effect, its answer is lost, and the client retries it.
    Repeated,
}

/// Why a call fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    Throttled,
    Unavailable,
    /// The service does not answer.
    NoAnswer,
    /// Consul does not know the controller's token; AWS refuses the function's request.
    Credential,
}

type Effect = Box<dyn FnMut(&mut World, CallOutcome) + Send>;

/// A call that has not been answered yet.
pub(crate) struct PendingCall {
    pub(crate) environment: usize,
    pub(crate) service: Service,
    pub(crate) since: u64,
    /// The time until which the call, or its answer, is stuck in the network.
    pub(crate) stuck_until: u64,
    effect: Effect,
    performed: bool,
    /// Tells the caller that its answer is there. `None` for a copy of the call, which takes effect again.
    caller: Option<oneshot::Sender<()>>,
}

/// The state that the edges and the schedule share.
pub(crate) struct Shared {
    pub(crate) world: Mutex<World>,
    pub(crate) pending: Mutex<Vec<PendingCall>>,
}

impl PendingCall {
    /// The factor by which the call may take longer than `longest_call`.
    fn excess(&self, scenario: &Scenario) -> u64 {
        match (self.performed, self.is_abandoned()) {
            (true, _) => scenario.late_answers,
            (false, true) => scenario.late_effects,
            (false, false) => 1,
        }
    }

    /// Whether the call has reached its longest duration.
    pub(crate) fn is_late(&self, world: &World) -> bool {
        self.since + world.scenario.longest_call * self.excess(&world.scenario) < world.now
    }

    /// Whether the call is stuck. Once faults have ended, only calls that exceed a bound are.
    pub(crate) fn is_stuck(&self, world: &World) -> bool {
        let excess = self.excess(&world.scenario);
        let stuck_for = self.stuck_until.saturating_sub(self.since);
        let may_be_stuck = excess > 1 || !world.fault_free;
        may_be_stuck && self.since + stuck_for * excess > world.now
    }

    pub(crate) fn is_performed(&self) -> bool {
        self.performed
    }

    pub(crate) fn is_abandoned(&self) -> bool {
        self.caller.as_ref().is_none_or(oneshot::Sender::is_closed)
    }

    pub(crate) fn perform(&mut self, world: &mut World, outcome: CallOutcome) {
        world.caller = self.environment;
        (self.effect)(world, outcome);
        self.performed = true;
        self.stuck_until = world.stuck_until();
    }

    /// Delivers the answer to the caller.
    pub(crate) fn deliver(&mut self) {
        // An error means that the caller has ended.
        let _ = self.caller.take().map(|caller| caller.send(()));
    }

    /// Delivers the answer; a copy of the call stays pending, and takes effect again.
    pub(crate) fn deliver_and_repeat(mut self, world: &mut World) -> Self {
        self.deliver();
        Self { since: world.now, stuck_until: world.stuck_until(), performed: false, ..self }
    }
}

/// One environment's connection to the world.
#[derive(Clone)]
pub(crate) struct Connection {
    pub(crate) shared: Arc<Shared>,
    pub(crate) environment: usize,
}

impl Connection {
    /// Makes a call, and waits until the schedule has served it and delivered its answer.
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
            let mut world = self.shared.world.lock().unwrap();
            let label = (world.trace.is_some() || world.scenario.observes).then(label).unwrap_or_default();
            world.check_observes(service, &label);
            (world.now, world.stuck_until(), label)
        };
        let environment = self.environment;
        let effect = move |world: &mut World, outcome: CallOutcome| {
            let result = match outcome {
                CallOutcome::Served => effect(world),
                CallOutcome::Refused(fault) => Err(failure(fault)),
                CallOutcome::AnswerLost => {
                    drop(effect(world));
                    Err(failure(Fault::NoAnswer))
                }
                CallOutcome::Repeated => {
                    drop(effect(world));
                    effect(world)
                }
            };
            if world.trace.is_some() {
                let shown = match &result {
                    Ok(value) => format!("{value:?}"),
                    Err(error) => format!("ERROR {error}"),
                };
                let outcome = if outcome == CallOutcome::Served { String::new() } else { format!(" [{outcome:?}]") };
                note!(world, "environment {environment} {service:?}: {label}{outcome} -> {}", cut(&shown));
            }
            *answer.lock().unwrap() = Some(result);
        };
        let (caller, delivered) = oneshot::channel();
        self.shared.pending.lock().unwrap().push(PendingCall {
            environment,
            service,
            since,
            stuck_until,
            effect: Box::new(effect),
            performed: false,
            caller: Some(caller),
        });
        // Unconstrained, because all invocations run in the schedule's task, whose budget would delay answers.
        let _ = tokio::task::unconstrained(delivered).await;
        slot.lock().unwrap().take().expect("an answer, once")
    }
}

/// A text shortened for the trace.
fn cut(text: &str) -> String {
    let text = text.replace("arn:aws:ecs:us-east-1:123456789012:", "").replace("0000000000000000000000000000", "");
    let mut shown: String = text.chars().take(250).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}
