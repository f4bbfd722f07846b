//! ECS tasks: their phases, what an event and what ECS say of them, and how they have stopped.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::{self, Write as _},
    net::Ipv4Addr,
    sync::Arc,
    time::Duration,
};

use jiff::Timestamp;

use crate::{
    arn::{ClusterArn, ContainerInstanceArn, TaskArn, TaskDefinitionArn},
    catalog::DrainReason,
    definition::{Losses, TaskDefinition},
    host::Host,
    identity::MeshIdentity,
    names::words,
    secret_reference::SecretReference,
    tags::Tags,
    tenancy::Tenancy,
    time::elapsed,
};

/// The phase of a task, by its `lastStatus` and `desiredStatus`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TaskPhase {
    /// Starting or running, with desired status `RUNNING`.
    Active,
    /// Stopping: containers may still run, so that it keeps its tokens, and traffic drains.
    Stopping,
    /// Stopped. A stopped task never starts again.
    Stopped,
    /// A status that ECS did not document when this was written. The task lives, so it keeps its tokens, and nothing is done
    /// for it: it is not drained, registered or removed.
    Unknown,
}

impl TaskPhase {
    /// The phase for the two statuses.
    pub fn from_statuses(last_status: &str, desired_status: &str) -> Self {
        let is_stopping = match desired_status {
            "PENDING" | "RUNNING" => false,
            "STOPPED" => true,
            _ => return Self::Unknown,
        };
        match last_status {
            "PROVISIONING" | "PENDING" | "ACTIVATING" | "RUNNING" if is_stopping => Self::Stopping,
            "PROVISIONING" | "PENDING" | "ACTIVATING" | "RUNNING" => Self::Active,
            "DEACTIVATING" | "STOPPING" | "DEPROVISIONING" => Self::Stopping,
            "STOPPED" | "DELETED" => Self::Stopped,
            _ => Self::Unknown,
        }
    }

    /// Whether the task is not known to have stopped.
    pub fn is_living(self) -> bool {
        self != Self::Stopped
    }
}

/// A task in a task state change event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskChange {
    pub arn: TaskArn,
    pub cluster: ClusterArn,
    pub definition: TaskDefinitionArn,
    /// Its phase when the event was created.
    pub phase: TaskPhase,
    /// Increases with every change of the task: an equal version is a duplicate, a lower one is stale.
    pub version: u64,
    /// When the event was created.
    pub time: Timestamp,
    /// The names of its containers that have stopped. A container that its `restartPolicy` restarts is not among them.
    pub stopped_containers: Vec<String>,
    /// Whether ECS has lost contact with the agent of its container instance.
    pub is_disconnected: bool,
    /// How it has stopped, if it has.
    pub end: Option<TaskEnd>,
}

/// A task as ECS describes it now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DescribedTask {
    pub arn: TaskArn,
    /// `None` for a task of another kind of definition, or of none: it is outside the mesh.
    pub definition: Option<TaskDefinitionArn>,
    pub phase: TaskPhase,
    /// Its `lastStatus`, for example `RUNNING`.
    pub last_status: String,
    pub tags: Tags,
    pub containers: Vec<TaskContainer>,
    /// Where and how it runs.
    pub placement: Placement,
    /// When the pull of its images began.
    pub pull_started_at: Option<Timestamp>,
    /// When ECS or a caller began to stop it.
    pub stopping_at: Option<Timestamp>,
    /// Its creation, its start and its end; the reasons of its containers also while it runs.
    pub end: TaskEnd,
}

/// How long after the creation of a task its images are pulled, and it is registered.
const TIME_TO_REGISTER: Duration = Duration::from_mins(15);

impl DescribedTask {
    pub fn is_running(&self) -> bool {
        self.last_status == "RUNNING"
    }

    /// Whether `DescribeClusters` counts it.
    pub fn is_counted(&self) -> bool {
        matches!(self.last_status.as_str(), "RUNNING" | "PENDING")
    }

    /// Whether ECS created it 15 minutes before `now` or earlier: by then it is registered.
    pub fn has_had_time_to_register(&self, now: Timestamp) -> bool {
        self.end.created_at.is_some_and(|at| elapsed(at, now) >= TIME_TO_REGISTER)
    }

    pub fn container(&self, name: &str) -> Option<&TaskContainer> {
        self.containers.iter().find(|container| container.name == name)
    }

