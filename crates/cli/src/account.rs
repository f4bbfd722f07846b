//! The account and region that a command reads, and the clusters in it.

use aws::{
    ecs::AwsEcs,
    sdk::{self, SdkConfig},
};
use clap::Args;
use mesh::arn::ClusterArn;
use observe::select_clusters;

use crate::streams::Failure;

/// Which account and region
#[derive(Debug, Args)]
#[command(next_help_heading = "AWS")]
pub(super) struct AwsArguments {
    /// Use this AWS profile [default: `AWS_PROFILE`, or AWS's credential chain]
    #[arg(long, value_name = "NAME")]
    profile: Option<String>,
    /// Use this region [default: `AWS_REGION`, or the profile's region]
    #[arg(long, value_name = "REGION")]
    region: Option<String>,
}

impl AwsArguments {
    pub(super) fn profile(&self) -> Option<&str> {
        self.profile.as_deref()
    }

    /// The options that were given, each with its value.
    pub(super) fn given(&self) -> Vec<(&'static str, String)> {
        let options = [("--profile", &self.profile), ("--region", &self.region)];
        options.into_iter().filter_map(|(option, value)| Some((option, value.clone()?))).collect()
    }

    pub(super) async fn sdk(&self) -> Result<SdkConfig, Failure> {
        let config = sdk::of_user(self.profile.as_deref(), self.region.as_deref()).await;
        if config.region().is_none() {
            let reason = "no AWS region. Pass --region, set AWS_REGION, or set a region in the profile";
            return Err(Failure::new(reason));
        }
        Ok(config)
    }
}

pub(super) fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    Ok(tokio::runtime::Builder::new_current_thread().enable_all().build()?)
}

/// The clusters with these names or ARNs; every cluster, without any.
pub(super) async fn selected(ecs: &AwsEcs, named: &[String]) -> Result<Vec<ClusterArn>, Failure> {
    select_clusters(ecs, named).await.map_err(Failure::new)
}
