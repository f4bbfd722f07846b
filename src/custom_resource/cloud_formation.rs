//! `CloudFormation`, behind a trait: the simulation has its own.

use std::time::Duration;

use async_trait::async_trait;
use aws::{
    sdk::SdkConfig,
    stack::{AwsStacks, StackError, StackEvent},
};
use backon::{ExponentialBuilder, Retryable};
use reqwest::redirect::Policy;
use serde_json::Value;

use super::phase::is_before_deletion;

/// The timeout of one attempt to deliver an answer, and the pauses between attempts.
const ATTEMPT: Duration = Duration::from_secs(5);
const SHORTEST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// The answer could not be delivered to `CloudFormation`.
#[derive(Debug, thiserror::Error)]
#[error("cannot deliver the outcome to CloudFormation: {0}. In a VPC, the function needs a route to S3")]
pub struct DeliveryError(pub String);

impl DeliveryError {
    /// The error without the URL, which is a credential.
    fn new(error: reqwest::Error) -> Self {
        Self(aws::sdk::describe(&error.without_url()))
    }
}

/// The side of `CloudFormation` that a custom resource sees.
#[async_trait]
pub trait CloudFormation: Send + Sync {
    /// The events of a stack, newest first, at least up to the last one of the stack itself before its deletion.
    async fn events(&self, stack: &str) -> Result<Vec<StackEvent>, StackError>;

    /// Delivers an answer to the URL of its request. Repeats what fails until it is cancelled.
    async fn answer(&self, url: &str, answer: &Value) -> Result<(), DeliveryError>;
}

/// The `CloudFormation` of the account and region.
pub struct AwsCloudFormation(AwsStacks);

impl AwsCloudFormation {
    pub fn new(config: &SdkConfig) -> Self {
        Self(AwsStacks::new(config))
    }
}

#[async_trait]
impl CloudFormation for AwsCloudFormation {
    async fn events(&self, stack: &str) -> Result<Vec<StackEvent>, StackError> {
        self.0.events(stack, is_before_deletion).await
    }

    async fn answer(&self, url: &str, answer: &Value) -> Result<(), DeliveryError> {
        // S3 may redirect to the region of the bucket. The answer contains no secret.
        let client = http_client::trusting_the_system().redirect(Policy::default()).timeout(ATTEMPT).build();
        let client = client.map_err(DeliveryError::new)?;
        let send = || async {
            // The URL is signed for a request without a content type.
            let answered =
                client.put(url).header(reqwest::header::CONTENT_TYPE, "").body(answer.to_string()).send().await;
            answered.and_then(reqwest::Response::error_for_status)
        };
        let pauses = ExponentialBuilder::default().with_min_delay(SHORTEST_PAUSE).with_max_delay(LONGEST_PAUSE);
        // S3 refuses an expired or wrong URL for good.
        let is_temporary = |error: &reqwest::Error| !error.status().is_some_and(|status| status.is_client_error());
        send.retry(pauses.without_max_times()).when(is_temporary).await.map(drop).map_err(DeliveryError::new)
    }
}
