//! What Consul should hold for a running task.

use jiff::Timestamp;

use crate::{
    admission::{Claim, RoleArn},
    arn::TaskId,
    consul_ecs::{
        MeshConfig, Proxy, REGION_VARIABLE, Registrar, RegistrarContainer, Registration, TASK_ID_META, TaskPlace,
        registrations,
    },
    health::{SyncedTask, verdict},
    member::{ConfigError, MemberTask},
    repair::REPAIR_TAG,
    tags::Tags,
    task::{ContainerHealth, DescribedTask},
    tenancy::Tenancy,
};

/// Why the entries of a task in Consul are left as they are.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotRepaired {
    /// Its Consul client agent registers it, and does so again by itself.
    #[error("its Consul client agent registers it")]
    ClientAgent,
    /// The program that registers it has not said yet that it has: `mesh-init` runs, or `control-plane` is not `HEALTHY`.
    #[error("its container {0} has not registered it yet; read the log of that container")]
    Starting(String),
    /// The program that registers it has failed.
    #[error("its container {0} failed, so it was never registered")]
    Failed(String),
    /// The program that registers it has stopped.
    #[error("its container {0} has stopped, so nothing in the task can register it; replace the task")]
    Stopped(String),
    /// Its partition is not known.
    #[error("the node of its cluster was not read in the partition of its configuration")]
    NodeUnread,
    /// What ECS reports of it is old.
    #[error("ECS has lost contact with its agent")]
    Disconnected,
    /// It has no address of its own.
    #[error("it has no IPv4 address of its own (network mode awsvpc)")]
    NoAddress,
    /// Its configuration is not known in full.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// Consul accepts it, and hangs at every later read of the service or its node.
    #[error(
        "the proxy configuration of {0} has null inside a list, which makes every read of the service in Consul hang"
    )]
    NullInList(String),
    /// Its metadata names another task: it would be deregistered if ECS does not know that one.
    #[error("the field meta of its configuration sets task-id to {0}, the ID of another task")]
    OtherTaskId(String),
    /// An operator does not want it.
    #[error("the tag {REPAIR_TAG} of the task or its service is off")]
    OptedOut,
    /// Whether an operator wants it is not known.
    #[error("the tags of its ECS service could not be read")]
    ServiceUnread,
    #[error("the tags of its task definition could not be read")]
    DefinitionUnread,
}

impl NotRepaired {
    /// Whether nothing is missing of the task in this case, at `now`.
    pub fn is_normal(&self, task: &DescribedTask, now: Timestamp) -> bool {
        match self {
            Self::ClientAgent => true,
            Self::Starting(_) => !task.has_had_time_to_register(now),
            _ => false,
        }
    }
}

/// Whether tags say that a task is not to be repaired.
pub fn opts_out(tags: &Tags) -> bool {
    tags.get(REPAIR_TAG) == Some("off")
}

impl MemberTask {
    /// What Consul should hold for the task: what `mesh-init` registered, with the health that ECS reports.
    ///
    /// # Errors
    /// Why that is not known, or not wanted.
    pub fn expected(&self) -> Result<Vec<Registration>, NotRepaired> {
        let registrar = self.registered_by()?;
        let (task, placement) = (&self.task, &self.task.placement);
        let invalid = |invalid| NotRepaired::Config(ConfigError::Invalid(invalid));
        let config = self.config()?;
        let tenancy = config.tenancy(self.is_enterprise).map_err(invalid)?;
        let place = TaskPlace {
            arn: task.arn.clone(),
            cluster: self.cluster.clone(),
            family: self.definition.arn.family().clone(),
            address: placement.address.ok_or(NotRepaired::NoAddress)?,
            zone: placement.zone.clone(),
            region: self.region(registrar),
        };
        let mut expected = registrations(&config, &place, &tenancy).map_err(invalid)?;
        let has_null = |it: &&Registration| it.proxy.as_ref().is_some_and(Proxy::has_null_in_list);
        if let Some(unreadable) = expected.iter().find(has_null) {
            return Err(NotRepaired::NullInList(unreadable.id.clone()));
        }
        let ids = expected.iter().filter_map(|registration| registration.meta.get(TASK_ID_META));
        if let Some(other) = ids.filter_map(|id| id.parse::<TaskId>().ok()).find(|id| id != task.arn.id()) {
            return Err(NotRepaired::OtherTaskId(other.to_string()));
        }
        let synced = self.synced(&config);
        for check in expected.iter_mut().flat_map(|registration| &mut registration.checks) {
            if let Some(verdict) = check.container().and_then(|container| verdict(&synced, container)) {
                (check.status, check.output) = (verdict.initial(), verdict.why);
            }
        }
        Ok(expected)
    }

