//! All that was read of one task, and what was read in addition to the clusters.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use jiff::Timestamp;
use mesh::{
    arn::{ClusterArn, TaskId},
    consul_ecs::{Registrar, names},
    definition::ContainerLog as Log,
    member::MemberTask,
    task::{ContainerHealth, DescribedTask, TaskContainer, TaskEnd, TaskPhase},
};
use observe::{History, InspectedCluster, Inspection, MemberService, UntaggedTask};
use report::{LogAction, LogLine, LogOutcome};

use super::log::{ContainerLog, LogStream};
use crate::{
    status::{OnNode, TaskVerdict, verdict},
    tokens::{ClusterTokens, Tokens},
    unread::problems,
};

/// How long a failure or a guard explains what is wrong: the messages of an event are retried, and each sweep meets the guard again.
const LATELY: Duration = Duration::from_mins(60);

/// All that was read of one task.
pub(crate) struct TaskEvidence<'a> {
    pub(crate) id: &'a TaskId,
    pub(crate) now: Timestamp,
    pub(crate) background: &'a Background,
    clusters: &'a [InspectedCluster],
    /// The cluster in which ECS knows the task, or in which Consul has its instances.
    pub(crate) cluster: Option<&'a InspectedCluster>,
    /// The task, if it is in the mesh, or was meant to be.
    pub(crate) member: Option<&'a MemberTask>,
    /// The task, if its revision has lost the mesh tag.
    pub(crate) untagged: Option<&'a UntaggedTask>,
    pub(crate) on_node: Option<OnNode<'a>>,
    /// The tokens in Consul; `None` if they could not be read.
    pub(crate) tokens: Option<ClusterTokens<'a>>,
    /// How it has stopped, or why it is stopping.
    pub(crate) end: Option<TaskEnd>,
    /// What `status` says of it, if it is meant to run.
    pub(crate) verdict: Option<TaskVerdict>,
}

impl<'a> TaskEvidence<'a> {
    pub(crate) fn new(
        id: &'a TaskId,
        clusters: &'a [InspectedCluster],
        background: &'a Background,
        now: Timestamp,
    ) -> Self {
        let knows = |cluster: &&InspectedCluster| member(cluster, id).is_some() || cluster.others.contains(id);
        let has_instance = |cluster: &&InspectedCluster| {
            cluster.catalog.iter().flat_map(|catalog| &catalog.instances).any(|instance| instance.task == *id)
        };
        let cluster = clusters.iter().find(knows).or_else(|| clusters.iter().find(has_instance));
        let untagged = cluster.and_then(|cluster| cluster.untagged.iter().find(|it| it.member.task.arn.id() == id));
        let member = cluster.and_then(|cluster| member(cluster, id)).or(untagged.map(|it| &it.member));
        let has_ended = |task: &&Arc<DescribedTask>| matches!(task.phase, TaskPhase::Stopping | TaskPhase::Stopped);
        let in_ecs = member.map(|member| &member.task).filter(has_ended);
        let in_ecs = in_ecs.map(|task| task.end.clone());
        let in_log = || background.history.lines.iter().filter(|line| line.is_of_task(id)).find_map(LogLine::end);
        let in_log = || in_log().map(TaskEnd::without_added_containers);
        let on_node = cluster.and_then(|cluster| cluster.catalog.as_ref()).map(OnNode::new);
        let tokens = cluster.zip(background.tokens.as_ref()).map(|(cluster, tokens)| tokens.of_cluster(cluster));
        let active = member.filter(|member| member.task.phase == TaskPhase::Active && untagged.is_none());
        let of_active = active.zip(cluster);
        Self {
            verdict: of_active.map(|(it, cluster)| verdict(it, cluster, on_node.as_ref(), tokens.as_ref(), now)),
            id,
            now,
            background,
            clusters,
            cluster,
            member,
            untagged,
            on_node,
            tokens,
            end: in_ecs.or_else(|| if member.is_none() { in_log() } else { None }),
        }
    }

    /// The sentence about what was searched, in parentheses, and whether all of it could be read.
    pub(crate) fn searched(&self) -> (String, bool) {
        self.background.searched_in(self.clusters)
    }

