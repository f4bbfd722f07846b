//! Task definitions, and how the identity of their tasks is read from them.

use std::{sync::Arc, time::Duration};

use jiff::Timestamp;

use crate::{
    arn::{TaskDefinitionArn, TaskId},
    consul_ecs::{
        CONFIG_VARIABLE, Configuration, ContainerTraits, EcsConfig, MESH_TAG, Programs, Role, SERVICE_NAME_TAG,
        is_sidecar, names,
    },
    identity::{MeshIdentity, MeshService},
    local_address::LocalAddress,
    names::{InvalidField, ServiceName},
    secret_reference::SecretReference,
    settings::TokenSettings,
    tags::Tags,
    tenancy::Tenancy,
};

/// The parts of a task definition revision that determine the identity of its tasks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskDefinition {
    pub arn: TaskDefinitionArn,
    pub tags: Tags,
    /// The value of `CONSUL_ECS_CONFIG_JSON` of the container that has it.
    pub config: Option<Configuration>,
    pub containers: Vec<ContainerDefinition>,
    /// The secrets in Secrets Manager that they read.
    pub secrets: Arc<[SecretReference]>,
    /// The programs of consul-ecs that they run.
    pub programs: Programs,
    /// The IAM role of the tasks.
    pub task_role: Option<String>,
    /// Whether its proxy is configured for AWS App Mesh.
    pub is_in_app_mesh: bool,
    pub registered_at: Option<Timestamp>,
}

/// The approximate size of a structure without its texts, in bytes.
const OVERHEAD: usize = 128;
/// The most bytes of a reference to a secret, whose name has up to 512 characters.
const SECRET: usize = 1024;

/// How long ECS keeps a task that does not start, if no `startTimeout` ends it. It is not documented; users and AWS's support
/// name three hours: <https://github.com/aws/containers-roadmap/issues/2379>,
/// <https://github.com/aws/containers-roadmap/issues/1532>
pub const LONGEST_START: Duration = Duration::from_hours(3);

/// A container of a task definition.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ContainerDefinition {
    pub name: String,
    pub image: Option<String>,
    /// Where its log goes, if the definition has a log configuration.
    pub log: Option<ContainerLog>,
    /// The containers that have to be `HEALTHY` before it starts.
    pub waits_for: Vec<String>,
    /// `startTimeout`: after this time, the containers that wait for it give up.
    pub start_timeout: Option<Duration>,
    /// The addresses in the task that its environment variables name.
    pub local_addresses: Vec<LocalAddress>,
    /// The ports of its port mappings.
    pub ports: Vec<u16>,
}

/// Where the log of a container goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ContainerLog {
    /// To CloudWatch Logs, by the driver `awslogs`: <https://docs.aws.amazon.com/AmazonECS/latest/developerguide/using_awslogs.html>
    CloudWatch(LogGroup),
    /// Another driver, by its name, or `awslogs` without a group.
    Other(String),
}

/// A log group in CloudWatch Logs, as a log configuration names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogGroup {
    pub name: String,
    /// `awslogs-region`; ECS demands it.
    pub region: Option<String>,
    /// The prefix of the names of its streams; without one, their names are not known.
    pub stream_prefix: Option<String>,
}

impl LogGroup {
    /// The name of the stream of a container in a task, if the definition tells it.
    pub fn stream_of(&self, container: &str, task: &TaskId) -> Option<String> {
        Some(format!("{}/{container}/{task}", self.stream_prefix.as_ref()?))
    }
}

impl ContainerLog {
    fn approximate_size(&self) -> usize {
        let texts = match self {
            Self::CloudWatch(LogGroup { name, region, stream_prefix }) => {
                name.len() + [region, stream_prefix].into_iter().flatten().map(String::len).sum::<usize>()
            }
            Self::Other(driver) => driver.len(),
        };
        texts + OVERHEAD
    }

    /// The log group, if there is one.
    pub fn group(&self) -> Option<&LogGroup> {
        match self {
            Self::CloudWatch(group) => Some(group),
            Self::Other(_) => None,
        }
    }
}

/// The programs of the mesh that have stopped in a task that runs, where they do not start again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Losses {
    pub proxy: bool,
    /// The program that reports its health to Consul.
    pub health_sync: bool,
}

