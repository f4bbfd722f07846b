//! What an installation consists of, and what it needs around it. Read-only.

mod caller;
mod stacks;
mod topics;
mod trails;
mod triggers;

use aws_sdk_cloudformation::Client as CloudFormation;
use aws_sdk_cloudtrail::Client as CloudTrail;
use aws_sdk_eventbridge::Client as EventBridge;
use aws_sdk_kms::Client as Kms;
use aws_sdk_lambda::Client as Lambda;
use aws_sdk_sns::Client as Sns;
use aws_sdk_sts::Client as Sts;
use aws_types::SdkConfig;

pub use self::{
    caller::{Caller, Identity},
    stacks::{DeployedStack, Resource, Resources, Stacks},
    topics::{TopicKey, Topics},
    trails::{Trail, Trails},
    triggers::{Mapping, Triggers},
};

/// The installations in an account and region.
pub struct AwsInstallation {
    formation: CloudFormation,
    functions: Lambda,
    events: EventBridge,
    trails: CloudTrail,
    topics: Sns,
    keys: Kms,
    sts: Sts,
}

impl AwsInstallation {
    /// The installations in the configuration's region.
    pub fn new(config: &SdkConfig) -> Self {
        Self {
            formation: CloudFormation::new(config),
            functions: Lambda::new(config),
            events: EventBridge::new(config),
            trails: CloudTrail::new(config),
            topics: Sns::new(config),
            keys: Kms::new(config),
            sts: Sts::new(config),
        }
    }
}
