//! The function `reconcile` of a stack.

use aws::installation::{AwsInstallation, InstallationError};
use mesh::arn::ClusterArn;
use report::SweepReport;
use serde_json::{Value, json};

use crate::{exit::Failure, progress::Progress, sweep_summary};

/// The function in the template.
const RECONCILE: &str = "ReconcileFunction";

/// The function `reconcile` of a stack.
pub(super) struct Reconcile<'a> {
    installation: &'a AwsInstallation,
    function: String,
    progress: &'a Progress,
}

impl<'a> Reconcile<'a> {
    /// The function with this name.
    pub(super) fn named(function: &str, installation: &'a AwsInstallation, progress: &'a Progress) -> Self {
        Self { installation, function: function.to_owned(), progress }
    }

    /// The function of the stack with this name.
    pub(super) async fn of(
        name: &str,
        installation: &'a AwsInstallation,
        progress: &'a Progress,
    ) -> Result<Self, Failure> {
        progress.say("looking for the function");
        let function = progress.during(installation.resource(name, RECONCILE)).await.map_err(|error| failed(&error))?;
        Ok(Self { installation, function, progress })
    }

    /// What a sweep of these clusters would do; of all clusters of the stack, if there are none.
    pub(super) async fn plan(&self, clusters: &[ClusterArn], force: bool) -> Result<(SweepReport, Value), Failure> {
        self.progress.say("planning the sweep");
        self.invoke(clusters, force, true).await
    }

    /// Sweeps these clusters; all clusters of the stack, if there are none.
    pub(super) async fn sweep(&self, clusters: &[ClusterArn], force: bool) -> Result<(SweepReport, Value), Failure> {
        self.progress.say("sweeping");
        self.invoke(clusters, force, false).await
    }

    async fn invoke(
        &self,
        clusters: &[ClusterArn],
        force: bool,
        is_dry_run: bool,
    ) -> Result<(SweepReport, Value), Failure> {
        let clusters: Vec<&str> = clusters.iter().map(ClusterArn::as_str).collect();
        let order = json!({ "clusters": clusters, "dryRun": is_dry_run, "force": force });
        let answer = self.progress.during(self.installation.invoke(&self.function, &order)).await;
        sweep_summary::read(answer.map_err(|error| failed(&error))?)
    }
}

fn failed(error: &InstallationError) -> Failure {
    Failure::Message(error.to_string())
}