    /// The lines of the log about the task.
    pub(crate) fn lines(&self) -> impl Iterator<Item = &'a LogLine> {
        let id = self.id;
        self.background.history.lines.iter().filter(move |line| line.is_of_task(id))
    }

    /// The cluster of a task that ECS no longer knows.
    pub(crate) fn cluster_in_log(&self) -> Option<String> {
        self.lines().find_map(|line| line.cluster_arn.clone())
    }

    /// The last line with this action that says that something was done.
    pub(crate) fn done(&self, action: &LogAction) -> Option<&'a LogLine> {
        self.lines().filter(|line| line.is(action) && line.has(&LogOutcome::Done)).last()
    }

    /// The last line of a guard that has held something of the task's cluster back since `since`.
    pub(crate) fn guard(&self, since: Timestamp) -> Option<&'a LogLine> {
        let cluster = self.cluster?;
        let mut lines = self.background.history.lines.iter();
        lines.rfind(|line| line.has(&LogOutcome::GuardTripped) && line.at >= since && line.may_be_in(&cluster.arn))
    }

    /// The last line about the task, if it says that something has failed since `since`.
    pub(crate) fn failure(&self, since: Timestamp) -> Option<&'a LogLine> {
        let last = self.lines().filter(|line| !line.has(&LogOutcome::Refused)).last();
        last.filter(|line| line.has(&LogOutcome::Failed) && line.at >= since)
    }

    /// The start of the time in which a failure or a guard still explains what is wrong now.
    pub(crate) fn lately(&self) -> Timestamp {
        self.now.saturating_sub(LATELY).unwrap_or(self.now)
    }

    /// The task, if it neither stops nor has stopped.
    pub(crate) fn active(&self) -> Option<&'a MemberTask> {
        self.member.filter(|member| member.task.phase == TaskPhase::Active)
    }

    /// Whether the task is registered in Consul; `None` if Consul could not be read. Of a task that is not meant to run, one instance
    /// is enough.
    pub(crate) fn is_registered(&self) -> Option<bool> {
        let on_node = self.on_node.as_ref()?;
        Some(match self.active() {
            Some(member) => on_node.is_registered(member),
            None => !on_node.instances_of(self.id).is_empty(),
        })
    }

    /// The container of the program that registers the task.
    pub(crate) fn registrar(&self) -> Option<&'a str> {
        self.member?.definition.programs.registrar.as_ref().map(|registrar| registrar.name.as_str())
    }

    /// Whether `control-plane` of consul-ecs 0.7 registers it, which runs as long as the task.
    pub(crate) fn runs_control_plane(&self) -> bool {
        let programs = self.member.map(|member| &member.definition.programs);
        let registrar = programs.and_then(|programs| programs.registrar.as_ref());
        registrar.is_some_and(|registrar| registrar.registrar == Registrar::ControlPlane)
    }

    /// The name of the registrar; without the definition, the modules' name for mesh-init.
    pub(crate) fn registrar_or_usual(&self) -> &'a str {
        self.registrar().unwrap_or(names::MESH_INIT)
    }

    /// The containers of the task that ECS reports as unhealthy.
    pub(crate) fn unhealthy(&self) -> Vec<&'a TaskContainer> {
        let containers = self.member.map(|member| member.task.containers.as_slice()).unwrap_or_default();
        containers.iter().filter(|container| container.health == ContainerHealth::Unhealthy).collect()
    }

    pub(crate) fn ecs_service(&self) -> Option<&'a MemberService> {
        let name = self.member?.task.placement.service.as_ref()?;
        self.cluster?.services.iter().find(|service| service.state.name == *name)
    }

    /// The login tokens of the task; `None` if Consul's tokens could not be read.
    pub(crate) fn login_tokens(&self) -> Option<usize> {
        Some(self.tokens.as_ref()?.logins.listed(&self.cluster?.arn, self.id))
    }

    /// The log of a container of the task, before it is read.
    pub(crate) fn unread_log(&self, container: &str) -> ContainerLog {
        let is_app = |member: &MemberTask| member.definition.apps().any(|app| app.name == container);
        let is_of_the_mesh = self.member.is_some_and(|member| !is_app(member));
        ContainerLog::unread(container, self.stream_of(container), is_of_the_mesh)
    }

    /// The stream of a container's log in `CloudWatch` Logs, or why it is not known.
    fn stream_of(&self, container: &str) -> Result<LogStream, String> {
        let Some(member) = self.member else {
            return Err("ECS no longer knows the task, so its definition does not say where the log is".to_owned());
        };
        let Some(definition) = member.definition.container(container) else {
            return Err(format!("{} has no container {container}", member.definition.arn.short_name()));
        };
        let group = match &definition.log {
            Some(Log::CloudWatch(group)) => group,
            Some(Log::Other(driver)) => {
                return Err(format!(
                    "its log driver is {driver}. Only the logs of awslogs with a log group can be read"
                ));
            }
            None => return Err("its definition has no logConfiguration. Set the log driver awslogs".to_owned()),
        };
        let region = group.region.as_deref();
        // It becomes a part of a host's name.
        if let Some(region) = region.filter(|it| !it.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')) {
            return Err(format!("its definition sets awslogs-region to {region:?}, which is no region"));
        }
        let Some(name) = group.stream_of(container, self.id) else {
            return Err(format!(
                "its definition sets no awslogs-stream-prefix, so Docker's ID of the container names its stream in log group {}",
                group.name
            ));
        };
        Ok(LogStream { group: group.name.clone(), region: region.map(str::to_owned), name })
    }

    /// Where the log of a container of the task is, in words.
    pub(crate) fn log_of(&self, container: &str) -> String {
        if let Ok(stream) = self.stream_of(container) {
            return stream.to_string();
        }
        let log = self.member.and_then(|member| member.definition.container(container)?.log.as_ref());
        match log.and_then(Log::group) {
            Some(group) => format!("its log (log group {})", group.name),
            None => format!("the log of {container}"),
        }
    }

    /// What the audit says of the revision, as the end of a sentence.
    pub(crate) fn audit_says(&self) -> String {
        let Some(first) = self.background.audit.first() else { return String::new() };
        let rules: BTreeSet<&str> = self.background.audit.iter().map(|error| error.rule.as_str()).collect();
        let rules: Vec<&str> = rules.into_iter().collect();
        if rules.len() == 1 {
            format!(". The audit finds an error in its definition, {}: {}", first.rule, first.message)
        } else {
            format!(". The audit finds errors in its definition: {}", rules.join(", "))
        }
    }

    /// That nothing sweeps the task's cluster, as a part of a sentence, and what to do.
    pub(crate) fn unmanaged(&self) -> Option<String> {
        if self.background.lacks_stack {
            return Some(format!("there is no stack {}", self.background.stack));
        }
        let cluster = self.cluster.filter(|cluster| self.background.unmanaged.contains(&cluster.arn))?;
        Some(format!(
            "stack {} does not manage its cluster: no entry of EcsClusterArns selects {}. Correct this parameter of the \
             stack. The sweep after the update does the rest",
            self.background.stack,
            cluster.arn.name()
        ))
    }

    /// What was planned for the task in mode `observe`, and not done.
    pub(crate) fn observed(&self, action: &LogAction) -> Option<&'a LogLine> {
        self.lines().filter(|line| line.has(&LogOutcome::Observed) && line.is(action)).last()
    }
}