    /// Its containers, and which of them are synced.
    pub(super) fn synced(&self, config: &MeshConfig) -> SyncedTask {
        SyncedTask {
            containers: self.task.containers.clone(),
            synced: config.synced_containers().to_vec(),
            is_overall: self.definition.programs.report_overall_health(),
        }
    }

    /// The IAM role that ECS reports for the task: its own, or its definition's. `None` without a full ARN.
    pub fn role(&self) -> Option<RoleArn> {
        self.task.placement.role.as_ref().or(self.definition.task_role.as_ref())?.parse().ok()
    }

    /// The service or gateway that the task claims to be, by what Consul should hold for it. A sidecar proxy comes with its service.
    pub fn claim<'a>(&'a self, expected: &'a [Registration]) -> Option<Claim<'a>> {
        let Registration { name, tenancy, .. } = expected.first()?;
        Some(Claim { cluster: &self.cluster, task: self.task.arn.id(), service: name, tenancy })
    }

    /// The partition and namespace of the configuration; `None` if they are not known.
    pub fn tenancy(&self) -> Option<Tenancy> {
        self.config().ok()?.tenancy(self.is_enterprise).ok()
    }

    /// The container that has registered the task.
    fn registered_by(&self) -> Result<&RegistrarContainer, NotRepaired> {
        if self.definition.runs_client_agent() {
            return Err(NotRepaired::ClientAgent);
        }
        let registrar = self.definition.programs.registrar.as_ref().ok_or(ConfigError::NoRegistrar)?;
        let container = self.task.container(&registrar.name);
        // Containers wait for the success of mesh-init, and the task is PENDING until they run.
        if let (Registrar::MeshInit, Some(container)) = (registrar.registrar, container)
            && container.is_stopped
            && container.exit_code != Some(0)
        {
            return Err(NotRepaired::Failed(registrar.name.clone()));
        }
        if !self.task.is_running() {
            return Err(NotRepaired::Starting(registrar.name.clone()));
        }
        if self.task.placement.is_disconnected {
            return Err(NotRepaired::Disconnected);
        }
        if opts_out(&self.task.tags) || opts_out(&self.definition.tags) {
            return Err(NotRepaired::OptedOut);
        }
        match (registrar.registrar, container) {
            (Registrar::MeshInit, Some(container)) if container.is_stopped => Ok(registrar),
            (Registrar::ControlPlane, Some(container)) if container.is_stopped => {
                Err(NotRepaired::Stopped(registrar.name.clone()))
            }
            (Registrar::ControlPlane, Some(container)) if container.health == ContainerHealth::Healthy => Ok(registrar),
            _ => Err(NotRepaired::Starting(registrar.name.clone())),
        }
    }

    fn region(&self, registrar: &RegistrarContainer) -> Option<String> {
        let placement = &self.task.placement;
        let own = placement.overrides.get(&registrar.name).and_then(|own| own.get(REGION_VARIABLE));
        let on_fargate = placement.is_on_fargate.then(|| self.cluster.region().to_owned());
        own.or(registrar.region.as_ref()).cloned().or(on_fargate)
    }
}