    /// The task without the containers that its definition does not name. AWS adds some to tasks, for example `GuardDuty`'s agent and
    /// Service Connect's proxy. They are never the app, the proxy or health-sync: consul-ecs ignores each container whose type is not
    /// `NORMAL` (<https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-metadata-endpoint-v4-response.html>).
    #[must_use]
    pub fn with_containers_of(self: Arc<Self>, definition: &TaskDefinition) -> Arc<Self> {
        let is_named = |name: &str| definition.container(name).is_some();
        if self.containers.iter().all(|container| is_named(&container.name)) {
            return self;
        }
        let mut task = Arc::unwrap_or_clone(self);
        task.containers.retain(|container| is_named(&container.name));
        task.end.containers.retain(|container| is_named(&container.name));
        Arc::new(task)
    }

    /// The containers that its definition does not name and that ECS could not start: [`Self::with_containers_of`] leaves them out.
    pub fn added_that_did_not_start<'t>(
        &'t self,
        definition: &TaskDefinition,
    ) -> impl Iterator<Item = &'t ContainerEnd> {
        let did_not_start = |end: &&ContainerEnd| {
            definition.container(&end.name).is_none() && end.exit_code.is_none() && end.reason.is_some()
        };
        self.end.containers.iter().filter(did_not_start)
    }

    /// What it has lost, with this definition.
    pub fn losses(&self, definition: &TaskDefinition) -> Losses {
        let stopped = self.containers.iter().filter(|container| container.is_stopped);
        let stopped: Vec<String> = stopped.map(|container| container.name.clone()).collect();
        definition.losses(&stopped)
    }
}

/// Where and how a task runs:
/// <https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_Task.html>
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Placement {
    /// Whether ECS has lost contact with the agent of its container instance: what it reports of the task is old.
    pub is_disconnected: bool,
    /// When its agent has lost or regained contact with ECS.
    pub connectivity_at: Option<Timestamp>,
    /// The container instance that it runs on; `None` on Fargate.
    pub container_instance: Option<ContainerInstanceArn>,
    /// The IPv4 address of its network interface; `None` without one (other network modes than `awsvpc`, IPv6 only).
    pub address: Option<Ipv4Addr>,
    pub zone: Option<String>,
    /// Whether it runs on Fargate, which sets `AWS_REGION` in each container.
    pub is_on_fargate: bool,
    /// The ECS service that started it.
    pub service: Option<String>,
    /// Its capacity provider, or its launch type.
    pub runs_on: Option<String>,
    /// The IAM role of its containers, if it replaces the definition's.
    pub role: Option<String>,
    /// Its own values of environment variables, by container and name: they replace the definition's.
    pub overrides: BTreeMap<String, BTreeMap<String, String>>,
    /// The containers whose command or environment files it replaces.
    pub rewritten: BTreeSet<String>,
}

impl Placement {
    /// Whether it runs on an external instance (ECS Anywhere), which EC2 does not know.
    pub fn is_external(&self) -> bool {
        self.runs_on.as_deref() == Some("EXTERNAL")
    }

    /// Which agent ECS has lost contact with, and since when.
    pub fn lost_contact(&self) -> String {
        let host = self.container_instance.as_ref().map(|arn| format!(" on {arn}")).unwrap_or_default();
        let since = self.connectivity_at.map(|at| format!(" since {at}")).unwrap_or_default();
        format!("ECS has had no contact with the agent{host}{since}")
    }
}

/// A container of a task as ECS describes it now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskContainer {
    /// Its name in the task definition.
    pub name: String,
    pub health: ContainerHealth,
    /// Whether its last status is `STOPPED`. In a task that runs, it does not start again.
    pub is_stopped: bool,
    pub exit_code: Option<i32>,
}

words! {
    /// The health status of a container in ECS:
    /// <https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_Container.html>
    ContainerHealth, "health status" {
        Healthy = "HEALTHY",
        Unhealthy = "UNHEALTHY",
        /// There is no result yet, or no health check.
        Unknown = "UNKNOWN",
    }
}

/// Who a task is in the mesh: as a plan sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MeshTask {
    pub arn: TaskArn,
    pub cluster: ClusterArn,
    pub phase: TaskPhase,
    pub stopped_at: Option<Timestamp>,
    /// The tenancy of its entries in Consul.
    pub tenancy: Tenancy,
    /// Its identity. `None` outside the mesh, and for a stopped task whose definition or tags are gone: its entries in
    /// Consul are found by its ID.
    pub identity: Option<MeshIdentity>,
    /// In a listing of every task, its identity by the tags of its definition alone, which counted if its event came
    /// before ECS described the task. It differs only if a user overrides tags.
    pub identity_by_definition: Option<MeshIdentity>,
    /// The secrets that its containers read, in any version.
    pub secrets: Arc<[SecretReference]>,
    pub runs_client_agent: bool,
    pub losses: Losses,
    pub host: Host,
}

