//! Task definitions.

use std::{
    collections::BTreeSet,
    sync::{Arc, PoisonError},
};

use async_trait::async_trait;
use aws_sdk_ecs::{
    error::SdkError,
    types::{ContainerDefinition, TaskDefinition as EcsTaskDefinition, TaskDefinitionField, TaskDefinitionStatus},
};
use mesh::{
    arn::TaskDefinitionArn,
    definition::{Container, TaskDefinition},
    ecs_config::CONFIG_VARIABLE,
    secret_reference::SecretReference,
};

use super::{
    client::{AwsEcs, tags},
    error::EcsError,
};

/// Reads task definitions.
#[async_trait]
pub trait TaskDefinitions: Send + Sync {
    /// A revision and its tags, cached for the life of the environment, because the content of a revision is immutable.
    async fn task_definition(&self, arn: &TaskDefinitionArn) -> Result<Arc<TaskDefinition>, EcsError>;

    /// The revisions of all families that are not deregistered.
    async fn active_definitions(&self) -> Result<Vec<TaskDefinitionArn>, EcsError>;

    /// Removes a revision from the cache: its tags are invalid and may be corrected.
    fn forget(&self, arn: &TaskDefinitionArn);
}

#[async_trait]
impl TaskDefinitions for AwsEcs {
    async fn task_definition(&self, arn: &TaskDefinitionArn) -> Result<Arc<TaskDefinition>, EcsError> {
        let cached = self.definitions.lock().unwrap_or_else(PoisonError::into_inner).get(arn).cloned();
        if let Some(definition) = cached {
            return Ok(definition);
        }
        let definition = Arc::new(self.fetch_definition(arn).await?);
        let mut definitions = self.definitions.lock().unwrap_or_else(PoisonError::into_inner);
        definitions.put(arn.clone(), Arc::clone(&definition));
        Ok(definition)
    }

    async fn active_definitions(&self) -> Result<Vec<TaskDefinitionArn>, EcsError> {
        let subject = || "the active task definitions".to_owned();
        let call = self.client.list_task_definitions().status(TaskDefinitionStatus::Active);
        let arns: Vec<String> =
            call.into_paginator().items().send().try_collect().await.map_err(|e| EcsError::failed(subject(), &e))?;
        let malformed = |source| EcsError::Malformed { subject: subject(), source };
        arns.iter().map(|arn| arn.parse().map_err(malformed)).collect()
    }

    fn forget(&self, arn: &TaskDefinitionArn) {
        self.definitions.lock().unwrap_or_else(PoisonError::into_inner).pop(arn);
    }
}

impl AwsEcs {
    async fn fetch_definition(&self, arn: &TaskDefinitionArn) -> Result<TaskDefinition, EcsError> {
        let call = self.client.describe_task_definition().task_definition(arn.as_str());
        let answer = call.include(TaskDefinitionField::Tags).send().await.map_err(|e| match e {
            // ECS returns ClientException for a deleted revision.
            SdkError::ServiceError(e) if e.err().is_client_exception() => EcsError::UnknownTaskDefinition(arn.clone()),
            other => EcsError::failed(format!("task definition {arn}"), &other),
        })?;
        let containers = answer.task_definition().map(EcsTaskDefinition::container_definitions).unwrap_or_default();
        let mut variables = containers.iter().flat_map(ContainerDefinition::environment);
        let config = variables.find(|variable| variable.name() == Some(CONFIG_VARIABLE));
        Ok(TaskDefinition {
            arn: arn.clone(),
            tags: tags(answer.tags()),
            config_json: config.and_then(|variable| variable.value()).map(str::to_owned),
            containers: containers.iter().map(read_container).collect(),
            secrets: secrets_of(containers),
        })
    }
}

/// The secrets in Secrets Manager that the containers read, each once.
fn secrets_of(containers: &[ContainerDefinition]) -> Vec<SecretReference> {
    let secrets = containers.iter().flat_map(ContainerDefinition::secrets);
    let secrets: BTreeSet<_> = secrets.filter_map(|secret| SecretReference::parse(secret.value_from())).collect();
    secrets.into_iter().collect()
}

fn read_container(container: &ContainerDefinition) -> Container {
    Container {
        name: container.name().unwrap_or_default().to_owned(),
        // The default in ECS.
        essential: container.essential().unwrap_or(true),
        has_health_check: container.health_check().is_some(),
    }
}