/// Whether a task is in the mesh, and as what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Classification {
    Member(MeshIdentity),
    Outside,
    /// Its own tags decide, but ECS does not describe the task.
    TagsUnknown,
    /// It is in the mesh, but its tags or its configuration are invalid.
    Invalid(InvalidField),
}

impl TaskDefinition {
    pub fn container(&self, name: &str) -> Option<&ContainerDefinition> {
        self.containers.iter().find(|container| container.name == name)
    }

    /// Its containers that are not of the mesh.
    pub fn apps(&self) -> impl Iterator<Item = &ContainerDefinition> {
        let Programs { registrar, health_sync, controller, .. } = &self.programs;
        let registrar = registrar.iter().map(|registrar| &registrar.name);
        let programs: Vec<&String> = registrar.chain(health_sync).chain(controller).collect();
        let is_app = move |name: &String| {
            let traits = ContainerTraits { name: Some(name), ..ContainerTraits::default() };
            traits.role() == Role::App && !programs.contains(&name)
        };
        self.containers.iter().filter(move |container| is_app(&container.name))
    }

    pub fn image_of(&self, container: &str) -> Option<&str> {
        self.container(container)?.image.as_deref()
    }

    pub fn images(&self) -> impl Iterator<Item = &str> {
        self.containers.iter().filter_map(|container| container.image.as_deref())
    }

    /// Whether the tags of the task decide: the definition has Consul's configuration, but no mesh tag, and reads no token
    /// of the controller.
    pub fn needs_task_tags(&self, default_tenancy: &Tenancy, settings: TokenSettings<'_>) -> bool {
        let reads_token = || matches!(self.identify_by_secrets(default_tenancy, settings), Ok(Some(_)));
        self.tags.get(MESH_TAG).is_none() && self.config.is_some() && !reads_token()
    }

    /// Whether it runs a program of consul-ecs or has its configuration: its tasks are meant for a mesh.
    pub fn runs_consul_ecs(&self) -> bool {
        let Programs { registrar, health_sync, controller, .. } = &self.programs;
        let has_program = registrar.is_some() || health_sync.is_some() || controller.is_some();
        has_program || self.config.is_some() || self.runs_client_agent()
    }

    /// Whether it runs consul-ecs and nothing says whether its tasks are in the mesh: it has no mesh tag.
    pub fn is_untagged(&self) -> bool {
        self.runs_consul_ecs() && self.tags.get(MESH_TAG).is_none()
    }

    /// The approximate size in bytes: of its texts, and of the structures around them.
    pub fn approximate_size(&self) -> usize {
        let named = self.config.iter().map(Configuration::approximate_size);
        let in_full = self.programs.registrar.as_ref().and_then(|registrar| registrar.config()?.as_ref().ok());
        let configurations = named.chain(in_full.map(|config| config.approximate_size()));
        let tags = self.tags.iter().map(|(key, value)| key.len() + value.len() + OVERHEAD);
        let containers = self.containers.iter().map(|container| {
            let image = container.image.as_ref().map_or(0, String::len);
            let log = container.log.as_ref().map_or(0, ContainerLog::approximate_size);
            let waits_for: usize = container.waits_for.iter().map(|name| name.len() + OVERHEAD).sum();
            let addresses: usize = container.local_addresses.iter().map(|it| it.variable.len() + OVERHEAD).sum();
            let ports = container.ports.len() * size_of::<u16>();
            container.name.len() + image + log + waits_for + addresses + ports + OVERHEAD
        });
        OVERHEAD + self.secrets.len() * SECRET + configurations.chain(tags).chain(containers).sum::<usize>()
    }

    /// Whether its tasks run a Consul client agent (consul-ecs up to 0.6).
    pub fn runs_client_agent(&self) -> bool {
        self.container(names::CLIENT).is_some()
    }

    /// What a task has lost, if these of its containers have stopped. Nothing if it runs a client agent, which deregisters its
    /// services by itself. A proxy that AWS adds to the task for another program does not count.
    pub fn losses(&self, stopped: &[String]) -> Losses {
        if self.runs_client_agent() {
            return Losses::default();
        }
        let has_stopped = |name: &str| stopped.iter().any(|stopped| stopped == name);
        Losses {
            proxy: self.container(names::DATAPLANE).is_some() && has_stopped(names::DATAPLANE),
            health_sync: self.programs.health_reporter().is_some_and(has_stopped),
        }
    }

