//! Task definitions that are read from ECS, and whether a running mesh is read next to them.

use audit_live::{LiveScope, gather_live};
use audit_read::input::Gathered;
use aws::ecs::AwsEcs;
use clap::Args;

use crate::{
    account::{AwsArguments, runtime},
    output::Progress,
    streams::Failure,
};

/// Task definitions of an account and region
#[derive(Debug, Args)]
#[command(next_help_heading = "Live")]
pub(super) struct LiveArguments {
    /// Check the revisions that this cluster runs, by name or ARN; may be repeated
    #[arg(long, value_name = "CLUSTER")]
    cluster: Vec<String>,
    /// Limit to these services of the cluster
    #[arg(long, value_name = "SERVICE", requires = "cluster")]
    service: Vec<String>,
    /// Check the newest active revision of this family
    #[arg(long, value_name = "FAMILY")]
    family: Vec<String>,
    /// Check this revision: family:revision or ARN
    #[arg(long, value_name = "REVISION")]
    task_definition: Vec<String>,
    /// Check the newest revision of every family, and every revision that clusters run
    #[arg(long, conflicts_with_all = ["cluster", "family", "task_definition"])]
    all: bool,
    /// Compare with the Consul at `CONSUL_HTTP_ADDR`: its services, intentions, auth methods and release
    #[arg(long)]
    pub(super) mesh: bool,
    #[command(flatten)]
    aws: AwsArguments,
}

impl LiveArguments {
    pub(super) fn is_requested(&self) -> bool {
        self.all || !self.scope().is_everything()
    }

    /// Reads from ECS, and shows the progress on a terminal.
    pub(super) fn gather(&self) -> Result<Gathered, Failure> {
        let progress = Progress::new()?;
        let work = async {
            let ecs = AwsEcs::new(&self.aws.sdk().await?);
            let show = |done, total| progress.say(&format!("{done} of {total} task definitions read"));
            Ok(gather_live(&ecs, &self.scope(), &show).await)
        };
        runtime()?.block_on(progress.during(work))
    }

    fn scope(&self) -> LiveScope {
        LiveScope {
            clusters: self.cluster.clone(),
            services: self.service.clone(),
            families: self.family.clone(),
            definitions: self.task_definition.clone(),
            deployed: None,
        }
    }
}
