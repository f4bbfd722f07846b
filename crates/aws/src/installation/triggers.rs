//! What invokes the functions: rules, and the mapping of the queue.

use async_trait::async_trait;
use aws_sdk_eventbridge::types::RuleState;

use super::AwsInstallation;
use crate::stack::{StackError, failed};

/// The event source mapping of a queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mapping {
    /// `Enabled`, `Disabled`, or a state on the way there.
    pub state: String,
    /// How the last batch ended, in words of Lambda's.
    pub last_result: Option<String>,
}

/// Reads what invokes the functions.
#[async_trait]
pub trait Triggers: Send + Sync {
    /// The event source mapping with this ID.
    async fn mapping(&self, id: &str) -> Result<Mapping, StackError>;

    /// Whether a rule of the default event bus is enabled.
    async fn is_enabled(&self, rule: &str) -> Result<bool, StackError>;

    /// How many invocations of a function may run at once, if that is limited for this function alone.
    async fn reserved_concurrency(&self, function: &str) -> Result<Option<usize>, StackError>;
}

#[async_trait]
impl Triggers for AwsInstallation {
    async fn mapping(&self, id: &str) -> Result<Mapping, StackError> {
        let subject = || format!("event source mapping {id}");
        let answer = self.functions.get_event_source_mapping().uuid(id).send().await;
        let answer = answer.map_err(|e| failed(subject(), &e))?;
        let state = answer.state.ok_or_else(|| StackError::Malformed { subject: subject() })?;
        Ok(Mapping { state, last_result: answer.last_processing_result })
    }

    async fn is_enabled(&self, rule: &str) -> Result<bool, StackError> {
        let subject = || format!("rule {rule}");
        let answer = self.events.describe_rule().name(rule).send().await.map_err(|e| failed(subject(), &e))?;
        let state = answer.state.ok_or_else(|| StackError::Malformed { subject: subject() })?;
        Ok(state != RuleState::Disabled)
    }

    async fn reserved_concurrency(&self, function: &str) -> Result<Option<usize>, StackError> {
        let answer = self.functions.get_function_concurrency().function_name(function).send().await;
        let answer = answer.map_err(|e| failed(format!("function {function}"), &e))?;
        Ok(answer.reserved_concurrent_executions().and_then(|count| usize::try_from(count).ok()))
    }
}
