//! Converts a task definition of the SDK to the JSON of `describe-task-definition`, with the fields that the audit
//! uses.

use aws_sdk_ecs::types::{
    Compatibility, ContainerDefinition, HealthCheck, KeyValuePair, LinuxParameters, ProxyConfiguration, Tag,
    TaskDefinition,
};
use serde_json::{Map, Value, json};

/// `{"taskDefinition": …, "tags": …}`.
pub(super) fn describe_output(definition: &TaskDefinition, tags: &[Tag]) -> Value {
    let tags: Vec<Value> = tags.iter().map(|tag| json!({ "key": tag.key(), "value": tag.value() })).collect();
    json!({ "taskDefinition": task_definition(definition), "tags": tags })
}

fn task_definition(definition: &TaskDefinition) -> Value {
    let volumes = definition.volumes().iter().map(|volume| json!({ "name": volume.name() }));
    without_nulls(json!({
        "taskDefinitionArn": definition.task_definition_arn(),
        "family": definition.family(),
        "revision": definition.revision(),
        "status": definition.status().map(aws_sdk_ecs::types::TaskDefinitionStatus::as_str),
        "networkMode": definition.network_mode().map(aws_sdk_ecs::types::NetworkMode::as_str),
        "requiresCompatibilities": texts(definition.requires_compatibilities(), Compatibility::as_str),
        "cpu": definition.cpu(),
        "memory": definition.memory(),
        "taskRoleArn": definition.task_role_arn(),
        "executionRoleArn": definition.execution_role_arn(),
        "volumes": volumes.collect::<Vec<Value>>(),
        "proxyConfiguration": definition.proxy_configuration().map(proxy),
        "containerDefinitions": definition.container_definitions().iter().map(container).collect::<Vec<Value>>(),
    }))
}

fn container(container: &ContainerDefinition) -> Value {
    let mounts = container.mount_points().iter().map(|mount| {
        json!({
            "sourceVolume": mount.source_volume(),
            "containerPath": mount.container_path(),
            "readOnly": mount.read_only(),
        })
    });
    let ports = container.port_mappings().iter().map(|mapping| {
        let protocol = mapping.protocol().map(aws_sdk_ecs::types::TransportProtocol::as_str);
        json!({ "containerPort": mapping.container_port(), "hostPort": mapping.host_port(), "protocol": protocol })
    });
    let dependencies = container.depends_on().iter().map(|dependency| {
        json!({ "containerName": dependency.container_name(), "condition": dependency.condition().as_str() })
    });
    let secrets =
        container.secrets().iter().map(|secret| json!({ "name": secret.name(), "valueFrom": secret.value_from() }));
    let files = container.environment_files().iter().map(|file| json!({ "value": file.value(), "type": "s3" }));
    let log_router = container.firelens_configuration();
    let volumes = container
        .volumes_from()
        .iter()
        .map(|volume| json!({ "sourceContainer": volume.source_container(), "readOnly": volume.read_only() }));
    let limits = container.ulimits().iter().map(|limit| {
        json!({ "name": limit.name().as_str(), "softLimit": limit.soft_limit(), "hardLimit": limit.hard_limit() })
    });
    without_nulls(json!({
        "name": container.name(),
        "image": container.image(),
        "essential": container.essential(),
        "user": container.user(),
        "entryPoint": container.entry_point(),
        "command": container.command(),
        "environment": pairs(container.environment()),
        "environmentFiles": files.collect::<Vec<Value>>(),
        "firelensConfiguration": log_router.map(|router| json!({ "type": router.r#type().as_str() })),
        "links": container.links(),
        "volumesFrom": volumes.collect::<Vec<Value>>(),
        "secrets": secrets.collect::<Vec<Value>>(),
        "mountPoints": mounts.collect::<Vec<Value>>(),
        "portMappings": ports.collect::<Vec<Value>>(),
        "dependsOn": dependencies.collect::<Vec<Value>>(),
        "healthCheck": container.health_check().map(health_check),
        "ulimits": limits.collect::<Vec<Value>>(),
        "startTimeout": container.start_timeout(),
        "stopTimeout": container.stop_timeout(),
        "privileged": container.privileged(),
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
        "type": proxy.r#type().map(aws_sdk_ecs::types::ProxyConfigurationType::as_str),
        "containerName": proxy.container_name(),
        "properties": pairs(proxy.properties()),
    })
}

fn pairs(pairs: &[KeyValuePair]) -> Vec<Value> {
    pairs.iter().map(|pair| json!({ "name": pair.name(), "value": pair.value() })).collect()
}

fn texts<T>(values: &[T], text: impl Fn(&T) -> &str) -> Vec<Value> {
    values.iter().map(|value| text(value).into()).collect()
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