impl MeshTask {
    /// A task that is known only by its ID.
    pub fn unidentified(arn: TaskArn, cluster: ClusterArn, phase: TaskPhase, tenancy: Tenancy) -> Self {
        Self {
            arn,
            cluster,
            phase,
            stopped_at: None,
            tenancy,
            identity: None,
            identity_by_definition: None,
            secrets: Arc::default(),
            runs_client_agent: false,
            losses: Losses::default(),
            host: Host::Unknown,
        }
    }

    /// The identities that it may have.
    pub fn identities(&self) -> impl Iterator<Item = &MeshIdentity> {
        self.identity.iter().chain(&self.identity_by_definition)
    }

    /// Why its instances are to be drained, if they are.
    pub fn drain_reason(&self) -> Option<DrainReason> {
        match self.phase {
            TaskPhase::Active if self.losses.proxy => Some(DrainReason::ProxyStopped),
            TaskPhase::Active => (self.host == Host::Gone).then_some(DrainReason::HostGone),
            TaskPhase::Stopping => Some(DrainReason::Stopping),
            TaskPhase::Stopped | TaskPhase::Unknown => None,
        }
    }
}

/// How a task has stopped, as its event says:
/// <https://docs.aws.amazon.com/AmazonECS/latest/developerguide/stopped-task-error-codes.html>
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskEnd {
    /// `stopCode`, for example `EssentialContainerExited`.
    pub code: Option<String>,
    /// `stoppedReason`.
    pub reason: Option<String>,
    /// Its containers, in their order.
    pub containers: Vec<ContainerEnd>,
    /// When ECS created the task.
    pub created_at: Option<Timestamp>,
    /// When its containers had started; `None` if they never had.
    pub started_at: Option<Timestamp>,
    /// When its last container had stopped.
    pub stopped_at: Option<Timestamp>,
}

/// How the names of containers begin that AWS adds to tasks: of `GuardDuty`
/// (<https://docs.aws.amazon.com/guardduty/latest/ug/how-runtime-monitoring-works-ecs-fargate.html>), and of Service Connect
/// (<https://docs.aws.amazon.com/AmazonECS/latest/developerguide/service-connect-concepts-deploy.html>).
const ADDED: [&str; 2] = ["aws-guardduty-agent-", "ecs-service-connect-"];

/// How a container of a task has stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContainerEnd {
    /// Its name in the task definition.
    pub name: String,
    /// Its exit code; `None` if it never ran.
    pub exit_code: Option<i64>,
    /// Why ECS stopped it or could not start it.
    pub reason: Option<String>,
}

/// For example `web exited with 137 (OutOfMemoryError: Container killed due to memory usage)`.
impl fmt::Display for ContainerEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.exit_code {
            Some(code) => write!(f, "{} exited with {code}", self.name)?,
            None => write!(f, "{} did not run", self.name)?,
        }
        match &self.reason {
            Some(reason) => write!(f, " ({reason})"),
            None => Ok(()),
        }
    }
}

impl TaskEnd {
    /// Whether its containers never ran. Only then does an image or a secret that could not be read explain the end: ECS reports the
    /// reason of a container that AWS adds, and that did not start, also for a task that ran for days.
    pub fn has_never_run(&self) -> bool {
        self.started_at.is_none()
    }

    /// The end without the containers that AWS adds to tasks, as far as their names tell. For a task whose definition is known,
    /// [`DescribedTask::with_containers_of`] says more.
    #[must_use]
    pub fn without_added_containers(mut self) -> Self {
        self.containers.retain(|container| !ADDED.iter().any(|prefix| container.name.starts_with(prefix)));
        self
    }

    /// Why the task has stopped, if no caller stopped it:
    /// <https://docs.aws.amazon.com/AmazonECS/latest/developerguide/stopped-task-error-codes.html>
    pub fn failure(&self) -> Option<String> {
        let code =
            self.code.as_deref().filter(|code| ["EssentialContainerExited", "TaskFailedToStart"].contains(code))?;
        let has_failed = |end: &&ContainerEnd| end.exit_code.is_some_and(|code| code != 0) || end.reason.is_some();
        let ends = self.containers.iter().filter(has_failed).map(ToString::to_string);
        let reason = self.reason.as_deref().unwrap_or(code).to_owned();
        Some([reason].into_iter().chain(ends).collect::<Vec<String>>().join("; "))
    }
}

