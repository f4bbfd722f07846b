//! The controller: has what is read ([`observe`]) planned ([`mesh::plan`]), and applies the plan.
//!
//! ```text
//!  messages ─▶ events ─▶ Observer::observe ─────┐
//!                 │                             ├─▶ mesh::plan ─▶ apply ─▶ tokens · nodes · catalog
//!  schedule ─▶ sweep ─┬▶ Observer::read_world ──┘                   │
//!                 └─▶ bootstrap                                     └─▶ idle check, delayed ─▶ events
//!  deployment ─▶ preflight, bootstrap, sweep; deletion of the stack ─▶ cleanup
//! ```
//!
//! - `events`, `sweep`, `bootstrap`, `check`, `cleanup`: the operations of [`Controller`].
//! - `planner`: the plan of a sweep for commands, which have nothing that writes.
//! - `context`: what they share: the settings, who reads, and the stack's own queue and announcements.
//! - `repair`: registers what Consul lacks of running tasks, corrects checks, and finds tasks that cannot be repaired.
//! - `apply`, `tokens`, `bootstrap`: the only ones with [`Writes`]. `without_writes`: what mode `observe` has instead.

mod action;
mod announcement;
mod apply;
pub mod bootstrap;
mod check;
mod cleanup;
mod context;
mod edges;
mod error;
mod events;
mod failures;
mod message;
mod outcome;
mod planner;
mod repair;
pub mod settings;
mod sweep;
mod tokens;
mod without_writes;

use std::{sync::Arc, time::Duration};

use mesh::{arn::ClusterArn, scope::Scope, settings::Mode};
use observe::{Deadline, SweepOrder, TimestampCache};
use report::{CheckReport, SweepReport};

use self::{
    apply::Applier,
    bootstrap::Bootstrap,
    check::{InstallationCheck, Preflight, add_sweep},
    cleanup::Cleanup,
    context::Context,
    events::TaskEvents,
    repair::Repairs,
    sweep::Sweep,
    tokens::Tokens,
};
pub use self::{
    bootstrap::{BootstrapError, BootstrapFailure, BootstrapReport},
    check::{MissingPermission, PreflightError},
    cleanup::CleanupReport,
    edges::{ConsulWrites, Edges, Entropy, Queue, SystemEntropy, Writes},
    error::ControllerError,
    events::{BatchReport, Failure},
    message::Delivery,
    planner::Planner,
};

/// The controller of one deployment, in one execution environment. It delegates to one type for each operation; these
/// share the caches of the environment.
pub struct Controller {
    context: Arc<Context>,
    task_events: TaskEvents,
    sweep: Arc<Sweep>,
    bootstrap: Arc<Bootstrap>,
    preflight: Preflight,
    check: InstallationCheck,
    cleanup: Cleanup,
}

impl Controller {
    /// A controller with empty caches. In mode `observe` it sends no write, except to its own queue and the event bus.
    pub fn new(scope: Scope, edges: Edges) -> Self {
        let [writes, no_writes] = [scope.mode, Mode::Observe].map(|mode| without_writes::in_mode(mode, &edges));
        let context = Arc::new(Context::new(scope, edges));
        let tokens = Arc::new(Tokens::new(&context, &writes));
        let applier = Arc::new(Applier::new(&context, &tokens, &writes));
        let bootstrap = Arc::new(Bootstrap::new(&context, context.scope.mode, &writes));
        let check = InstallationCheck { bootstrap: Bootstrap::new(&context, Mode::Observe, &no_writes) };
        let repairs = Repairs { context: Arc::clone(&context), applier: Arc::clone(&applier) };
        let sweep = Arc::new(Sweep {
            context: Arc::clone(&context),
            applier: Arc::clone(&applier),
            bootstrap: Arc::clone(&bootstrap),
            repairs,
        });
        Self {
            task_events: TaskEvents {
                context: Arc::clone(&context),
                applier: Arc::clone(&applier),
                bootstrap: Arc::clone(&bootstrap),
                sweep: Arc::clone(&sweep),
                tokens: Arc::clone(&tokens),
                ordered: TimestampCache::default(),
            },
            sweep,
            check,
            preflight: Preflight { context: Arc::clone(&context) },
            cleanup: Cleanup { context: Arc::clone(&context), applier, tokens },
            bootstrap,
            context,
        }
    }

    /// Whether it acts.
    pub fn mode(&self) -> Mode {
        self.context.scope.mode
    }

    /// How often sweeps are scheduled.
    pub fn sweep_interval(&self) -> Duration {
        self.context.scope.sweep_interval
    }

    /// Whether `cluster` is one of the configured ones.
    pub fn manages(&self, cluster: &ClusterArn) -> bool {
        self.context.scope.clusters.contains(cluster)
    }

    /// Processes a batch of messages until all are done or time runs out.
    pub async fn handle(&self, deliveries: &[Delivery], deadline: Deadline) -> BatchReport {
        let report = self.task_events.handle(deliveries, deadline).await;
        self.context.announcer.send(deadline).await;
        report
    }

    /// Sweeps whole clusters: observes them, and applies what time and the guard allow of the plan.
    pub async fn sweep(&self, order: &SweepOrder, deadline: Deadline) -> SweepReport {
        let report = self.sweep.run(order, deadline).await;
        self.context.announcer.send(deadline).await;
        report
    }

    /// Creates the Consul objects that the deployment requires. A failed object does not prevent the others, except
    /// those that refer to it.
    pub async fn bootstrap(&self, deadline: Deadline) -> BootstrapReport {
        self.bootstrap.run(deadline).await
    }

    /// Checks that Consul answers, and that the controller's own token has every permission that it requires in the
    /// clusters' partitions. Changes nothing.
    ///
    /// # Errors
    /// The missing permissions, as the rules that grant them; or why Consul could not be asked.
    pub async fn preflight(&self) -> Result<(), PreflightError> {
        self.preflight.run().await
    }

    /// Checks what the functions need, and plans a sweep. Changes nothing.
    pub async fn check(&self, deadline: Deadline) -> CheckReport {
        let mut report = self.check.run(&self.preflight, deadline).await;
        if report.consul.is_none() {
            let order = SweepOrder { dry_run: true, ..SweepOrder::default() };
            add_sweep(&mut report, self.sweep.run(&order, deadline).await);
        }
        report
    }

    /// Removes every token, service, check and node that the controller owns.
    pub async fn clean_up(&self, deadline: Deadline) -> CleanupReport {
        let report = self.cleanup.run(deadline).await;
        self.context.announcer.send(deadline).await;
        report
    }
}
