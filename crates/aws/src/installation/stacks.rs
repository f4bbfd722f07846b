//! The stacks of the template, and their resources.

use std::collections::BTreeMap;

use async_trait::async_trait;
use aws_sdk_cloudformation::types::Stack as CloudFormationStack;

use super::AwsInstallation;
use crate::stack::{StackError, failed};

/// What the description of the template begins with.
const DESCRIPTION: &str = "ecs-mesh-controller:";

/// A stack.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeployedStack {
    /// Its name.
    pub name: String,
    /// Its status, for example `UPDATE_COMPLETE`.
    pub status: String,
    /// Why it has this status, if `CloudFormation` says so.
    pub reason: Option<String>,
    /// The values of its parameters.
    pub parameters: BTreeMap<String, String>,
}

/// A resource of a stack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resource {
    /// Its physical ID.
    pub id: String,
    /// Its type, for example `AWS::Events::Rule`.
    pub kind: String,
}

/// The resources of a stack, by their names in the template.
pub type Resources = BTreeMap<String, Resource>;

/// Reads stacks.
#[async_trait]
pub trait Stacks: Send + Sync {
    /// The stack of this name, and every other stack of the template in the account and region.
    async fn stacks(&self, name: &str) -> Result<Vec<DeployedStack>, StackError>;

    /// The stack of this name; `None` if there is none.
    async fn stack(&self, name: &str) -> Result<Option<DeployedStack>, StackError>;

    /// The resources of a stack.
    async fn resources(&self, stack: &str) -> Result<Resources, StackError>;
}

#[async_trait]
impl Stacks for AwsInstallation {
    async fn stacks(&self, name: &str) -> Result<Vec<DeployedStack>, StackError> {
        let pages = self.formation.describe_stacks().into_paginator().items().send();
        let all: Result<Vec<CloudFormationStack>, _> = pages.try_collect().await;
        let all = all.map_err(|e| failed("the account's stacks".to_owned(), &e))?;
        let is_of_the_template = |stack: &&CloudFormationStack| {
            stack.stack_name() == Some(name) || stack.description().is_some_and(|text| text.starts_with(DESCRIPTION))
        };
        Ok(all.iter().filter(is_of_the_template).map(read_stack).collect())
    }

    async fn stack(&self, name: &str) -> Result<Option<DeployedStack>, StackError> {
        match self.formation.describe_stacks().stack_name(name).send().await {
            Ok(found) => Ok(found.stacks().first().map(read_stack)),
            Err(error) => match failed(format!("stack {name}"), &error) {
                // The answer for a missing stack has no code of its own.
                StackError::Failed { reason, .. } if reason.contains("does not exist") => Ok(None),
                error => Err(error),
            },
        }
    }

    async fn resources(&self, stack: &str) -> Result<Resources, StackError> {
        let pages = self.formation.list_stack_resources().stack_name(stack).into_paginator().items().send();
        let all: Result<Vec<_>, _> = pages.try_collect().await;
        let all = all.map_err(|e| failed(format!("the resources of stack {stack}"), &e))?;
        let resource =
            |kind: Option<&str>, id: &str| Resource { id: id.to_owned(), kind: kind.unwrap_or_default().to_owned() };
        let named = all.iter().filter_map(|summary| {
            let name = summary.logical_resource_id()?.to_owned();
            Some((name, resource(summary.resource_type(), summary.physical_resource_id()?)))
        });
        Ok(named.collect())
    }
}

fn read_stack(stack: &CloudFormationStack) -> DeployedStack {
    let parameters = stack.parameters().iter().filter_map(|parameter| {
        Some((parameter.parameter_key()?.to_owned(), parameter.parameter_value().unwrap_or_default().to_owned()))
    });
    DeployedStack {
        name: stack.stack_name().unwrap_or_default().to_owned(),
        status: stack.stack_status().map(|status| status.as_str().to_owned()).unwrap_or_default(),
        reason: stack.stack_status_reason().filter(|reason| !reason.is_empty()).map(str::to_owned),
        parameters: parameters.collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_reason_is_none() {
        let stack = |reason: &str| read_stack(&CloudFormationStack::builder().stack_status_reason(reason).build());
        assert_eq!(stack("").reason, None);
        assert_eq!(stack("rolled back").reason.as_deref(), Some("rolled back"));
    }

    #[test]
    fn description_is_that_of_the_template() {
        let template = include_str!("../../../../template.yaml");
        assert!(template.contains(&format!("\nDescription: >-\n  {DESCRIPTION} ")), "the template's description");
    }
}
