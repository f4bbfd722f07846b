//! The inventory of an account: clusters, services, and their task definitions. Read-only.

use std::collections::BTreeSet;

use async_trait::async_trait;
use aws_sdk_ecs::{
    error::SdkError,
    types::{
        ContainerDefinition, HealthCheck, KeyValuePair, LinuxParameters, NetworkMode, ProxyConfiguration,
        ProxyConfigurationType, ResourceManagementType, Scope, Service, SortOrder, Tag, TaskDefinition,
        TaskDefinitionFamilyStatus, TaskDefinitionStatus, TransportProtocol, Volume,
    },
};
use mesh::arn::TaskDefinitionArn;
use serde_json::{Map, Value, json};

use super::{AwsEcs, DESCRIBE_LIMIT, DESCRIBE_SERVICES_LIMIT, EcsError, timestamp};

/// An ECS service, with the fields that the audit uses.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunningService {
    pub arn: String,
    pub name: String,
    /// Its task definition revisions; several during a deployment.
    pub task_definitions: BTreeSet<String>,
    /// The source of its tasks' tags: `TASK_DEFINITION`, `SERVICE` or `NONE`.
    pub propagate_tags: Option<String>,
    /// `EC2`, `FARGATE` or `EXTERNAL`; `None` with a capacity provider strategy.
    pub launch_type: Option<String>,
    /// `ROLLING`, `BLUE_GREEN`, `LINEAR` or `CANARY`.
    pub strategy: Option<String>,
    /// `ECS`, `CODE_DEPLOY` or `EXTERNAL`; `None` means ECS.
    pub controller: Option<String>,
    /// Whether Express Mode manages it.
    pub is_express: bool,
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

    /// A revision in the JSON of `describe-task-definition`, with its tags and the fields that the audit uses.
    async fn describe_definition(&self, name: &str) -> Result<Value, EcsError>;
}

#[async_trait]
impl Inventory for AwsEcs {
    async fn clusters(&self) -> Result<Vec<String>, EcsError> {
        let pages = self.client.list_clusters().into_paginator().items().send();
        pages.try_collect().await.map_err(|e| EcsError::failed("the account's clusters", &e))
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
                reason: match failure.reason() {
                    Some("MISSING") => "MISSING: the cluster has no ECS service of this name".to_owned(),
                    reason => reason.unwrap_or("no reason given").to_owned(),
                },
            }));
        }
        Ok((services, errors))
    }

    async fn running_definitions(&self, cluster: &str) -> Result<BTreeSet<String>, EcsError> {
        let subject = || format!("tasks of cluster {cluster}");
        let pages = self.client.list_tasks().cluster(cluster).into_paginator().send();
        let tasks = self.task_arns(pages).await.map_err(|e| EcsError::failed(subject(), &e))?;
        let mut definitions = BTreeSet::new();
        for chunk in tasks.chunks(DESCRIBE_LIMIT) {
            self.reads_of_tasks.turn().await;
            let call = self.client.describe_tasks().cluster(cluster).set_tasks(Some(chunk.to_vec()));
            let answer = call.send().await.map_err(|e| EcsError::failed(subject(), &e))?;
            // A task that stopped between the two calls is not in the answer.
            let used = answer.tasks().iter().filter_map(|task| task.task_definition_arn());
            // Tasks of daemons have definitions of another kind, which DescribeTaskDefinition refuses.
            let of_tasks = used.filter(|arn| !matches!(TaskDefinitionArn::of_task(arn), Ok(None)));
            definitions.extend(of_tasks.map(str::to_owned));
        }
        Ok(definitions)
    }

    async fn families(&self) -> Result<Vec<String>, EcsError> {
        let call = self.client.list_task_definition_families().status(TaskDefinitionFamilyStatus::Active);
        let pages = call.into_paginator().items().send();
        pages.try_collect().await.map_err(|e| EcsError::failed("the account's task definition families", &e))
    }

    async fn newest_revision(&self, family: &str) -> Result<Option<String>, EcsError> {
        let call = self.client.list_task_definitions().family_prefix(family).sort(SortOrder::Desc);
        let answer = call.status(TaskDefinitionStatus::Active).max_results(1).send().await;
        let answer = answer.map_err(|e| EcsError::failed(format!("revisions of family {family}"), &e))?;
        Ok(answer.task_definition_arns().first().cloned())
    }

    async fn describe_definition(&self, name: &str) -> Result<Value, EcsError> {
        let subject = format!("task definition {name}");
        let answer = match self.describe_revision(name).await {
            Ok(answer) => answer,
            Err(SdkError::ServiceError(e)) if e.err().is_client_exception() => {
                let reason = e.err().meta().message().unwrap_or("ECS does not know it").to_owned();
                return Err(EcsError::Failed { subject, reason });
            }
            Err(e) => return Err(EcsError::failed(subject, &e)),
        };
        match answer.task_definition() {
            Some(definition) => Ok(describe_output(definition, answer.tags())),
            None => Err(EcsError::Failed { subject, reason: "the answer holds no definition".to_owned() }),
        }
    }
}

