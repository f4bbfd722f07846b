//! What the plan of a sweep says of a mesh: each kind of action is a finding, and each action says what a controller would do.

use std::collections::{BTreeMap, BTreeSet};

use audit::severity::Severity;
use jiff::Timestamp;
use mesh::{arn::ClusterArn, catalog::ServiceInstance, tenancy::Tenancy};
use observe::InspectedCluster;
use report::{ClusterReport, PlannedAction, SweptStatus};

use super::{
    SurveyEvidence,
    report::{SurveyFinding, SurveyObject, name_of},
};
use crate::doctor::{deregister, word};

/// What an action of a sweep says of a mesh, worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Leftover,
    LostTask,
    MissingNode,
    MissingToken,
    WrongStatus,
    UndrainedTask,
    UnusedLogin,
    DeadAgent,
    IdleToken,
    DeadNode,
    Unknown,
}

/// What a kind is in words.
struct Words {
    id: &'static str,
    severity: Severity,
    /// What one of them is, and what several are.
    title: [&'static str; 2],
    cost: &'static str,
    /// What a controller does.
    action: &'static str,
}

impl Kind {
    fn of(action: &PlannedAction) -> Self {
        match action {
            PlannedAction::Deregister { .. } => Self::Leftover,
            PlannedAction::Repair { .. } => Self::LostTask,
            PlannedAction::CreateNode { .. } => Self::MissingNode,
            PlannedAction::Provision { .. } | PlannedAction::ShowOrphan { .. } => Self::MissingToken,
            PlannedAction::CorrectHealth { .. } => Self::WrongStatus,
            PlannedAction::MarkCritical { .. } | PlannedAction::EndDrain { .. } => Self::UndrainedTask,
            PlannedAction::DeleteLoginToken { .. } => Self::UnusedLogin,
            PlannedAction::ForceLeave { .. } => Self::DeadAgent,
            PlannedAction::HideToken { .. } | PlannedAction::Revoke { .. } | PlannedAction::DeleteOrphan { .. } => {
                Self::IdleToken
            }
            PlannedAction::DeregisterNode { .. } => Self::DeadNode,
            PlannedAction::Other { .. } => Self::Unknown,
        }
    }

