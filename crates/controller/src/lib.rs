//! The controller: observes the state of ECS and Consul, plans ([`mesh::plan`]), and applies the plan.
//!
//! ```text
//!  messages ─▶ events ─▶ observe ──┐
//!                 │                ├─▶ mesh::plan ─▶ apply ─▶ tokens · nodes · catalog
//!  schedule ─▶ sweep ─┬▶ survey ───┘                   │
//!                 └─▶ bootstrap                        └─▶ idle check, delayed ─▶ events
//!  deployment ─▶ preflight, bootstrap, sweep; deletion of the stack ─▶ cleanup
//! ```
//!
//! - `events`, `sweep`, `bootstrap`, `check`, `cleanup`: the operations of [`Controller`].
//! - `observe` (single tasks), `survey` (whole clusters), `hosts`, `tasks`: reads. Only `tasks` classifies tasks.
//! - `repair`: registers what Consul lacks of running tasks, corrects checks, and finds tasks that cannot be repaired.
//! - `apply`, `tokens`: writes; `announcement`: what is logged, counted and announced of them.
//! - [`Edges`]: the external services, behind traits, which the simulation implements; `observing`: without their writes.

mod announcement;
mod apply;
pub mod bootstrap;
mod check;
mod cleanup;
mod clock;
mod edges;
mod error;
mod events;
mod failures;
mod hosts;
mod message;
mod observe;
mod observing;
mod repair;
mod scope;
pub mod settings;
mod survey;
mod sweep;
mod tasks;
mod tokens;

use std::{sync::Arc, time::Duration};

use mesh::{arn::ClusterArn, settings::Mode};
use report::{CheckReport, SweepReport};

use self::{
    announcement::Announcer,
    apply::Applier,
    bootstrap::Bootstrap,
    check::{InstallationCheck, Preflight, add_sweep},
    cleanup::Cleanup,
    clock::TimestampCache,
    events::TaskEvents,
    observe::Observer,
    repair::Repairs,
    sweep::Sweep,
    tasks::TaskReader,
    tokens::Tokens,
};
pub use self::{
    bootstrap::{BootstrapError, BootstrapFailure, BootstrapReport},
    check::{MissingPermission, PreflightError},
    cleanup::CleanupReport,
    clock::{Clock, Deadline, SystemClock},
    edges::{Consul, Ecs, Edges, Entropy, Queue, Setup, SystemEntropy},
    error::{ControllerError, Reach},
    events::{BatchReport, Failure},
    message::Delivery,
    scope::Scope,
    survey::{SweepOrder, Waited},
};

/// The controller of one deployment, in one execution environment. It delegates to one type for each operation; these
/// share the caches of the environment.
pub struct Controller {
    scope: Arc<Scope>,
    task_events: TaskEvents,
    sweep: Arc<Sweep>,
    bootstrap: Arc<Bootstrap>,
    preflight: Preflight,
    check: InstallationCheck,
    cleanup: Cleanup,
    announcer: Arc<Announcer>,
}

impl Controller {
    /// A controller with empty caches. In mode `observe` it sends no write, except to its own queue and the event bus.
    pub fn new(scope: Scope, edges: Edges) -> Self {
        let edges = observing::in_mode(scope.mode, edges);
        let scope = Arc::new(scope);
        let tasks = TaskReader {
            scope: Arc::clone(&scope),
            ecs: Arc::clone(&edges.ecs),
            clock: Arc::clone(&edges.clock),
            contradictions: Arc::new(TimestampCache::new()),
        };
        let announcer = Arc::new(Announcer::new(&edges.events, scope.mode, scope.announces_routine));
        let tokens = Arc::new(Tokens {
            scope: Arc::clone(&scope),
            acl: edges.consul.clone(),
            secrets: edges.secrets.clone(),
            queue: edges.queue.clone(),
            clock: Arc::clone(&edges.clock),
            entropy: Arc::clone(&edges.entropy),
            tasks: tasks.clone(),
            announcer: Arc::clone(&announcer),
            cached_until: TimestampCache::new(),
        });
        let applier = Arc::new(Applier::new(&scope, &edges, &tokens, &announcer));
        let observer = Arc::new(Observer {
            tasks: tasks.clone(),
            consul: Arc::clone(&edges.consul),
            ec2: Arc::clone(&edges.ec2),
            tokens,
        });
        let bootstrap = Arc::new(Bootstrap::new(&edges, &tasks));
        let sweep = Arc::new(Sweep {
            tasks: tasks.clone(),
            observer: Arc::clone(&observer),
            applier: Arc::clone(&applier),
            bootstrap: Arc::clone(&bootstrap),
            repairs: Repairs {
                tasks: tasks.clone(),
                consul: Arc::clone(&edges.consul),
                iam: Arc::clone(&edges.iam),
                applier: Arc::clone(&applier),
                announcer: Arc::clone(&announcer),
            },
            queue: edges.queue.clone(),
            entropy: Arc::clone(&edges.entropy),
            announcer: Arc::clone(&announcer),
        });
        Self {
            task_events: TaskEvents::new(&edges, &observer, &applier, &sweep),
            sweep,
            check: InstallationCheck::new(&scope, &edges, &tasks),
            preflight: Preflight { scope: Arc::clone(&scope), consul: edges.bootstrap.clone() },
            cleanup: Cleanup { observer, applier },
            bootstrap,
            announcer,
            scope,
        }
    }

    /// Whether it acts.
    pub fn mode(&self) -> Mode {
        self.scope.mode
    }

    /// How often sweeps are scheduled.
    pub fn sweep_interval(&self) -> Duration {
        self.scope.sweep_interval
    }

    /// Whether `cluster` is one of the configured ones.
    pub fn manages(&self, cluster: &ClusterArn) -> bool {
        self.scope.clusters.contains(cluster)
    }

    /// Processes a batch of messages until all are done or time runs out.
    pub async fn handle(&self, deliveries: &[Delivery], deadline: Deadline) -> BatchReport {
        let report = self.task_events.handle(deliveries, deadline).await;
        self.announcer.send(deadline).await;
        report
    }

    /// Sweeps whole clusters: observes them, and applies what time and the guard allow of the plan.
    pub async fn sweep(&self, order: &SweepOrder, deadline: Deadline) -> SweepReport {
        let report = self.sweep.run(order, deadline).await;
        self.announcer.send(deadline).await;
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
        self.announcer.send(deadline).await;
        report
    }
}
