//! Plans a sweep where the controller is not deployed, for `ecs-mesh survey` and `ecs-mesh sweep --dry-run`.

use mesh::{arn::ClusterArn, scope::Scope, settings::Mode};
use observe::{Deadline, EcsReading, Reads, SweepOrder};
use report::SweepReport;

use crate::{Controller, without_writes};

/// Plans sweeps as the deployed controller does, with the sweep itself. It has [`Reads`] and nothing that writes.
pub struct Planner(Controller);

impl Planner {
    pub fn new(scope: Scope, reads: Reads) -> Self {
        Self(Controller::new(Scope { mode: Mode::Observe, ..scope }, without_writes::edges(reads)))
    }

    /// The statuses of the clusters of the scope in ECS, for [`Self::plan_after`].
    pub async fn begin(&self, deadline: Deadline) -> EcsReading {
        self.0.sweep.context.observer.begin(&[], deadline).await
    }

    /// What a sweep of these clusters would do; of all clusters of the scope, if there are none. With `force`, without the
    /// guard, and of clusters that ECS does not know too.
    pub async fn plan(&self, clusters: Vec<ClusterArn>, force: bool, deadline: Deadline) -> SweepReport {
        let order = SweepOrder { clusters, dry_run: true, force, ..SweepOrder::default() };
        self.0.sweep.run(&order, deadline).await
    }

    /// What a sweep of all clusters of the scope would do, without a second read of what `ecs` has.
    pub async fn plan_after(&self, ecs: EcsReading, deadline: Deadline) -> SweepReport {
        let order = SweepOrder { dry_run: true, ..SweepOrder::default() };
        self.0.sweep.run_after(Some(ecs), &order, deadline).await
    }
}
