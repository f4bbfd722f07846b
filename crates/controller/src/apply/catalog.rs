//! The catalog: nodes without tasks, and what is logged and announced of drains and deregistrations.

use std::{collections::BTreeMap, time::Duration};

use consul::ConsulError;
use mesh::{
    arn::{ClusterArn, TaskArn},
    catalog::{AgentStatus, ClientAgent, DrainReason, HealthCheck, LeftoverNode, Member, ServiceInstance},
    consul_ecs::names::DATAPLANE,
    member::MemberTask,
    permissions::OPERATOR,
    plan::{Action, Planned},
    repair::Difference,
    settings::Mode,
    time::elapsed,
};
use observe::{Deadline, concurrently};
use report::{DrainedTask, Event, Healing, LogAction, LogLine, LogOutcome, TaskEntries};
use telemetry::Counted;

use super::{Applier, Group};
use crate::{
    announcement::{Announcer, HealingKind, count},
    error::ControllerError,
    outcome::{Effect, Outcome, PlanSource},
};

/// How long Consul may take to report the agent of a stopped task as failed. After that, the sweep removes it.
const AGENT_LAG: Duration = Duration::from_secs(120);

/// Why Consul refuses to let an agent leave, and what permits it.
pub(crate) fn add_to_policy() -> String {
    format!(
        "the controller's Consul token may not force agents to leave; add {OPERATOR} to its policy (see docs/how-to/install-sam.md)"
    )
}

impl Applier {
    /// Takes back what was registered of a task that has stopped meanwhile.
    pub(crate) async fn take_back(&self, of: &MemberTask, registered: &Difference) -> Result<(), ConsulError> {
        for registration in &registered.instances {
            let (node, id) = (&registration.node, &registration.id);
            self.writes.consul.deregister_service(node, id, &registration.tenancy).await?;
            LogLine {
                task_id: Some(of.task.arn.id().to_string()),
                cluster_arn: Some(node.clone()),
                service: Some(registration.name.clone()),
                service_id: Some(id.clone()),
                reason: Some("the task stopped during the repair".to_owned()),
                ..LogLine::of(LogAction::Deregister, self.context.scope.mode)
            }
            .info();
        }
        Ok(())
    }

    pub(super) async fn force_leave_all(
        &self,
        agents: Group<ClientAgent>,
        source: PlanSource<'_>,
        deadline: Deadline,
    ) -> Vec<Outcome> {
        let work = agents.into_iter().map(|(agent, planned)| async move {
            let name = &agent.member.name;
            let result = match planned.action {
                Action::ForceLeave(_) => {
                    deadline.run(self.force_leave_failed(&agent, &planned)).await.map_err(ControllerError::shared)
                }
                _ if self.is_fresh(&planned, source) => {
                    Err(ControllerError::shared(ControllerError::AgentStillAlive(name.clone())))
                }
                _ => Ok(Effect::Unchanged),
            };
            Outcome { planned, result }
        });
        concurrently(work).await
    }

    /// Force-leaves an agent, if it is still failed and no service was added to its node since it was read: a new task
    /// may have the same address, and so the same node name. Consul's refusal is no failure, because the permission is optional.
    async fn force_leave_failed(&self, agent: &ClientAgent, planned: &Planned) -> Result<Effect, ConsulError> {
        let (consul, name) = (&self.context.observer.consul, &agent.member.name);
        let (members, node) = futures::try_join!(consul.members(&agent.tenancy), consul.node(name, &agent.tenancy))?;
        let has_failed = |member: &Member| member.name == *name && member.status == AgentStatus::Failed;
        if !members.iter().any(has_failed) || node.is_some_and(|node| !agent.node.is_superset_of(&node)) {
            return Ok(Effect::Unchanged);
        }
        let line = |outcome: LogOutcome| LogLine {
            task_id: planned.tasks.first().map(|task| task.id().to_string()),
            cluster_arn: Some(planned.cluster.to_string()),
            node: Some(name.clone()),
            ..LogLine::of(LogAction::ForceLeave, outcome)
        };
        match self.writes.consul.force_leave(name, &agent.tenancy).await {
            Err(ConsulError::PermissionDenied { .. }) => {
                LogLine { reason: Some(add_to_policy()), ..line(LogOutcome::Refused) }.warn();
                return Ok(Effect::Refused);
            }
            left => left?,
        }
        line(self.context.scope.mode.into()).info();
        Ok(Effect::Done)
    }

    /// Whether the controller's token may remove an agent.
    pub(super) async fn may_force_leave(&self, agent: &ClientAgent) -> Result<Effect, ConsulError> {
        let missing = self.context.observer.consul.missing_permissions(&agent.tenancy, &[OPERATOR]).await?;
        Ok(if missing.is_empty() { Effect::Done } else { Effect::Refused })
    }

    /// Whether the events of an action are so recent that Consul may not have reported the agent as failed yet.
    fn is_fresh(&self, planned: &Planned, source: PlanSource<'_>) -> bool {
        let PlanSource::Events(changes) = source else { return false };
        let now = self.context.now();
        let mut times = planned.tasks.iter().filter_map(|task| changes.get(task)).map(|change| change.time);
        times.any(|time| elapsed(time, now) < AGENT_LAG)
    }

