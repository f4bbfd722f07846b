//! The connections of the commands that read a running account: AWS's usual chain of credentials.

use aws::sdk::{self, SdkConfig};
use clap::Args;

use crate::exit::Failure;

/// Which account and region
#[derive(Debug, Args)]
#[command(next_help_heading = "AWS")]
pub(super) struct AwsArguments {
    /// A profile of AWS's configuration files [default: `AWS_PROFILE`, or the usual chain of credentials]
    #[arg(long, value_name = "NAME")]
    profile: Option<String>,
    /// The region [default: `AWS_REGION`, or that of the profile]
    #[arg(long, value_name = "REGION")]
    region: Option<String>,
}

impl AwsArguments {
    /// The profile, if one was given.
    pub(super) fn profile(&self) -> Option<&str> {
        self.profile.as_deref()
    }

    /// The configuration of all clients.
    pub(super) async fn sdk(&self) -> Result<SdkConfig, Failure> {
        let config = sdk::of_user(self.profile.as_deref(), self.region.as_deref()).await;
        if config.region().is_none() {
            let reason = "no AWS region is known; pass --region, set AWS_REGION, or set a region in the profile";
            return Err(Failure::Message(reason.to_owned()));
        }
        Ok(config)
    }
}

/// A runtime for one command.
pub(super) fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    Ok(tokio::runtime::Builder::new_current_thread().enable_all().build()?)
}
