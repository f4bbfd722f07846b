//! The controller of one deployment, in one execution environment.

use std::{sync::Arc, time::Duration};

use mesh::arn::ClusterArn;

use crate::{
    apply::Applier,
    bootstrap::{Bootstrap, BootstrapReport},
    cleanup::{Cleanup, CleanupReport},
    deadline::Deadline,
    edges::Edges,
    events::{BatchReport, Delivery, TaskEvents},
    health_sync::{HealthReport, HealthSync},
    observe::Observer,
    preflight::{Preflight, PreflightError},
    scope::Scope,
    survey::{Surveyor, SweepOrder},
    sweep::{Sweep, SweepReport},
    tasks::TaskReader,
    timestamp_cache::TimestampCache,
    tokens::Tokens,
};

/// The controller of one deployment, in one execution environment. Each duty is a type of its own, which has the edges that it
/// needs; they share what the environment remembers.
pub struct Controller {
    scope: Arc<Scope>,
    task_events: TaskEvents,
    sweep: Sweep,
    bootstrap: Arc<Bootstrap>,
    preflight: Preflight,
    health_sync: HealthSync,
    cleanup: Cleanup,
}

impl Controller {
    /// A controller that remembers nothing yet.
    #[must_use]
    pub fn new(scope: Scope, edges: Edges) -> Self {
        let scope = Arc::new(scope);
        let tasks =
            TaskReader { scope: Arc::clone(&scope), ecs: Arc::clone(&edges.ecs), clock: Arc::clone(&edges.clock) };
        let tokens = Arc::new(Tokens {
            scope: Arc::clone(&scope),
            acl: edges.consul.clone(),
            secrets: Arc::clone(&edges.secrets),
            queue: Arc::clone(&edges.queue),
            clock: Arc::clone(&edges.clock),
            entropy: Arc::clone(&edges.entropy),
            tasks: tasks.clone(),
            cached_until: TimestampCache::new(),
        });
        let applier = Arc::new(Applier::new(&scope, &edges, &tokens));
        let observer =
            Observer { tasks: tasks.clone(), consul: Arc::clone(&edges.consul), tokens: Arc::clone(&tokens) };
        let surveyor = Arc::new(Surveyor::new(&edges, &tasks, &tokens));
        let bootstrap = Arc::new(Bootstrap::new(&edges, &tasks));
        Self {
            task_events: TaskEvents::new(&edges, &tasks, &tokens, observer, &applier),
            sweep: Sweep {
                tasks: tasks.clone(),
                surveyor: Arc::clone(&surveyor),
                applier: Arc::clone(&applier),
                bootstrap: Arc::clone(&bootstrap),
                entropy: Arc::clone(&edges.entropy),
            },
            preflight: Preflight { scope: Arc::clone(&scope), consul: Arc::clone(&edges.bootstrap) },
            health_sync: HealthSync { tasks: tasks.clone(), catalog: edges.consul.clone() },
            cleanup: Cleanup { tasks, surveyor, applier, tokens, acl: edges.consul },
            bootstrap,
            scope,
        }
    }

    /// Whether `cluster` is one of the configured ones.
    #[must_use]
    pub fn manages(&self, cluster: &ClusterArn) -> bool {
        self.scope.clusters.contains(cluster)
    }

    /// Works on a batch of messages until all is done or time runs out.
    pub async fn handle(&self, deliveries: &[Delivery], deadline: Deadline) -> BatchReport {
        self.task_events.handle(deliveries, deadline).await
    }

    /// Looks at whole clusters, and does what has to be done as far as time and the guard allow.
    pub async fn sweep(&self, order: &SweepOrder, deadline: Deadline) -> SweepReport {
        self.sweep.run(order, deadline).await
    }

    /// Sets Consul up, as far as the deployment wants it. Each object stands for itself: one that fails does not keep
    /// the others from being made.
    pub async fn bootstrap(&self, deadline: Deadline) -> BootstrapReport {
        self.bootstrap.run(deadline).await
    }

    /// Proves that Consul answers, and that the controller's own token allows all that the controller may ever do,
    /// wherever the clusters' tasks live. Nothing is changed.
    ///
    /// # Errors
    /// Every missing permission by the rule that grants it; or why Consul could not be asked.
    pub async fn preflight(&self) -> Result<(), PreflightError> {
        self.preflight.run().await
    }

    /// Syncs health every `interval` for a minute, as far as time allows; once without an interval.
    pub async fn sync_health(&self, interval: Option<Duration>, deadline: Deadline) -> HealthReport {
        self.health_sync.run(interval, deadline).await
    }

    /// Removes every token, service, check and node that the controller owns.
    pub async fn clean_up(&self, deadline: Deadline) -> CleanupReport {
        self.cleanup.run(deadline).await
    }
}
