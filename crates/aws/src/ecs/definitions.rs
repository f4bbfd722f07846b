//! Task definitions.

use std::{
    collections::BTreeSet,
    sync::{Arc, MutexGuard, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use aws_sdk_ecs::{
    error::SdkError,
    operation::describe_task_definition::{DescribeTaskDefinitionError, DescribeTaskDefinitionOutput},
    types::{
        ContainerCondition, ContainerDefinition as EcsContainer, KeyValuePair, LogDriver, ProxyConfiguration,
        ProxyConfigurationType, Secret, TaskDefinition as EcsTaskDefinition, TaskDefinitionField,
    },
};
use jiff::Timestamp;
use mesh::{
    arn::TaskDefinitionArn,
    consul_ecs::{
        CONFIG_VARIABLE, Configuration, Programs, REGION_VARIABLE, Registrar, RegistrarContainer, Role,
        configures_controller,
    },
    definition::{ContainerDefinition, ContainerLog, LogGroup, TaskDefinition},
    local_address::LocalAddress,
    release::Image,
    secret_reference::SecretReference,
};

use super::{AwsEcs, Descriptions, EcsError, definition_cache::DefinitionCache, tags, timestamp};

/// The variable with a Consul token of the task's own.
const TOKEN_VARIABLE: &str = "CONSUL_HTTP_TOKEN";

/// Reads task definitions.
#[async_trait]
pub trait TaskDefinitions: Send + Sync {
    /// A revision and its tags, cached for as long as a change of its tags may wait: see [`super::definition_cache`].
    async fn task_definition(&self, arn: &TaskDefinitionArn) -> Result<Arc<TaskDefinition>, EcsError>;

    /// Removes a revision from the cache: its tags are invalid and may be corrected.
    fn forget(&self, arn: &TaskDefinitionArn);
}

#[async_trait]
impl TaskDefinitions for AwsEcs {
    async fn task_definition(&self, arn: &TaskDefinitionArn) -> Result<Arc<TaskDefinition>, EcsError> {
        let cached = self.cache().get(arn, Timestamp::now());
        if let Some(definition) = cached {
            return Ok(definition);
        }
        let read_at = Timestamp::now();
        let answer = self.fetch_definition(arn).await?;
        let definition = Arc::new(read_definition(arn, &answer));
        self.cache().put(&definition, read_at);
        Ok(definition)
    }

    fn forget(&self, arn: &TaskDefinitionArn) {
        self.cache().remove(arn);
    }
}

impl AwsEcs {
    fn cache(&self) -> MutexGuard<'_, DefinitionCache> {
        self.definitions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn fetch_definition(&self, arn: &TaskDefinitionArn) -> Result<Arc<DescribeTaskDefinitionOutput>, EcsError> {
        self.describe_revision(arn.as_str()).await.map_err(|e| match e {
            // ECS returns ClientException for a deleted revision.
            SdkError::ServiceError(e) if e.err().is_client_exception() => EcsError::UnknownTaskDefinition(arn.clone()),
            other => EcsError::failed(format!("task definition {arn}"), &other),
        })
    }

    /// What ECS says of a revision, by ARN or `family:revision`.
    pub(super) async fn describe_revision(
        &self,
        name: &str,
    ) -> Result<Arc<DescribeTaskDefinitionOutput>, SdkError<DescribeTaskDefinitionError>> {
        if let Some(known) = self.kept().and_then(|kept| kept.get(name).cloned()) {
            return Ok(known);
        }
        let call = self.client.describe_task_definition().task_definition(name).include(TaskDefinitionField::Tags);
        self.reads_of_definitions.turn().await;
        let answer = Arc::new(call.send().await?);
        if let Some(mut kept) = self.kept() {
            kept.insert(name.to_owned(), Arc::clone(&answer));
        }
        Ok(answer)
    }

    fn kept(&self) -> Option<MutexGuard<'_, Descriptions>> {
        Some(self.described.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn read_definition(arn: &TaskDefinitionArn, answer: &DescribeTaskDefinitionOutput) -> TaskDefinition {
    let definition = answer.task_definition();
    let containers = definition.map(EcsTaskDefinition::container_definitions).unwrap_or_default();
    let proxy = definition.and_then(EcsTaskDefinition::proxy_configuration);
    let mut variables = containers.iter().flat_map(EcsContainer::environment);
    let config = variables.find(|variable| variable.name() == Some(CONFIG_VARIABLE));
    TaskDefinition {
        arn: arn.clone(),
        tags: tags(answer.tags()),
        config: config.and_then(|variable| variable.value()).map(Configuration::from),
        containers: containers.iter().filter_map(read_container).collect(),
        secrets: secrets_of(containers),
        programs: read_programs(containers),
        task_role: definition.and_then(EcsTaskDefinition::task_role_arn).map(str::to_owned),
        is_in_app_mesh: proxy.and_then(ProxyConfiguration::r#type) == Some(&ProxyConfigurationType::Appmesh),
        registered_at: definition.and_then(EcsTaskDefinition::registered_at).and_then(timestamp),
    }
}

/// The programs of consul-ecs that the containers run. Of several containers with one role, the first counts, as in the auditor.
fn read_programs(containers: &[EcsContainer]) -> Programs {
    let first = |role| containers.iter().find(|container| role_of(container) == Some(role));
    let name = |container: &EcsContainer| container.name().unwrap_or_default().to_owned();
    let registrars = [(Role::ControlPlane, Registrar::ControlPlane), (Role::MeshInit, Registrar::MeshInit)];
    let registrar = registrars.into_iter().find_map(|(role, registrar)| Some((first(role)?, registrar)));
    let release = registrar.and_then(|(container, registrar)| {
        // A mirror may number its images in another way.
        let release = container.image().and_then(|image| Image::parse(image).consul_ecs_version());
        release.filter(|release| registrar.generation().fits(*release))
    });
    Programs {
        registrar: registrar.map(|(container, registrar)| read_registrar(container, registrar)),
        health_sync: first(Role::HealthSync).map(name),
        release,
        sets_token: containers.iter().any(sets_token),
        controller: first(Role::Controller).map(name),
    }
}

fn role_of(container: &EcsContainer) -> Option<Role> {
    let configuration = variable(container, CONFIG_VARIABLE);
    let json = configuration.and_then(|json| serde_json::from_str::<serde_json::Value>(json).ok());
    let facts = mesh::consul_ecs::ContainerTraits {
        name: container.name(),
        image: container.image().map(Image::parse),
        entry_point: container.entry_point().into(),
        command: container.command().into(),
        has_configuration: configuration.is_some()
            || container.secrets().iter().any(|secret| secret.name() == CONFIG_VARIABLE),
        configures_controller: json.as_ref().is_some_and(configures_controller),
    };
    facts.running()
}

fn variable<'c>(container: &'c EcsContainer, name: &str) -> Option<&'c str> {
    container.environment().iter().find(|variable| variable.name() == Some(name))?.value()
}

/// Whether the container gets a Consul token from its definition, or may get one: an environment file, which is not read, may
/// set any variable.
fn sets_token(container: &EcsContainer) -> bool {
    !container.environment_files().is_empty()
        || container.environment().iter().any(|variable| variable.name() == Some(TOKEN_VARIABLE))
        || container.secrets().iter().any(|secret| secret.name() == TOKEN_VARIABLE)
}

fn read_registrar(container: &EcsContainer, registrar: Registrar) -> RegistrarContainer {
    let is_secret = |secret: &Secret| [CONFIG_VARIABLE, REGION_VARIABLE].contains(&secret.name());
    let mut read =
        RegistrarContainer::new(container.name().unwrap_or_default(), registrar, variable(container, CONFIG_VARIABLE));
    read.region = variable(container, REGION_VARIABLE).map(str::to_owned);
    read.reads_more = !container.environment_files().is_empty() || container.secrets().iter().any(is_secret);
    read
}

fn read_container(container: &EcsContainer) -> Option<ContainerDefinition> {
    let awaited = container.depends_on().iter().filter(|it| *it.condition() == ContainerCondition::Healthy);
    let seconds = container.start_timeout().and_then(|seconds| u64::try_from(seconds).ok());
    Some(ContainerDefinition {
        name: container.name()?.to_owned(),
        image: container.image().map(str::to_owned),
        log: read_log(container),
        waits_for: awaited.map(|dependency| dependency.container_name().to_owned()).collect(),
        start_timeout: seconds.filter(|seconds| *seconds > 0).map(Duration::from_secs),
        local_addresses: container.environment().iter().flat_map(local_addresses).collect(),
        ports: container.port_mappings().iter().filter_map(|it| it.container_port()?.try_into().ok()).collect(),
    })
}

fn local_addresses(variable: &KeyValuePair) -> Vec<LocalAddress> {
    let named = variable.name().zip(variable.value());
    named.map(|(name, value)| LocalAddress::in_value(name, value)).unwrap_or_default()
}

fn read_log(container: &EcsContainer) -> Option<ContainerLog> {
    let configuration = container.log_configuration()?;
    let driver = configuration.log_driver();
    let option = |name: &str| configuration.options()?.get(name).filter(|value| !value.is_empty()).cloned();
    let group = option("awslogs-group").filter(|_| *driver == LogDriver::Awslogs).map(|name| LogGroup {
        name,
        region: option("awslogs-region"),
        stream_prefix: option("awslogs-stream-prefix"),
    });
    Some(group.map_or_else(|| ContainerLog::Other(driver.as_str().to_owned()), ContainerLog::CloudWatch))
}

/// The secrets in Secrets Manager that the containers read, each once.
fn secrets_of(containers: &[EcsContainer]) -> Arc<[SecretReference]> {
    let secrets = containers.iter().flat_map(EcsContainer::secrets);
    let secrets: BTreeSet<_> = secrets.filter_map(|secret| SecretReference::parse(secret.value_from())).collect();
    secrets.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use aws_sdk_ecs::types::{EnvironmentFile, EnvironmentFileType, LogConfiguration};

    use mesh::release::Release;

    use super::*;

    #[test]
    fn another_program_s_controller_is_not_that_of_consul_ecs() {
        let file = EnvironmentFile::builder().value("arn:aws:s3:::games/env").r#type(EnvironmentFileType::S3).build();
        let other = EcsContainer::builder().name("games").image("games/controller:1").command("controller");
        let programs = read_programs(&[other.environment_files(file.unwrap()).build()]);
        assert_eq!(programs.controller, None);
    }

    #[test]
    fn first_container_that_registers_the_task_counts() {
        let container = |name: &str, image: &str| {
            let variable = KeyValuePair::builder().name(CONFIG_VARIABLE).value("{}").build();
            let container = EcsContainer::builder().name(name).image(image).command("mesh-init");
            container.environment(variable).build()
        };
        let of = |image: &str| read_programs(&[container("a", image), container("b", "consul-ecs:0.8.1")]);
        let programs = of("hashicorp/consul-ecs:0.9.0");
        assert_eq!(programs.registrar.unwrap().name, "a");
        assert_eq!(programs.release, Some(Release::new(0, 9, 0)));
        for image in ["mirror/consul-ecs:0.3", "mirror/mesh:0.9.0"] {
            assert_eq!(of(image).release, None, "{image}");
        }
    }

    #[test]
    fn container_that_may_get_a_token_of_its_own_is_told_by_its_definition() {
        let sets = |container: EcsContainer| read_programs(&[container]).sets_token;
        let variable = |name: &str| KeyValuePair::builder().name(name).value("x").build();
        let secret = |name: &str| Secret::builder().name(name).value_from("mesh-web").build().unwrap();
        let file = EnvironmentFile::builder().r#type(EnvironmentFileType::S3).value("arn:aws:s3:::b/e.env").build();
        let container = EcsContainer::builder;
        assert!(sets(container().environment(variable(TOKEN_VARIABLE)).build()));
        assert!(sets(container().secrets(secret(TOKEN_VARIABLE)).build()));
        assert!(sets(container().environment_files(file.unwrap()).build()), "a file may set any variable");
        assert!(!sets(container().environment(variable("A")).secrets(secret("B")).build()));
    }

    #[test]
    fn log_is_read_where_its_driver_and_options_say() {
        let log = |driver: LogDriver, options: &[(&str, &str)]| {
            let options = options.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
            let configuration = LogConfiguration::builder().log_driver(driver).set_options(Some(options)).build();
            read_log(&EcsContainer::builder().log_configuration(configuration.unwrap()).build())
        };
        let group = LogGroup { name: "/web".to_owned(), region: Some("eu-west-1".to_owned()), stream_prefix: None };
        let options = [("awslogs-group", "/web"), ("awslogs-region", "eu-west-1")];
        assert_eq!(log(LogDriver::Awslogs, &options), Some(ContainerLog::CloudWatch(group)));
        for (driver, name) in [(LogDriver::Awsfirelens, "awsfirelens"), (LogDriver::Splunk, "splunk")] {
            assert_eq!(log(driver, &options), Some(ContainerLog::Other(name.to_owned())));
        }
        let without_a_group = log(LogDriver::Awslogs, &[("awslogs-group", ""), ("awslogs-region", "eu-west-1")]);
        assert_eq!(without_a_group, Some(ContainerLog::Other("awslogs".to_owned())));
        assert_eq!(read_log(&EcsContainer::builder().build()), None);
    }
}