fn member<'a>(cluster: &'a InspectedCluster, id: &TaskId) -> Option<&'a MemberTask> {
    cluster.tasks.iter().find(|member| member.task.arn.id() == id)
}

/// An error that the audit finds in a revision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditError {
    pub rule: String,
    pub message: String,
}

/// Everything read in addition to the clusters.
#[derive(Debug, Default)]
pub struct Background {
    /// The history of the controller.
    pub history: History,
    /// The name of the stack whose history it is.
    pub stack: String,
    /// Whether there certainly is no such stack, so that nothing sweeps.
    pub lacks_stack: bool,
    /// Since when the history was read.
    pub since: Timestamp,
    /// The tokens of the task or the service in Consul; `None` if they could not be read.
    pub tokens: Option<Tokens>,
    pub audit: Vec<AuditError>,
    /// The names of the clusters that were searched.
    pub searched: Vec<String>,
    /// The clusters among them that the stack does not manage.
    pub unmanaged: BTreeSet<ClusterArn>,
}

impl Background {
    /// What could not be read, and why.
    pub(super) fn problems(&self, observed: &Inspection) -> Vec<String> {
        problems(observed).into_iter().chain(self.history.problems.iter().cloned()).collect()
    }

    /// What was searched, in words, and whether all of it could be read.
    pub(super) fn searched_in(&self, read: &[InspectedCluster]) -> (String, bool) {
        let is_whole = |cluster: &InspectedCluster| cluster.catalog.is_some() && cluster.unsorted.is_empty();
        let is_read =
            |name: &&String| read.iter().any(|cluster| cluster.arn.name() == name.as_str() && is_whole(cluster));
        let unread = self.searched.iter().filter(|name| !is_read(name)).map(String::as_str);
        let unread: Vec<&str> = unread.collect();
        let clusters = match self.searched.as_slice() {
            [] => "no cluster".to_owned(),
            [one] => format!("cluster {one}"),
            several => format!("clusters {}", several.join(", ")),
        };
        let not = if unread.is_empty() { String::new() } else { format!("; not read in full: {}", unread.join(", ")) };
        let log = if self.lacks_stack {
            format!("there is no stack {}, so no log", self.stack)
        } else if self.history.is_complete {
            format!("the log of stack {} since {}", self.stack, moment(self.since))
        } else {
            "the log could not be read".to_owned()
        };
        let has_log = self.history.is_complete || self.lacks_stack;
        (format!("searched: {clusters}{not}; {log}"), unread.is_empty() && has_log)
    }
}

/// A moment, as sentences say it.
pub(super) fn moment(at: Timestamp) -> String {
    at.strftime("%Y-%m-%d %H:%M:%S UTC").to_string()
}
