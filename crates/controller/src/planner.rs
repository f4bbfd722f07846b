//! Plans a sweep where the controller is not deployed, for `ecs-mesh survey` and `ecs-mesh sweep --dry-run`.

use mesh::{arn::ClusterArn, scope::Scope, settings::Mode};
use observe::{Deadline, Reads, SweepOrder};
use report::SweepReport;

use crate::{Controller, without_writes};

/// Plans sweeps as the deployed controller does, with the sweep itself. It has [`Reads`] and nothing that writes.
pub struct Planner(Controller);

impl Planner {
    pub fn new(scope: Scope, reads: Reads) -> Self {
        Self(Controller::new(Scope { mode: Mode::Observe, ..scope }, without_writes::edges(reads)))
    }

    /// What a sweep of these clusters would do; of all clusters of the scope, if there are none. With `force`, without the
    /// guard, and of clusters that ECS does not know too.
    pub async fn plan(&self, clusters: Vec<ClusterArn>, force: bool, deadline: Deadline) -> SweepReport {
        let order = SweepOrder { clusters, dry_run: true, force, ..SweepOrder::default() };
        self.0.sweep.run(&order, deadline).await
    }
}