pub(super) fn running_service(service: &Service) -> RunningService {
    let deployed = service.deployments().iter().filter_map(|deployment| deployment.task_definition());
    RunningService {
        arn: service.service_arn().unwrap_or_default().to_owned(),
        name: service.service_name().unwrap_or_default().to_owned(),
        task_definitions: deployed.chain(service.task_definition()).map(str::to_owned).collect(),
        propagate_tags: service.propagate_tags().map(|tags| tags.as_str().to_owned()),
        launch_type: service.launch_type().map(|kind| kind.as_str().to_owned()),
        strategy: service.deployment_configuration().and_then(|it| Some(it.strategy()?.as_str().to_owned())),
        controller: service.deployment_controller().map(|controller| controller.r#type().as_str().to_owned()),
        is_express: service.resource_management_type() == Some(&ResourceManagementType::Ecs),
    }
}

/// `{"taskDefinition": …, "tags": …}`.
fn describe_output(definition: &TaskDefinition, tags: &[Tag]) -> Value {
    let tags = all(tags, |tag| json!({ "key": tag.key(), "value": tag.value() }));
    json!({ "taskDefinition": task_definition(definition), "tags": tags })
}

fn task_definition(definition: &TaskDefinition) -> Value {
    without_nulls(json!({
        "taskDefinitionArn": definition.task_definition_arn(),
        "family": definition.family(),
        "revision": definition.revision(),
        "status": definition.status().map(TaskDefinitionStatus::as_str),
        "networkMode": definition.network_mode().map(NetworkMode::as_str),
        "requiresCompatibilities": all(definition.requires_compatibilities(), |kind| kind.as_str().into()),
        "cpu": definition.cpu(),
        "memory": definition.memory(),
        "taskRoleArn": definition.task_role_arn(),
        "executionRoleArn": definition.execution_role_arn(),
        "volumes": all(definition.volumes(), volume),
        "proxyConfiguration": definition.proxy_configuration().map(proxy),
        "containerDefinitions": all(definition.container_definitions(), container),
        "registeredAt": definition.registered_at().and_then(timestamp).map(|at| at.to_string()),
        "registeredBy": definition.registered_by(),
    }))
}

fn volume(volume: &Volume) -> Value {
    let docker = volume.docker_volume_configuration();
    json!({
        "name": volume.name(),
        "host": volume.host().map(|host| json!({ "sourcePath": host.source_path() })),
        "efsVolumeConfiguration": volume.efs_volume_configuration().map(|efs| json!({ "fileSystemId": efs.file_system_id() })),
        "dockerVolumeConfiguration": docker.map(|docker| json!({ "scope": docker.scope().map(Scope::as_str) })),
    })
}

fn container(container: &ContainerDefinition) -> Value {
    let mounts = all(container.mount_points(), |mount| {
        json!({
            "sourceVolume": mount.source_volume(),
            "containerPath": mount.container_path(),
            "readOnly": mount.read_only(),
        })
    });
    let ports = all(container.port_mappings(), |mapping| {
        let protocol = mapping.protocol().map(TransportProtocol::as_str);
        json!({
            "containerPort": mapping.container_port(),
            "containerPortRange": mapping.container_port_range(),
            "hostPort": mapping.host_port(),
            "protocol": protocol,
        })
    });
    let dependencies = all(
        container.depends_on(),
        |dependency| json!({ "containerName": dependency.container_name(), "condition": dependency.condition().as_str() }),
    );
    let secrets = all(container.secrets(), |secret| json!({ "name": secret.name(), "valueFrom": secret.value_from() }));
    let volumes = all(
        container.volumes_from(),
        |volume| json!({ "sourceContainer": volume.source_container(), "readOnly": volume.read_only() }),
    );
    let limits = all(
        container.ulimits(),
        |limit| json!({ "name": limit.name().as_str(), "softLimit": limit.soft_limit(), "hardLimit": limit.hard_limit() }),
    );
    let log_router = container.firelens_configuration();
    without_nulls(json!({
        "name": container.name(),
        "image": container.image(),
        "essential": container.essential(),
        "user": container.user(),
        "entryPoint": container.entry_point(),
        "command": container.command(),
        "environment": pairs(container.environment()),
        "environmentFiles": all(container.environment_files(), |file| json!({ "value": file.value(), "type": "s3" })),
        "firelensConfiguration": log_router.map(|router| json!({ "type": router.r#type().as_str() })),
        "links": container.links(),
        "volumesFrom": volumes,
        "secrets": secrets,
        "mountPoints": mounts,
        "portMappings": ports,
        "dependsOn": dependencies,
        "healthCheck": container.health_check().map(health_check),
        "ulimits": limits,
        "startTimeout": container.start_timeout(),
        "stopTimeout": container.stop_timeout(),
        "privileged": container.privileged(),
        "restartPolicy": container.restart_policy().map(|policy| json!({ "enabled": policy.enabled() })),
        "linuxParameters": container.linux_parameters().map(linux_parameters),
    }))
}

fn health_check(check: &HealthCheck) -> Value {
    json!({
        "command": check.command(),
        "interval": check.interval(),
        "timeout": check.timeout(),
        "retries": check.retries(),
        "startPeriod": check.start_period(),
    })
}

fn linux_parameters(linux: &LinuxParameters) -> Value {
    let capabilities = linux.capabilities().map(|all| json!({ "add": all.add(), "drop": all.drop() }));
    json!({ "capabilities": capabilities, "initProcessEnabled": linux.init_process_enabled() })
}

fn proxy(proxy: &ProxyConfiguration) -> Value {
    json!({
        "type": proxy.r#type().map(ProxyConfigurationType::as_str),
        "containerName": proxy.container_name(),
        "properties": pairs(proxy.properties()),
    })
}

fn pairs(pairs: &[KeyValuePair]) -> Value {
    all(pairs, |pair| json!({ "name": pair.name(), "value": pair.value() }))
}

fn all<T>(items: &[T], read: impl Fn(&T) -> Value) -> Value {
    items.iter().map(read).collect()
}

/// Removes unset fields, as the AWS CLI does.
fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            let set = map.into_iter().filter(|(_, value)| !value.is_null());
            Value::Object(set.map(|(key, value)| (key, without_nulls(value))).collect::<Map<_, _>>())
        }
        Value::Array(items) => items.into_iter().map(without_nulls).collect(),
        scalar => scalar,
    }
}
