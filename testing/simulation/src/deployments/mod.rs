//! A simulated `CloudFormation` around the real handler of the custom resource. One seed decides every operation of a stack, which
//! neighbour fails when, which answer is lost, which request comes late or twice, and when Consul is down.
//!
//! ```text
//! operations ─▶ stack: status, events, resources ─▶ requests ─▶ custom_resource::handle (a Controller in a Direct world)
//!      └─ create, update, delete, continue a rollback       └─ answered, lost, never run, late, repeated
//! ```
//!
//! In the world, a mesh ran before the stack: a task runs, another has stopped and left its entries, and a secret has a content that
//! is not the controller's. Others use the same Consul: see `set_up`. The promises:
//!
//! - *nothing destroyed*: nothing of the running task is removed, except by the deletion of a completed stack whose last completed
//!   creation or update asked for it.
//! - *cleaned up*: that deletion removes everything.
//! - *never stuck*: a rollback succeeds without Consul, and no value of the secret fails a creation or update. The owner of the
//!   stack can leave every state.
//! - *set up*: after a creation or update that succeeds, Consul has every object of the bootstrap once, although another controller
//!   may have set Consul up at the same time. A binding rule may be there twice, which grants no more, if Consul went down before a
//!   controller could remove its own.
//! - *only extended*: no object of the bootstrap, or of others, is removed or loses a field.
//! - *nothing late*: a request that `CloudFormation` no longer waits for makes no call to Consul.
//!
//! A handler runs to its end before the next step. Without an answer of `CloudFormation` about the stack, a rollback may fail.

mod operations;
mod requests;
mod set_up;
mod stack;

use std::{
    collections::BTreeSet,
    sync::{Arc, atomic::AtomicBool},
};

use fastrand::Rng;
use mesh::mark::TokenDescription;

pub use self::stack::Formation;
use self::stack::Stack;
use crate::{
    calls::{Fault, Service},
    direct::Direct,
    runner::Run,
};

/// What a promise about deployments begins with.
pub(crate) const PREFIX: &str = "deployment: ";

/// The most operations on a stack before its last deletion.
const OPERATIONS: usize = 5;
/// About how many calls to Consul a creation makes.
const LONGEST_SET_UP: usize = 100;

/// One schedule of deployments.
struct Deployments {
    direct: Direct,
    formation: Arc<Formation>,
    random: Rng,
    stack: Stack,
    /// The requests that were sent.
    sent: Vec<serde_json::Value>,
    /// Whether `CloudFormation` says nothing about the stack.
    is_mute: bool,
    /// Whether Consul went down during a request.
    had_outage: bool,
    broken: Option<String>,
    trace: Option<Vec<String>>,
}