    pub(super) async fn deregister_nodes(&self, nodes: Group<LeftoverNode>, deadline: Deadline) -> Vec<Outcome> {
        let work = nodes.into_iter().map(|(node, planned)| async move {
            let result = deadline.run(self.deregister_empty(&node)).await;
            Outcome { planned, result: result.map_err(ControllerError::shared) }
        });
        concurrently(work).await
    }

    /// Deregisters a synthetic node, unless it has services by now, which would be deregistered with it.
    async fn deregister_empty(&self, node: &LeftoverNode) -> Result<Effect, ConsulError> {
        let name = node.cluster.as_str();
        let now = self.context.observer.consul.node(name, &node.tenancy).await?;
        if !now.is_some_and(|now| {
            now.name == name && now.is_synthetic && now.instances.is_empty() && now.others.is_empty()
        }) {
            return Ok(Effect::Unchanged);
        }
        self.writes.consul.deregister_node(name, &node.tenancy).await?;
        let cluster_arn = Some(name.to_owned());
        LogLine { cluster_arn, ..LogLine::of(LogAction::DeregisterNode, self.context.scope.mode) }.info();
        Ok(Effect::Done)
    }
}

/// Announces which tasks were drained or deregistered, each once.
pub(super) fn announce(outcomes: &[Outcome], announcer: &Announcer) {
    let mut tasks: BTreeMap<(String, Change), Vec<&ServiceInstance>> = BTreeMap::new();
    for outcome in outcomes.iter().filter(|outcome| outcome.result.is_ok()) {
        let (instance, change) = match &outcome.planned.action {
            Action::MarkCritical(instance, reason) => (instance, Change::Drained(*reason)),
            Action::Deregister(instance) => (instance, Change::Deregistered),
            _ => continue,
        };
        tasks.entry((instance.task.to_string(), change)).or_default().push(instance);
    }
    for ((task_id, change), instances) in tasks {
        // The name of a sidecar proxy is longer than its service's.
        let Some(named) = instances.iter().min_by_key(|instance| instance.name.len()) else { continue };
        let entries = |reason: &str| TaskEntries {
            node: named.node.clone(),
            task_id: task_id.clone(),
            service: named.name.clone(),
            service_ids: instances.iter().map(|instance| instance.id.clone()).collect(),
            reason: reason.to_owned(),
        };
        match change {
            Change::Drained(reason @ DrainReason::Stopping) => {
                announcer.announce(Event::TaskDrained, DrainedTask::Stopping(entries(reason.as_str())));
            }
            Change::Deregistered => {
                announcer.announce(Event::TaskDeregistered, entries("the task no longer runs"));
            }
            Change::Drained(reason @ (DrainReason::ProxyStopped | DrainReason::HostGone)) => {
                // The node of a client agent is no cluster.
                if named.node.parse::<ClusterArn>().is_ok() {
                    announcer.healed(HealingKind::Drain, of_running(named, reason));
                }
            }
        }
    }
}

/// What was done with an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Change {
    Drained(DrainReason),
    Deregistered,
}

/// A task that was drained although it is meant to run.
fn of_running(instance: &ServiceInstance, reason: DrainReason) -> Healing {
    Healing {
        cluster_arn: instance.node.clone(),
        task_id: instance.task.to_string(),
        service: instance.name.clone(),
        reason: reason.as_str().to_owned(),
        in_ecs: match reason {
            DrainReason::HostGone => "the agent is not connected, and the task is meant to run".to_owned(),
            _ => format!("{DATAPLANE} STOPPED, and the task is meant to run"),
        },
        in_consul: "instances without a maintenance check".to_owned(),
    }
}

pub(super) fn log_drain(check: &HealthCheck, tasks: &[TaskArn], mode: Mode) {
    count(mode, Counted::InstancesDrained, 1);
    LogLine {
        task_id: tasks.first().map(|task| task.id().to_string()),
        cluster_arn: Some(check.node.clone()),
        service: Some(check.service_name.clone()),
        check_id: Some(check.id.clone()),
        reason: Some(check.output.clone()),
        ..LogLine::of(LogAction::MarkCritical, mode)
    }
    .info();
}

pub(super) fn log_end_of_drain(check: &HealthCheck, tasks: &[TaskArn], mode: Mode) {
    LogLine {
        task_id: tasks.first().map(|task| task.id().to_string()),
        cluster_arn: Some(check.node.clone()),
        service: Some(check.service_name.clone()),
        check_id: Some(check.id.clone()),
        reason: Some("EC2 says that the host of the task runs again".to_owned()),
        ..LogLine::of(LogAction::EndDrain, mode)
    }
    .warn();
}

pub(super) fn log_deregistration(instance: &ServiceInstance, mode: Mode) {
    count(mode, Counted::InstancesDeregistered, 1);
    LogLine {
        task_id: Some(instance.task.to_string()),
        cluster_arn: Some(instance.node.clone()),
        service: Some(instance.name.clone()),
        service_id: Some(instance.id.clone()),
        ..LogLine::of(LogAction::Deregister, mode)
    }
    .info();
}