    fn words(self) -> Words {
        use Severity::{Error, Info, Warning};
        let (id, severity, title, cost, action) = match self {
            Self::Leftover => (
                "left-in-consul",
                Error,
                ["entry in Consul has no running task", "entries in Consul have no running task"],
                "Proxies send requests to addresses where nothing answers, or where another task does by now.",
                "deregisters it",
            ),
            Self::LostTask => (
                "lost-in-consul",
                Error,
                ["running task is not registered in Consul", "running tasks are not registered in Consul"],
                "The task gets no requests, and mesh-init registers it only once. Replace it, or register it again.",
                "registers it again",
            ),
            Self::MissingNode => (
                "missing-node",
                Error,
                ["cluster has no node in Consul", "clusters have no node in Consul"],
                "Tasks register on the node of their cluster, so no new task can start.",
                "creates it",
            ),
            Self::MissingToken => (
                "missing-token",
                Error,
                ["token that tasks read is missing or incomplete", "tokens that tasks read are missing or incomplete"],
                "A task that reads it from Secrets Manager cannot register.",
                "creates it",
            ),
            Self::WrongStatus => (
                "wrong-health",
                Error,
                ["task has another health in Consul than in ECS", "tasks have another health in Consul than in ECS"],
                "Proxies send requests to an unhealthy task, or none to a healthy one.",
                "corrects it",
            ),
            Self::UndrainedTask => (
                "not-drained",
                Warning,
                ["instance has the wrong drain", "instances have the wrong drain"],
                "Requests reach a task that is stopping, or do not reach one whose host is back.",
                "corrects it",
            ),
            Self::UnusedLogin => (
                "unused-login-tokens",
                Warning,
                ["login token is of a task that has stopped", "login tokens are of tasks that have stopped"],
                "Each is a valid credential of its service until it is deleted, and makes every list of tokens longer.",
                "deletes it",
            ),
            Self::DeadAgent => (
                "dead-agents",
                Warning,
                ["client agent is of a task that has stopped", "client agents are of tasks that have stopped"],
                "Its services stay in the catalog, and Consul reaps it after 72 hours at the earliest.",
                "removes it",
            ),
            Self::IdleToken => (
                "idle-tokens",
                Warning,
                ["token in Secrets Manager has no task", "tokens in Secrets Manager have no task"],
                "Each is a valid credential of its service until it is deleted.",
                "deletes it",
            ),
            Self::DeadNode => (
                "dead-node",
                Info,
                ["node is of a cluster that is gone", "nodes are of clusters that are gone"],
                "It costs nothing, and looks like a cluster.",
                "deregisters it",
            ),
            Self::Unknown => ("other", Info, ["other action", "other actions"], "It is not known.", "does it"),
        };
        Words { id, severity, title, cost, action }
    }
}

/// What a plan does with an action.
#[derive(Clone, Copy)]
enum Fate<'a> {
    Planned,
    Waiting(&'a str),
    HeldBack(&'a str),
}

/// What is known of the tasks and instances that a plan names.
struct Known<'a> {
    stopped: BTreeMap<&'a str, Timestamp>,
    instances: BTreeMap<&'a str, &'a ServiceInstance>,
    /// The clusters whose tasks register on the cluster's node.
    meshes: BTreeSet<&'a str>,
    /// The clusters whose entries in Consul could not be read.
    unread: BTreeSet<&'a str>,
    tenancy: &'a Tenancy,
}

/// Actions of one kind, and the commands that do them.
#[derive(Default)]
struct Group {
    objects: Vec<SurveyObject>,
    commands: BTreeSet<String>,
}

pub(super) fn findings(evidence: &SurveyEvidence<'_>) -> Vec<SurveyFinding> {
    let known = Known::of(evidence);
    let mut groups: BTreeMap<Kind, Group> = BTreeMap::new();
    let plans = [(Some(evidence.plan), false), (evidence.unknown, true)];
    for (plan, is_unknown) in plans {
        for cluster in plan.iter().flat_map(|plan| &plan.clusters) {
            for (action, fate) in actions(cluster).filter(|(action, _)| known.concerns(action, cluster)) {
                let group = groups.entry(Kind::of(action)).or_default();
                // What waits for a recheck or for a person is not to be copied into a shell.
                if matches!(fate, Fate::Planned) {
                    group.commands.extend(known.command(action, cluster));
                }
                group.objects.push(known.object(action, fate, cluster, is_unknown));
            }
        }
    }
    let mut findings: Vec<SurveyFinding> = groups.into_iter().map(|(kind, group)| group.finding(kind)).collect();
    let clusters = || evidence.plan.clusters.iter();
    findings.extend(held_back(clusters()));
    findings.extend(left_alone(clusters()));
    findings
}

/// The actions in the report of a cluster, each with what the plan does with it.
fn actions(cluster: &ClusterReport) -> impl Iterator<Item = (&PlannedAction, Fate<'_>)> {
    let planned = cluster.planned.iter().map(|action| (action, Fate::Planned));
    let waiting = cluster.waiting.iter().map(|it| {
        let why = it.waits_for.as_deref().or(it.until.as_deref()).unwrap_or_default();
        (&it.action, Fate::Waiting(why))
    });
    let blocked = cluster.blocked.iter().map(|it| (&it.action, Fate::HeldBack(it.reason.as_str())));
    planned.chain(waiting).chain(blocked)
}

impl Group {
    fn finding(self, kind: Kind) -> SurveyFinding {
        let Words { id, severity, title: [one, several], cost, .. } = kind.words();
        let count = self.objects.len();
        let title = format!("{count} {}", if count == 1 { one } else { several });
        SurveyFinding::new(id, severity, title, cost, self.objects).with_commands(self.commands)
    }
}

impl<'a> Known<'a> {
    fn of(evidence: &'a SurveyEvidence<'_>) -> Self {
        let clusters = || evidence.inspection.clusters.iter();
        let members = || clusters().flat_map(|cluster| &cluster.tasks).map(|member| &member.task);
        let tasks = || members().chain(clusters().flat_map(|cluster| &cluster.outside.tasks));
        let instances = clusters().filter_map(|cluster| cluster.catalog.as_ref()).flat_map(|it| &it.instances);
        let registers = |cluster: &&InspectedCluster| cluster.revisions().any(|(_, it)| !it.runs_client_agent());
        let unread = clusters().filter(|cluster| cluster.catalog.is_none());
        Self {
            meshes: clusters().filter(registers).map(|cluster| cluster.arn.as_str()).collect(),
            stopped: tasks().filter_map(|task| Some((task.arn.id().as_str(), task.end.stopped_at?))).collect(),
            instances: instances.map(|instance| (instance.id.as_str(), instance)).collect(),
            unread: unread.map(|cluster| cluster.arn.as_str()).collect(),
            tenancy: evidence.tenancy,
        }
    }

