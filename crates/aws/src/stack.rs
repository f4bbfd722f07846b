//! A deployed stack, for the operations by hand: its resources, the function `reconcile`, and the dead-letter queue.

use std::{collections::BTreeMap, time::Duration};

use async_trait::async_trait;
use aws_sdk_cloudformation::{Client as CloudFormation, types::StackResourceSummary};
use aws_sdk_lambda::{Client as Lambda, config::Builder, primitives::Blob};
use aws_smithy_types::retry::RetryConfig;
use aws_types::SdkConfig;
use serde_json::Value;

use crate::sdk::{describe, timeouts};

/// The longest invocation: the time-out of the function `reconcile`, and its start.
const LONGEST_INVOCATION: Duration = Duration::from_secs(330);

/// Why an operation by hand failed.
#[derive(Debug, thiserror::Error)]
pub enum StackError {
    /// A call failed, after retries.
    #[error("{subject}: the call failed: {reason}; is it another stack, region or account?")]
    Failed {
        /// The requested object.
        subject: String,
        /// The cause.
        reason: String,
    },
    /// An answer has no value that it should have.
    #[error("{subject}: the answer could not be read")]
    Malformed {
        /// The requested object.
        subject: String,
    },
}

/// The answer of a function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Invoked {
    /// What it returned.
    Answer(Value),
    /// The message of its error.
    Error(String),
}

/// The functions and queues of a stack.
#[async_trait]
pub trait Stack: Send + Sync {
    /// The physical ID of a resource of a stack, by its name in the template.
    async fn resource(&self, stack: &str, name: &str) -> Result<String, StackError>;

    /// The physical IDs of all resources of a stack, by their names in the template.
    async fn resources(&self, stack: &str) -> Result<BTreeMap<String, String>, StackError>;

    /// Invokes a function once, and waits for its answer.
    async fn invoke(&self, function: &str, payload: &Value) -> Result<Invoked, StackError>;
}

/// The stacks of an account and region.
pub struct AwsStack {
    formation: CloudFormation,
    functions: Lambda,
}

impl AwsStack {
    /// The stacks in the configuration's region.
    pub fn new(config: &SdkConfig) -> Self {
        let timeouts = timeouts(LONGEST_INVOCATION, Some(LONGEST_INVOCATION));
        // A second attempt would be a second sweep.
        let once = Builder::from(config).timeout_config(timeouts).retry_config(RetryConfig::disabled());
        Self { formation: CloudFormation::new(config), functions: Lambda::from_conf(once.build()) }
    }
}

#[async_trait]
impl Stack for AwsStack {
    async fn resource(&self, stack: &str, name: &str) -> Result<String, StackError> {
        let subject = || format!("resource {name} of stack {stack}");
        let call = self.formation.describe_stack_resource().stack_name(stack).logical_resource_id(name);
        let answer = call.send().await.map_err(|e| failed(subject(), &e))?;
        let id = answer.stack_resource_detail().and_then(|detail| detail.physical_resource_id());
        id.map(str::to_owned).ok_or_else(|| StackError::Malformed { subject: subject() })
    }

    async fn resources(&self, stack: &str) -> Result<BTreeMap<String, String>, StackError> {
        let pages = self.formation.list_stack_resources().stack_name(stack).into_paginator().items().send();
        let all: Vec<StackResourceSummary> =
            pages.try_collect().await.map_err(|e| failed(format!("resources of stack {stack}"), &e))?;
        let named = all.iter().filter_map(|resource| {
            Some((resource.logical_resource_id()?.to_owned(), resource.physical_resource_id()?.to_owned()))
        });
        Ok(named.collect())
    }

    async fn invoke(&self, function: &str, payload: &Value) -> Result<Invoked, StackError> {
        let subject = || format!("function {function}");
        let call = self.functions.invoke().function_name(function).payload(Blob::new(payload.to_string()));
        let answer = call.send().await.map_err(|e| failed(subject(), &e))?;
        let text = answer.payload().map(Blob::as_ref).unwrap_or_default();
        let value: Value = serde_json::from_slice(text).map_err(|_| StackError::Malformed { subject: subject() })?;
        // A function's error has status 200 too.
        let message = value.get("errorMessage").and_then(Value::as_str).map(str::to_owned);
        Ok(match message {
            Some(message) => Invoked::Error(message),
            None if answer.function_error().is_some() => Invoked::Error(value.to_string()),
            None => Invoked::Answer(value),
        })
    }
}

pub(crate) fn failed<E: std::error::Error + 'static>(subject: String, error: &E) -> StackError {
    StackError::Failed { subject, reason: describe(error) }
}

#[cfg(test)]
mod tests {
    use std::{
        io::{Read as _, Write as _},
        net::TcpListener,
        thread,
    };

    use aws_smithy_types::timeout::TimeoutConfig;
    use serde_json::json;

    use super::*;
    use crate::sdk::of_function;

    #[test]
    fn an_invocation_is_awaited_for_longer_than_the_function_runs() {
        let template = include_str!("../../../template.yaml");
        let function = template.split_once("\n  ReconcileFunction:").expect("the function").1;
        let timeout = function.split_once("Timeout: ").and_then(|(_, rest)| rest.lines().next()).expect("its time-out");
        assert!(LONGEST_INVOCATION > Duration::from_secs(timeout.parse().expect("seconds")));
    }

    #[tokio::test]
    async fn an_invocation_may_take_longer_than_other_calls() {
        // Given a function that answers after the time-out of other calls.
        let (longest, takes) = (Duration::from_millis(50), Duration::from_millis(500));
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let server = thread::spawn(move || {
            let (mut connection, _) = listener.accept().unwrap();
            let _ = connection.read(&mut [0; 8192]).unwrap();
            thread::sleep(takes);
            connection.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}").unwrap();
        });
        let variable = |name: &str| match name {
            "AWS_ENDPOINT_URL" => Some(url.clone()),
            "AWS_REGION" => Some("us-east-1".to_owned()),
            "AWS_ACCESS_KEY_ID" | "AWS_SECRET_ACCESS_KEY" => Some("test".to_owned()),
            _ => None,
        };
        let timeouts = TimeoutConfig::builder().operation_attempt_timeout(longest).operation_timeout(longest).build();
        let config = of_function(variable).to_builder().timeout_config(timeouts).build();
        // Then its answer is awaited.
        let answer = AwsStack::new(&config).invoke("reconcile", &json!({})).await.unwrap();
        assert_eq!(answer, Invoked::Answer(json!({})));
        server.join().unwrap();
    }
}
