//! The inventory of an account: clusters, services, and their task definitions. Read-only.

use std::collections::BTreeSet;

use async_trait::async_trait;
use aws_sdk_ecs::{
    error::SdkError,
    types::{Service, SortOrder, TaskDefinitionFamilyStatus, TaskDefinitionField, TaskDefinitionStatus},
};
use serde_json::Value;

use super::{
    client::{AwsEcs, DESCRIBE_LIMIT},
    definition_json::describe_output,
    error::EcsError,
};

/// The most services in one `DescribeServices`.
const DESCRIBE_SERVICES_LIMIT: usize = 10;

/// An ECS service, with the fields that the audit uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunningService {
    /// Its ARN.
    pub arn: String,
    /// Its name.
    pub name: String,
    /// Its task definition revisions; several during a deployment.
    pub task_definitions: BTreeSet<String>,
    /// The source of its tasks' tags: `TASK_DEFINITION`, `SERVICE` or `NONE`.
    pub propagate_tags: Option<String>,
    /// `EC2`, `FARGATE` or `EXTERNAL`; `None` with a capacity provider strategy.
    pub launch_type: Option<String>,
}

/// The inventory of an account.
#[async_trait]
pub trait Inventory: Send + Sync {
    /// The ARNs of the account's clusters in the region.
    async fn clusters(&self) -> Result<Vec<String>, EcsError>;

    /// The services of a cluster: those in `names`, or all if it is empty; and the errors of those that could not be
    /// described.
    async fn services(&self, cluster: &str, names: &[String])
    -> Result<(Vec<RunningService>, Vec<EcsError>), EcsError>;

    /// The revisions of the cluster's running tasks.
    async fn running_definitions(&self, cluster: &str) -> Result<BTreeSet<String>, EcsError>;

    /// The names of the families with an active revision.
    async fn families(&self) -> Result<Vec<String>, EcsError>;

    /// The newest active revision of a family, if it has one.
    async fn newest_revision(&self, family: &str) -> Result<Option<String>, EcsError>;

    /// A revision in the JSON of `describe-task-definition`, with tags.
    async fn describe_definition(&self, name: &str) -> Result<Value, EcsError>;
}

#[async_trait]
impl Inventory for AwsEcs {
    async fn clusters(&self) -> Result<Vec<String>, EcsError> {
        let pages = self.client.list_clusters().into_paginator().items().send();
        pages.try_collect().await.map_err(|e| EcsError::failed("the account's clusters".to_owned(), &e))
    }

    async fn services(
        &self,
        cluster: &str,
        names: &[String],
    ) -> Result<(Vec<RunningService>, Vec<EcsError>), EcsError> {
        let subject = || format!("services of cluster {cluster}");
        let names = if names.is_empty() {
            let pages = self.client.list_services().cluster(cluster).into_paginator().items().send();
            pages.try_collect().await.map_err(|e| EcsError::failed(subject(), &e))?
        } else {
            names.to_vec()
        };
        let (mut services, mut errors) = (Vec::new(), Vec::new());
        for chunk in names.chunks(DESCRIBE_SERVICES_LIMIT) {
            let call = self.client.describe_services().cluster(cluster).set_services(Some(chunk.to_vec()));
            let answer = call.send().await.map_err(|e| EcsError::failed(subject(), &e))?;
            services.extend(answer.services().iter().map(running_service));
            errors.extend(answer.failures().iter().map(|failure| EcsError::Failed {
                subject: format!("service {}", failure.arn().unwrap_or("(unnamed)")),
                reason: failure.reason().unwrap_or("no reason given").to_owned(),
            }));
        }
        Ok((services, errors))
    }

    async fn running_definitions(&self, cluster: &str) -> Result<BTreeSet<String>, EcsError> {
        let subject = || format!("tasks of cluster {cluster}");
        let pages = self.client.list_tasks().cluster(cluster).into_paginator().items().send();
        let tasks: Vec<String> = pages.try_collect().await.map_err(|e| EcsError::failed(subject(), &e))?;
        let mut definitions = BTreeSet::new();
        for chunk in tasks.chunks(DESCRIBE_LIMIT) {
            let call = self.client.describe_tasks().cluster(cluster).set_tasks(Some(chunk.to_vec()));
            let answer = call.send().await.map_err(|e| EcsError::failed(subject(), &e))?;
            // A task that stopped between the two calls is not in the answer.
            definitions.extend(answer.tasks().iter().filter_map(|task| task.task_definition_arn().map(str::to_owned)));
        }
        Ok(definitions)
    }

    async fn families(&self) -> Result<Vec<String>, EcsError> {
        let call = self.client.list_task_definition_families().status(TaskDefinitionFamilyStatus::Active);
        let pages = call.into_paginator().items().send();
        pages.try_collect().await.map_err(|e| EcsError::failed("the account's task definition families".to_owned(), &e))
    }

    async fn newest_revision(&self, family: &str) -> Result<Option<String>, EcsError> {
        let call = self.client.list_task_definitions().family_prefix(family).sort(SortOrder::Desc);
        let answer = call.status(TaskDefinitionStatus::Active).max_results(1).send().await;
        let answer = answer.map_err(|e| EcsError::failed(format!("revisions of family {family}"), &e))?;
        Ok(answer.task_definition_arns().first().cloned())
    }

    async fn describe_definition(&self, name: &str) -> Result<Value, EcsError> {
        let call = self.client.describe_task_definition().task_definition(name).include(TaskDefinitionField::Tags);
        let answer = call.send().await.map_err(|e| match e {
            SdkError::ServiceError(e) if e.err().is_client_exception() => EcsError::Failed {
                subject: format!("task definition {name}"),
                reason: e.err().meta().message().unwrap_or("ECS does not know it").to_owned(),
            },
            other => EcsError::failed(format!("task definition {name}"), &other),
        })?;
        let definition = answer.task_definition().ok_or_else(|| EcsError::Failed {
            subject: format!("task definition {name}"),
            reason: "the answer holds no definition".to_owned(),
        })?;
        Ok(describe_output(definition, answer.tags()))
    }
}

fn running_service(service: &Service) -> RunningService {
    let deployed = service.deployments().iter().filter_map(|deployment| deployment.task_definition());
    RunningService {
        arn: service.service_arn().unwrap_or_default().to_owned(),
        name: service.service_name().unwrap_or_default().to_owned(),
        task_definitions: deployed.chain(service.task_definition()).map(str::to_owned).collect(),
        propagate_tags: service.propagate_tags().map(|tags| tags.as_str().to_owned()),
        launch_type: service.launch_type().map(|kind| kind.as_str().to_owned()),
    }
}