    /// Whether an action concerns the mesh: a cluster without tasks that register on its node needs none, and what Consul did not
    /// show is not missing.
    fn concerns(&self, action: &PlannedAction, cluster: &ClusterReport) -> bool {
        let is_unread = self.unread.contains(cluster.cluster_arn.as_str());
        match action {
            PlannedAction::CreateNode { node } => !is_unread && self.meshes.contains(node.as_str()),
            PlannedAction::Repair { .. } => !is_unread,
            _ => true,
        }
    }

    fn object(&self, action: &PlannedAction, fate: Fate<'_>, of: &ClusterReport, is_unknown: bool) -> SurveyObject {
        let words = Kind::of(action).words();
        let (name, why, since) = self.described(action, of, is_unknown);
        let controller = match fate {
            Fate::Planned => words.action.to_owned(),
            Fate::Waiting(why) => format!("{} later: {why}", words.action),
            Fate::HeldBack(why) => format!("would not: {why}"),
        };
        SurveyObject { cluster: Some(of.name().to_owned()), name, why, since, controller: Some(controller) }
    }

    /// The name of what an action is about, why it is planned, and since when.
    fn described(
        &self,
        action: &PlannedAction,
        of: &ClusterReport,
        is_unknown: bool,
    ) -> (String, String, Option<Timestamp>) {
        let gone = |task: &str| self.gone(task, of, is_unknown);
        let plain = |name: &str, why: &str| (name.to_owned(), why.to_owned(), None);
        match action {
            PlannedAction::Deregister { service_id, task_id } => {
                let (why, since) = gone(task_id);
                (service_id.clone(), why, since)
            }
            PlannedAction::DeleteLoginToken { accessor_id, task_id } => {
                let (why, since) = gone(task_id.as_deref().unwrap_or_default());
                (accessor_id.clone(), why, since)
            }
            PlannedAction::Repair { task_id, instances, checks } => {
                let lost: Vec<&str> = instances.iter().chain(checks).map(String::as_str).collect();
                // When Consul lost it is nowhere.
                plain(task_id, &format!("Consul lacks {}", lost.join(", ")))
            }
            PlannedAction::CorrectHealth { task_id, checks } => {
                let checks: Vec<String> =
                    checks.iter().map(|check| format!("{} is {} in ECS", check.check_id, check.status)).collect();
                (task_id.clone(), checks.join(", "), None)
            }
            PlannedAction::CreateNode { node } => plain(name_of(node), "Consul has no node of this name"),
            PlannedAction::Provision { holder } => plain(holder, "a task reads it"),
            PlannedAction::ShowOrphan { holder, .. } => plain(holder, "its secret does not contain it"),
            PlannedAction::MarkCritical { service_id, reason } => plain(service_id, reason),
            PlannedAction::EndDrain { service_id } => plain(service_id, "the host of its task runs again"),
            PlannedAction::ForceLeave { node } => plain(node, "its task has stopped"),
            PlannedAction::DeregisterNode { node } => plain(name_of(node), gone("").0.as_str()),
            PlannedAction::HideToken { holder, .. } | PlannedAction::Revoke { holder, .. } => {
                plain(holder, "no task uses it")
            }
            PlannedAction::DeleteOrphan { holder, .. } => plain(holder, "no secret has it"),
            PlannedAction::Other { action, .. } => plain(action, ""),
        }
    }