/// Runs the deployments of one seed.
pub fn run(seed: u64, traced: bool) -> Run {
    // The controller draws its jitter from this thread's generator.
    fastrand::seed(seed);
    let mut random = Rng::with_seed(seed);
    let is_mute = random.u32(..8) == 0;
    let formation = Arc::new(Formation { is_mute: AtomicBool::new(is_mute), ..Formation::default() });
    let mut deployments = Deployments {
        direct: world(),
        formation,
        random,
        stack: Stack::default(),
        sent: Vec::new(),
        is_mute,
        had_outage: false,
        broken: None,
        trace: traced.then(Vec::new),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(deployments.run());
    Run {
        broken: deployments.broken.map(|promise| format!("{PREFIX}{promise}")),
        trace: deployments.trace.unwrap_or_default(),
    }
}

/// The mesh that ran before.
fn world() -> Direct {
    let direct = Direct::with_leftovers();
    direct.with(|world| {
        world.adopt();
        let name = world.secret_name(0);
        world.put_secret(&name, "second".to_owned(), "not the controller's".to_owned());
    });
    direct
}

impl Deployments {
    /// Operates on the stack, and then deletes it while nothing fails any more.
    async fn run(&mut self) {
        self.prepare_set_up();
        self.toggle_consul();
        self.create().await;
        for _ in 0..self.random.usize(..=OPERATIONS) {
            self.toggle_consul();
            self.remove_object();
            self.redeliver().await;
            match self.stack.status() {
                "CREATE_COMPLETE" | "UPDATE_COMPLETE" | "UPDATE_ROLLBACK_COMPLETE" => self.update().await,
                "UPDATE_ROLLBACK_FAILED" => self.continue_rollback().await,
                _ => {}
            }
            if self.draw(8) {
                self.delete().await;
            }
        }
        self.leave().await;
    }

    /// Does what the owner of a stack can do, with a Consul that answers.
    async fn leave(&mut self) {
        self.set_consul(true);
        self.stack.is_calm = true;
        if self.stack.status() == "UPDATE_ROLLBACK_FAILED" && self.draw(2) {
            self.continue_rollback().await;
            if self.stack.status() != "UPDATE_ROLLBACK_COMPLETE" {
                self.breaks(format!("never stuck: the rollback cannot be continued: {}", self.stack.status()));
            }
        }
        self.delete().await;
        if !self.stack.is_gone() {
            self.breaks(format!("never stuck: the stack cannot be deleted: {}", self.stack.status()));
        }
    }

    /// Draws with a chance of one in so many.
    fn draw(&mut self, one_in: u32) -> bool {
        self.random.u32(..one_in) == 0
    }

    /// Draws whether something goes wrong: nothing does once everything is calm.
    fn fails(&mut self, one_in: u32) -> bool {
        !self.stack.is_calm && self.draw(one_in)
    }

    fn toggle_consul(&mut self) {
        let is_up = !self.draw(3);
        self.set_consul(is_up);
    }

    fn draw_fault(&mut self) -> Fault {
        let faults = [Fault::Throttled, Fault::Unavailable, Fault::NoAnswer, Fault::Credential];
        faults[self.random.usize(..faults.len())]
    }

    /// Consul may fail during the next request, from one of its calls on.
    fn draw_outage(&mut self) {
        if self.fails(8) {
            let (calls, fault) = (self.random.usize(..LONGEST_SET_UP), self.draw_fault());
            self.note(|| format!("Consul goes down after {calls} calls: {fault:?}"));
            self.direct.with(|world| world.outage = Some((world.consul_calls + calls, fault)));
        }
    }

    fn set_consul(&mut self, is_up: bool) {
        let fault = self.draw_fault();
        self.direct.with(|world| {
            world.down.clear();
            if !is_up {
                world.down.insert(Service::Consul, fault);
            }
        });
        let state = if is_up { "up".to_owned() } else { format!("down: {fault:?}") };
        self.note(|| format!("Consul is {state}"));
    }

    fn note(&mut self, what: impl FnOnce() -> String) {
        if let Some(trace) = &mut self.trace {
            trace.push(what());
        }
    }

    fn breaks(&mut self, promise: String) {
        self.note(|| format!("BROKEN {promise}"));
        self.broken.get_or_insert(promise);
    }

    /// What Consul has of the running task, of other owners and of the cluster.
    fn mesh(&self) -> BTreeSet<String> {
        self.direct.with(|world| {
            let task = world.ecs.tasks[0].arn.clone();
            let is_its =
                |description: &TokenDescription| description.login().is_some_and(|mark| mark.task == *task.id());
            let tokens = world.consul.tokens.iter().filter(|it| it.foreign || is_its(&it.description));
            let tokens = tokens.map(|it| format!("token {}", it.accessor));
            let instances = world.consul.instances.iter().filter(|it| it.task == *task.id());
            let instances = instances.map(|it| format!("instance {}", it.id));
            let nodes = world.consul.nodes.iter().map(|node| format!("node {node}"));
            tokens.chain(instances).chain(nodes).collect()
        })
    }

    /// Whether Consul still has something of the deployment's tasks.
    fn has_entries(&self) -> bool {
        self.direct.with(|world| {
            let has_login = world.consul.tokens.iter().any(|it| !it.foreign && it.description.login().is_some());
            has_login || !world.consul.instances.is_empty()
        })
    }

    fn consul_calls(&self) -> usize {
        self.direct.with(|world| world.consul_calls)
    }
}