    /// The classification of a task of this definition with `task_tags`; `None`: ECS does not describe the task.
    pub fn classify(
        &self,
        task_tags: Option<&Tags>,
        default_tenancy: &Tenancy,
        settings: TokenSettings<'_>,
    ) -> Classification {
        if task_tags.is_none() && self.needs_task_tags(default_tenancy, settings) {
            return Classification::TagsUnknown;
        }
        match self.identify(task_tags.unwrap_or(&Tags::default()), default_tenancy, settings) {
            Ok(Some(identity)) => Classification::Member(identity),
            Ok(None) => Classification::Outside,
            Err(invalid) => Classification::Invalid(invalid),
        }
    }

    /// The identity of a task of this definition, or `None` if it is not in the mesh.
    ///
    /// It is in the mesh if its mesh tag is `true`, or if the definition has no such tag and reads a token of the
    /// controller. The service name is the tag's, else the configuration's, else the family. Without Enterprise
    /// tags the tenancy is `default_tenancy`.
    ///
    /// A tag of the task (`task_tags`) takes precedence over the same tag of the definition, because ECS copies tags to
    /// tasks only with `propagateTags`. Tags of tasks do not count for a definition that only its secrets show to be in
    /// the mesh.
    ///
    /// # Errors
    /// The task is in the mesh, but its name is invalid, or only one of the two Enterprise tags is set.
    pub fn identify(
        &self,
        task_tags: &Tags,
        default_tenancy: &Tenancy,
        settings: TokenSettings<'_>,
    ) -> Result<Option<MeshIdentity>, InvalidField> {
        if let Some(identity) = self.identify_by_secrets(default_tenancy, settings)? {
            return Ok(Some(identity));
        }
        let tags = task_tags.or(&self.tags);
        if tags.get(MESH_TAG) == Some("true") { self.identity(&tags, default_tenancy).map(Some) } else { Ok(None) }
    }

    /// The identity of tasks of a definition that only its secrets show to be in the mesh. Tags of the tasks do not
    /// count, because ECS may show them later than the tasks, which would change the owner of the secret.
    fn identify_by_secrets(
        &self,
        default_tenancy: &Tenancy,
        settings: TokenSettings<'_>,
    ) -> Result<Option<MeshIdentity>, InvalidField> {
        if self.tags.get(MESH_TAG).is_some()
            || !self.secrets.iter().any(|secret| settings.names.is_under_prefix(secret))
        {
            return Ok(None);
        }
        let identity = self.identity(&self.tags, default_tenancy)?;
        Ok(Some(identity).filter(|identity| !settings.read(identity).is_empty()))
    }

    fn identity(&self, tags: &Tags, default_tenancy: &Tenancy) -> Result<MeshIdentity, InvalidField> {
        let config = self.config.as_ref().map(Configuration::named);
        let name = match (tags.get(SERVICE_NAME_TAG), config) {
            (Some(name), _) => name.parse::<ServiceName>().map_err(|e| e.in_field(SERVICE_NAME_TAG))?,
            (None, Some(Err(broken))) => return Err(broken.clone()),
            (None, Some(Ok(config))) if config.name().is_some() => {
                let name = config.name().unwrap_or_default().parse::<ServiceName>();
                name.map_err(|e| e.in_field(format!("{CONFIG_VARIABLE}: name")))?
            }
            (None, _) => ServiceName::from_family(self.arn.family().as_str())?,
        };
        if is_sidecar(name.as_str()) {
            let expected = "a name that no sidecar proxy has: without -sidecar-proxy at its end; rename the service";
            return Err(InvalidField::new("service name", name.as_str(), expected));
        }
        let tenancy = Tenancy::from_tags(tags)?.unwrap_or_else(|| default_tenancy.clone());
        Ok(MeshIdentity {
            service: MeshService { tenancy, name },
            gateway: config.and_then(Result::ok).and_then(EcsConfig::gateway_kind),
            secrets: Arc::clone(&self.secrets),
        })
    }
}