    /// Why a task is gone, and since when.
    fn gone(&self, task: &str, of: &ClusterReport, is_unknown: bool) -> (String, Option<Timestamp>) {
        if is_unknown {
            return ("ECS does not know its cluster: it was deleted long ago, or never existed".to_owned(), None);
        }
        if of.status == SweptStatus::Deleted {
            return ("ECS has deleted its cluster".to_owned(), None);
        }
        match self.stopped.get(task) {
            Some(at) => (format!("its task {task} has stopped"), Some(*at)),
            None => (format!("ECS does not know its task {task}: it stopped over an hour ago, or never existed"), None),
        }
    }

    /// The command that does what an action does; `None` for what one command cannot do.
    fn command(&self, action: &PlannedAction, of: &ClusterReport) -> Option<String> {
        match action {
            PlannedAction::Deregister { service_id, .. } => {
                let found = self.instances.get(service_id.as_str());
                let node = found.map_or(of.cluster_arn.as_str(), |instance| instance.node.as_str());
                let tenancy = found.map_or(self.tenancy, |instance| &instance.tenancy);
                Some(deregister(node, Some(("ServiceID", service_id.as_str())), tenancy))
            }
            PlannedAction::DeregisterNode { node } => Some(deregister(node, None, self.tenancy)),
            PlannedAction::DeleteLoginToken { accessor_id, .. } | PlannedAction::DeleteOrphan { accessor_id, .. } => {
                Some(format!("consul acl token delete -id {accessor_id}"))
            }
            PlannedAction::ForceLeave { node } => Some(format!("consul force-leave -prune {}", word(node))),
            PlannedAction::Repair { task_id, .. } | PlannedAction::CorrectHealth { task_id, .. } => {
                let cluster = of.cluster_arn.parse::<ClusterArn>().ok()?;
                Some(format!("ecs-mesh why {task_id} --cluster {}", word(cluster.name())))
            }
            _ => None,
        }
    }
}

/// What a controller's guard would hold back.
fn held_back<'a>(clusters: impl Iterator<Item = &'a ClusterReport>) -> Option<SurveyFinding> {
    let object = |cluster: &ClusterReport| {
        Some(SurveyObject {
            cluster: Some(cluster.name().to_owned()),
            name: cluster.name().to_owned(),
            why: cluster.guard.clone()?,
            ..SurveyObject::default()
        })
    };
    let objects: Vec<SurveyObject> = clusters.filter_map(object).collect();
    let title = "A controller would hold deletions back until a person has looked";
    let cost = "So many entries without a task may be a destroyed cluster, or a listing of ECS that is not complete.";
    (!objects.is_empty()).then(|| SurveyFinding::new("held-back", Severity::Warning, title, cost, objects))
}

/// What a controller leaves as it is.
fn left_alone<'a>(clusters: impl Iterator<Item = &'a ClusterReport>) -> Option<SurveyFinding> {
    let objects = clusters.flat_map(|cluster| {
        cluster.skipped.iter().map(|skipped| SurveyObject {
            cluster: Some(cluster.name().to_owned()),
            name: skipped.what.clone(),
            why: skipped.why.clone(),
            ..SurveyObject::default()
        })
    });
    let objects: Vec<SurveyObject> = objects.collect();
    let title = "A controller cannot repair these from outside";
    let cost = "Each stays as it is until a person corrects it, or replaces the task.";
    (!objects.is_empty()).then(|| SurveyFinding::new("left-alone", Severity::Warning, title, cost, objects))
}