impl ContainerEnd {
    /// Whether ECS killed it because it exceeded its memory limit.
    pub fn is_out_of_memory(&self) -> bool {
        self.reason.as_deref().is_some_and(|reason| reason.contains("OutOfMemory"))
    }

    /// Containers in one line, which [`Self::in_line`] reads.
    pub fn line(containers: &[Self]) -> String {
        containers.iter().map(ToString::to_string).collect::<Vec<String>>().join(", ")
    }

    /// The containers of such a line. What does not begin with a container belongs to the reason of the one before.
    pub fn in_line(line: &str) -> Vec<Self> {
        let mut containers: Vec<Self> = Vec::new();
        for part in line.split(", ") {
            match (Self::parse(part), containers.last_mut()) {
                (Some(container), _) => containers.push(container),
                (None, Some(Self { reason: Some(reason), .. })) => drop(write!(reason, ", {part}")),
                (None, _) => {}
            }
        }
        for container in &mut containers {
            container.reason = container.reason.take().map(|reason| reason.trim_end_matches(')').to_owned());
        }
        containers
    }

    /// The beginning of a container, with the parenthesis at the end of its reason.
    fn parse(part: &str) -> Option<Self> {
        let (name, rest) = part.split_once(' ')?;
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        let (how, reason) = match rest.split_once(" (") {
            Some((how, reason)) => (how, Some(reason.to_owned())),
            None => (rest, None),
        };
        let exit_code = match how.strip_prefix("exited with ") {
            Some(code) => Some(code.parse().ok()?),
            None if how == "did not run" => None,
            None => return None,
        };
        name.chars().all(is_name).then(|| Self { name: name.to_owned(), exit_code, reason })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::examples::unidentified;

    #[test]
    fn statuses_map_to_phases() {
        let phase = TaskPhase::from_statuses;
        assert_eq!(phase("PROVISIONING", "RUNNING"), TaskPhase::Active);
        assert_eq!(phase("RUNNING", "RUNNING"), TaskPhase::Active);
        assert_eq!(phase("RUNNING", "STOPPED"), TaskPhase::Stopping);
        assert_eq!(phase("DEPROVISIONING", "STOPPED"), TaskPhase::Stopping);
        assert_eq!(phase("STOPPED", "STOPPED"), TaskPhase::Stopped);
    }

    #[test]
    fn task_with_an_unknown_status_lives_and_is_neither_active_nor_stopped() {
        for (last, desired) in [("DANCING", "RUNNING"), ("DANCING", "STOPPED"), ("RUNNING", ""), ("STOPPED", "MAYBE")] {
            let phase = TaskPhase::from_statuses(last, desired);
            assert_eq!((phase, phase.is_living()), (TaskPhase::Unknown, true), "{last} {desired}");
        }
        let losses = Losses { proxy: true, health_sync: true };
        assert_eq!(MeshTask { losses, ..unidentified("prod", 1, TaskPhase::Unknown) }.drain_reason(), None);
    }

    fn container(name: &str, exit_code: Option<i64>, reason: Option<&str>) -> ContainerEnd {
        ContainerEnd { name: name.to_owned(), exit_code, reason: reason.map(str::to_owned) }
    }

    #[test]
    fn only_a_task_that_no_caller_stopped_has_failed() {
        let failure = |code: &str| {
            let containers = vec![container("app", Some(1), None), container("consul-ecs-mesh-init", Some(0), None)];
            let (code, reason) = (Some(code.to_owned()), Some("Essential container in task exited".to_owned()));
            TaskEnd { code, reason, containers, ..TaskEnd::default() }.failure()
        };
        let expected = "Essential container in task exited; app exited with 1";
        assert_eq!(failure("EssentialContainerExited").as_deref(), Some(expected));
        assert_eq!(failure("ServiceSchedulerInitiated"), None);
    }

    #[test]
    fn line_is_read_as_it_was_written() {
        let containers = vec![
            container("consul-ecs-mesh-init", Some(0), None),
            container("app", Some(137), Some("OutOfMemoryError: Container killed due to memory usage")),
            container("side_car", None, Some("CannotPullContainerError: not found, or no access, to x:1")),
            container("last", Some(-1), None),
        ];
        assert_eq!(ContainerEnd::in_line(&ContainerEnd::line(&containers)), containers);
        assert_eq!(ContainerEnd::in_line(""), []);
    }
}
