//! Input from an AWS account.

use std::time::Duration;

use clap::Args;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::{
    connect::{AwsArguments, runtime},
    exit::Failure,
};
use audit_live::{LiveScope, gather_live};
use audit_read::input::Gathered;
use aws::ecs::AwsEcs;

/// Task definitions of an account and region
#[derive(Debug, Args)]
#[command(next_help_heading = "Live")]
pub(super) struct LiveArguments {
    /// The revisions that the services and tasks of this cluster run; its name or ARN
    #[arg(long, value_name = "CLUSTER")]
    cluster: Vec<String>,
    /// Only these services of the cluster
    #[arg(long, value_name = "SERVICE", requires = "cluster")]
    service: Vec<String>,
    /// The newest active revision of this family
    #[arg(long, value_name = "FAMILY")]
    family: Vec<String>,
    /// This revision: family:revision or ARN
    #[arg(long, value_name = "REVISION")]
    task_definition: Vec<String>,
    /// The newest revision of every family, and everything that clusters run
    #[arg(long, conflicts_with_all = ["cluster", "family", "task_definition"])]
    all: bool,
    #[command(flatten)]
    aws: AwsArguments,
}

impl LiveArguments {
    pub(super) fn is_requested(&self) -> bool {
        self.all || !self.scope().is_everything()
    }

    /// Reads from ECS, and shows the progress on a terminal.
    pub(super) fn gather(&self) -> Result<Gathered, Failure> {
        let progress = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        let style = ProgressStyle::with_template("{spinner} {pos} of {len} task definitions read");
        progress.set_style(style.map_err(|error| Failure::Message(error.to_string()))?);
        progress.enable_steady_tick(Duration::from_millis(120));
        let gathered = runtime()?.block_on(async {
            let ecs = AwsEcs::new(&self.aws.sdk().await?);
            let show = |done: usize, total: usize| {
                progress.set_length(total as u64);
                progress.set_position(done as u64);
            };
            Ok(gather_live(&ecs, &self.scope(), &show).await)
        });
        progress.finish_and_clear();
        gathered
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
