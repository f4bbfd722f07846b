//! `CloudFormation`: the events of a stack.

use std::time::Duration;

use aws_sdk_cloudformation::{Client, config::Builder, types::StackEvent as SdkEvent};
use aws_types::SdkConfig;

use crate::sdk::{Lazy, describe, lazy, timeouts};

/// How long one call may take, and how long all attempts of it: in a VPC without a route to `CloudFormation`, none succeeds.
const ATTEMPT: Duration = Duration::from_secs(5);
const CALL: Duration = Duration::from_secs(10);

/// The events of a stack could not be read.
#[derive(Debug, thiserror::Error)]
#[error("cloudformation:DescribeStackEvents failed: {0}")]
pub struct StackError(pub String);

/// One event of a stack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StackEvent {
    /// The name of the resource in the template; for an event of the stack itself, `None`.
    pub resource: Option<String>,
    /// For example `DELETE_COMPLETE`.
    pub status: String,
}

/// The `CloudFormation` of the account and region.
pub struct AwsStacks {
    client: Lazy<Client>,
}

impl AwsStacks {
    pub fn new(config: &SdkConfig) -> Self {
        let new = |config: &SdkConfig| {
            Client::from_conf(Builder::from(config).timeout_config(timeouts(ATTEMPT, Some(CALL))).build())
        };
        Self { client: lazy(config, new) }
    }

    /// The events of the stack with this ID, newest first, up to and including the first for which `is_last` holds.
    pub async fn events(
        &self,
        stack: &str,
        is_last: impl Fn(&StackEvent) -> bool,
    ) -> Result<Vec<StackEvent>, StackError> {
        let (mut events, mut next) = (Vec::new(), None);
        loop {
            let page = self.client.describe_stack_events().stack_name(stack).set_next_token(next).send().await;
            let page = page.map_err(|error| StackError(describe(&error)))?;
            for event in page.stack_events().iter().map(|event| read(stack, event)) {
                let is_last = is_last(&event);
                events.push(event);
                if is_last {
                    return Ok(events);
                }
            }
            next = page.next_token;
            if next.is_none() {
                return Ok(events);
            }
        }
    }
}

fn read(stack: &str, event: &SdkEvent) -> StackEvent {
    let is_of_stack = event.physical_resource_id() == Some(stack);
    let resource = (!is_of_stack).then(|| event.logical_resource_id().unwrap_or_default().to_owned());
    let status = event.resource_status().map(|status| status.as_str().to_owned()).unwrap_or_default();
    StackEvent { resource, status }
}
