//! The sweep: observes, plans and applies as for events, but over whole clusters. It repairs what events missed.
//!
//! The second look is at tasks that ECS did not know and whose age is not known. There is no state store: the
//! memory is a delayed message to the functions' own queue, as for idle checks. It survives every execution environment, needs
//! no further service or permission, and cannot become wrong, because it names tasks, and not what to delete. When it arrives,
//! longer than ECS's answers may lag after the tasks were seen in Consul, the same clusters are read, planned and judged
//! again. A task that ECS then still does not know is gone. A second look asks for no further one: the next sweep does.

mod summary;

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use mesh::{
    arn::{ClusterArn, TaskArn},
    guard::{Divided, Guard, MaxDeletePercent, Wait},
    plan::{Planned, plan, waiting_tokens},
    quota::{self, ENTRIES_OF_ONE, EntryOwner},
    repair::NodeReading,
    secret::Trigger,
    settings::{PlanSettings, RepairMode},
    task::TaskPhase,
};
use observe::{CallError, ClusterStatuses, Deadline, EcsReading, Problem, SweepCause, SweepOrder, Waited, World};
use report::{ErrorLabel, Event, LogAction, LogLine, LogOutcome, PlannedAction, SweepReport, TrippedGuard};
use telemetry::Counted;
use tokio::time::Instant;
use tracing::info;

use self::summary::Swept;
use crate::{
    announcement::count,
    apply::Applier,
    bootstrap::{Bootstrap, ClusterPlace, active},
    context::Context,
    error::ControllerError,
    message::{Message, SecondLook},
    outcome::{Outcome, PlanSource},
    repair::{RepairReport, Repairs, report_broken},
};

/// How often the clusters are read within one invocation, because another writer changed an object since it was
/// read.
const MAX_ATTEMPTS: usize = 2;
/// The most tasks that one message names, of 256 KiB. The next sweep names the others.
const MAX_TASKS: usize = 2_000;

/// The longest summary in the log, in bytes: `CloudWatch` accepts lines of 256 KB.
const LONGEST_SUMMARY: usize = 200_000;

pub(crate) struct Sweep {
    pub(crate) context: Arc<Context>,
    pub(crate) applier: Arc<Applier>,
    pub(crate) bootstrap: Arc<Bootstrap>,
    pub(crate) repairs: Repairs,
}

impl Sweep {
    /// Reads whole clusters, and applies what time and the guard allow of the plan.
    pub(crate) async fn run(&self, order: &SweepOrder, deadline: Deadline) -> SweepReport {
        Box::pin(self.run_after(None, order, deadline)).await
    }

    /// The same after some reads of ECS, if there were any.
    pub(crate) async fn run_after(
        &self,
        mut ecs: Option<EcsReading>,
        order: &SweepOrder,
        deadline: Deadline,
    ) -> SweepReport {
        let (mut swept, start) = (Swept::default(), Instant::now());
        for attempt in 1..=MAX_ATTEMPTS {
            let ecs = match ecs.take() {
                Some(ecs) => ecs,
                None => self.context.observer.begin(&order.named(), deadline).await,
            };
            let read = Box::pin(self.read_world(order, &ecs, attempt == 1, &mut swept, deadline));
            let (mut world, nodes) = read.await;
            let mut divided = self.plan_sweep(&world, order);
            divided.allowed = within_quotas(divided.allowed, &mut world.problems);
            if order.dry_run {
                Box::pin(self.dry_run(order, (world, nodes), divided, &mut swept, deadline)).await;
                break;
            }
            let source = PlanSource::World(&world.observed.secrets);
            let outcomes = self.applier.apply(std::mem::take(&mut divided.allowed), source, deadline).await;
            let (conflicts, finished): (Vec<_>, Vec<_>) = outcomes.into_iter().partition(Outcome::is_conflict);
            swept.add(finished);
            if conflicts.is_empty() || attempt == MAX_ATTEMPTS {
                swept.add(conflicts);
                // Before the repairs, which wait.
                let asked = self.ask_for_second_look(order, &world, &divided.waiting, deadline).await;
                world.problems.extend(asked.err().map(|error| Problem::new(None, error)));
                if order.waited().is_none() {
                    swept.repair(self.repair(&world, order, deadline).await);
                }
                swept.end(world, divided);
                break;
            }
        }
        let report = self.conclude(swept, order, start.elapsed());
        log(&report);
        report
    }

    /// Reads the clusters of an order, and creates what their tasks lack in Consul. `is_first`: whether it is the first attempt.
    /// Returns the nodes that were missing as well.
    async fn read_world(
        &self,
        order: &SweepOrder,
        ecs: &EcsReading,
        is_first: bool,
        swept: &mut Swept,
        deadline: Deadline,
    ) -> (World, Vec<ClusterPlace>) {
        let creates = !order.dry_run && order.waited().is_none();
        // What was lost with a node are the registrations.
        if creates && is_first && !matches!(order.cause, SweepCause::NodeLost) {
            let statuses = order.without_deleted(&ecs.statuses);
            swept.set_up(match order.trigger() {
                Trigger::Person => self.bootstrap.run_for(&statuses, deadline).await,
                Trigger::Event | Trigger::Sweep => self.bootstrap.run_if_due(&statuses, deadline).await,
            });
        }
        let mut world = self.context.observer.read_world(order, ecs, deadline).await;
        for (cluster, tasks) in std::mem::take(&mut world.waiting) {
            world.observed.leave_out(&cluster, &tasks);
        }
        let nodes = self.missing_nodes(&world, &ecs.statuses);
        if creates {
            let mut missing = self.bootstrap.create_namespaces(&required_places(&world), deadline).await;
            if self.context.scope.repair == RepairMode::On {
                missing.extend(self.bootstrap.create_missing(&nodes, deadline).await);
            }
            swept.set_missing(missing);
        }
        (world, nodes)
    }

    /// Adds what a plan would do now to the results.
    async fn dry_run(
        &self,
        order: &SweepOrder,
        (world, nodes): (World, Vec<ClusterPlace>),
        mut divided: Divided,
        swept: &mut Swept,
        deadline: Deadline,
    ) {
        let allowed = std::mem::take(&mut divided.allowed);
        let outcomes = self.applier.dry_run(allowed, &world.observed.secrets, deadline).await;
        let mut repairs = self.repair(&world, order, deadline).await;
        for (cluster, _) in nodes {
            let node = cluster.to_string();
            repairs.of(&cluster).planned.push(PlannedAction::CreateNode { node });
        }
        swept.plan(outcomes, &waiting_tokens(&world.observed, self.plan_settings(&world, order)));
        swept.repair(repairs);
        swept.end(world, divided);
    }

    /// Counts what the sweep has done in the time that it `took`, and reports it.
    fn conclude(&self, swept: Swept, order: &SweepOrder, took: Duration) -> SweepReport {
        let mode = self.context.scope.mode;
        count(mode, Counted::Drift, swept.drift());
        let is_second_look = order.waited().is_some();
        if matches!(order.cause, SweepCause::Schedule) {
            count(mode, Counted::EventsMissed, swept.missed_events(self.context.scope.sweep_interval));
        }
        let is_full = swept.is_full();
        let report = swept.report(order, &self.context.scope);
        if !order.dry_run && !is_second_look {
            telemetry::sweep(took);
            if is_full {
                Counted::FullSweeps.add(1);
            }
        }
        if !order.dry_run {
            self.report_guard(&report);
            Counted::Faults.add(report.faults.len());
        }
        report
    }

    /// Repairs running tasks, and reports those that cannot be repaired.
    async fn repair(&self, world: &World, order: &SweepOrder, deadline: Deadline) -> RepairReport {
        let (mut report, recheck) = self.repairs.register(world, order, deadline).await;
        // The events of the same batch wait for this sweep, which therefore waits for nothing: the next one compares again.
        if !matches!(order.cause, SweepCause::NodeLost) {
            self.repairs.recheck(recheck, world, deadline, &mut report).await;
        }
        let announcer = (!order.dry_run).then_some(&self.context.announcer);
        report_broken(world, announcer, &mut report);
        report
    }

    /// The settings of the sweep's plan. Every read is later than `World::began`.
    fn plan_settings(&self, world: &World, order: &SweepOrder) -> PlanSettings<'_> {
        PlanSettings { trigger: order.trigger(), ..self.context.scope.plan_settings(world.began) }
    }

    /// The nodes of existing clusters that Consul does not have.
    fn missing_nodes(&self, world: &World, statuses: &ClusterStatuses) -> Vec<ClusterPlace> {
        let scope = &self.context.scope;
        if !self.bootstrap.creates_nodes() {
            return Vec::new();
        }
        let active = active(statuses);
        let missing = world.nodes.iter().filter(|node| !node.exists && active.contains(&node.cluster));
        let is_set_up = |node: &&NodeReading| scope.tenancies_of(&node.cluster).contains(&node.tenancy.home());
        missing.filter(is_set_up).map(|node| (node.cluster.clone(), node.tenancy.home())).collect()
    }

    /// The plan, as the guard divides it.
    fn plan_sweep(&self, world: &World, order: &SweepOrder) -> Divided {
        let scope = &self.context.scope;
        let mut planned = plan(&world.observed, self.plan_settings(world, order));
        // A random start, so that repeated timeouts do not always omit the same actions.
        let count = planned.len();
        if count > 0 {
            planned.rotate_left(self.context.entropy.below(count) % count);
        }
        let guard = Guard {
            limit: if order.force { MaxDeletePercent::NO_LIMIT } else { scope.max_delete },
            bounds: &scope.bounds,
            now: world.began,
            waited: order.waited().map(|waited| &waited.tasks),
            is_forced: order.waited().is_some_and(|waited| waited.is_forced),
        };
        guard.divide(planned, &world.observed)
    }

    /// Counts, logs and announces which clusters the guard has stopped.
    fn report_guard(&self, report: &SweepReport) {
        let stopped =
            report.clusters.iter().filter_map(|cluster| Some((&cluster.cluster_arn, cluster.guard.as_ref()?)));
        for (cluster, reason) in stopped {
            Counted::GuardTripped.add(1);
            let what_to_do = format!(
                r#"nothing of this was done. Check the summary against ECS; if it is correct, invoke with {{"clusters": ["{cluster}"], "force": true}}"#
            );
            LogLine {
                cluster_arn: Some(cluster.clone()),
                reason: Some(reason.clone()),
                message: Some(what_to_do),
                ..LogLine::of(LogAction::Sweep, LogOutcome::GuardTripped)
            }
            .error();
            let tripped = TrippedGuard { cluster_arn: cluster.clone(), reason: reason.clone() };
            self.context.announcer.announce(Event::GuardTripped, tripped);
        }
    }

    /// Asks for a second look, if a removal waits for one or an empty listing has to be proven.
    async fn ask_for_second_look(
        &self,
        order: &SweepOrder,
        world: &World,
        waiting: &[(Planned, Wait)],
        deadline: Deadline,
    ) -> Result<(), CallError> {
        let undecided = waiting.iter().filter(|(_, wait)| *wait == Wait::SecondLook);
        let mut tasks = BTreeSet::new();
        // The plan begins at a random action: tasks that are held back do not keep others out for ever.
        for task in undecided.flat_map(|(planned, _)| &planned.tasks) {
            if tasks.len() < MAX_TASKS {
                tasks.insert(task.clone());
            }
        }
        let scope = &self.context.scope;
        let is_needed = !tasks.is_empty() || world.is_emptiness_unproven;
        if !is_needed || order.waited().is_some() || !scope.mode.acts() {
            return Ok(());
        }
        let delay = scope.bounds.described_after();
        info!(action = "ask_for_second_look", outcome = "done", tasks = tasks.len(), delay_seconds = delay.as_secs());
        let request = SecondLook { clusters: order.clusters.clone(), tasks, force: order.force };
        deadline.run(self.context.queue.send_later(&[Message::second_look(&request)], delay)).await
    }

    /// Reads the clusters of tasks again that an earlier sweep did not find in ECS.
    pub(crate) async fn second_look(
        &self,
        request: &SecondLook,
        deadline: Deadline,
    ) -> Result<(), Arc<ControllerError>> {
        let managed = |cluster: &&ClusterArn| self.context.scope.clusters.contains(cluster);
        let clusters: Vec<ClusterArn> = request.clusters.iter().filter(managed).cloned().collect();
        if clusters.is_empty() && !request.clusters.is_empty() {
            return Ok(());
        }
        let order = SweepOrder {
            clusters,
            cause: SweepCause::SecondLook(Waited { tasks: request.tasks.clone(), is_forced: request.force }),
            ..SweepOrder::default()
        };
        let report = self.run(&order, deadline).await;
        // Its work is not done if it could not read the tasks' cluster, or if another writer was faster.
        let is_open = |fault: &report::Problem| match &fault.label {
            ErrorLabel::ConsulConflict => true,
            ErrorLabel::Ecs => fault.cluster_arn.as_deref().is_some_and(|arn| is_waiting_in(&request.tasks, arn)),
            _ => false,
        };
        let open = report.faults.into_iter().filter(is_open);
        done("a recheck of unknown tasks", report.problems.into_iter().chain(open))
    }

    /// Registers again what the tasks of clusters have lost with their nodes.
    pub(crate) async fn after_lost_nodes(
        &self,
        clusters: &BTreeSet<ClusterArn>,
        deadline: Deadline,
    ) -> Result<(), Arc<ControllerError>> {
        let (listed, cause) = (Vec::from_iter(clusters.clone()), SweepCause::NodeLost);
        let report = self.run(&SweepOrder { clusters: listed, cause, ..SweepOrder::default() }, deadline).await;
        // It reads all clusters, as any sweep. What is wrong with others is for the scheduled one.
        let concerns = |problem: &report::Problem| {
            problem.cluster_arn.as_ref().is_none_or(|arn| clusters.iter().any(|cluster| cluster.as_str() == arn))
        };
        done("the sweep of clusters whose nodes were lost", report.problems.into_iter().filter(concerns))
    }
}

/// Whether a sweep that the controller ordered itself met no problem.
fn done(what: &'static str, problems: impl IntoIterator<Item = report::Problem>) -> Result<(), Arc<ControllerError>> {
    let reasons: Vec<String> = problems.into_iter().map(|problem| problem.reason).collect();
    if reasons.is_empty() {
        return Ok(());
    }
    Err(Arc::new(ControllerError::NotSwept { what, reasons: reasons.join("; ") }))
}

/// Whether one of these tasks is in the cluster with this ARN.
fn is_waiting_in(tasks: &BTreeSet<TaskArn>, cluster: &str) -> bool {
    cluster.parse::<ClusterArn>().is_ok_and(|cluster| tasks.iter().any(|task| task.is_in(&cluster)))
}

/// At most [`ENTRIES_OF_ONE`] actions for each owner of entries in Consul. The others wait for later sweeps, which is reported.
fn within_quotas(planned: Vec<Planned>, problems: &mut Vec<Problem>) -> Vec<Planned> {
    let (mut allowed, mut shared) = (Vec::new(), Vec::new());
    for planned in planned {
        match EntryOwner::of_action(&planned.action) {
            Some(owner) => shared.push((owner, planned)),
            None => allowed.push(planned),
        }
    }
    // The plan begins at a random action.
    let (taken, waiting) = quota::divide(shared, ENTRIES_OF_ONE, |_| 0);
    problems.extend(Problem::over_quota(waiting, "entries in Consul", ENTRIES_OF_ONE, None));
    allowed.extend(taken);
    allowed
}

/// Logs what could not be read or done, and the summary.
fn log(report: &SweepReport) {
    let line = |problem: &report::Problem, outcome| LogLine {
        cluster_arn: problem.cluster_arn.clone(),
        owner: problem.owner.clone(),
        error: Some(problem.label.clone()),
        reason: Some(problem.reason.clone()),
        ..LogLine::of(LogAction::Sweep, outcome)
    };
    for problem in &report.problems {
        line(problem, LogOutcome::Failed).error();
    }
    for fault in &report.faults {
        line(fault, LogOutcome::Skipped).warn();
    }
    let summary = serde_json::to_string(report.within(LONGEST_SUMMARY).as_ref()).unwrap_or_default();
    LogLine { summary: Some(summary), ..LogLine::of(LogAction::Sweep, report.outcome.as_str().to_owned()) }.info();
}

/// The tenancies of active tasks, in their clusters.
fn required_places(world: &World) -> BTreeSet<ClusterPlace> {
    let active = world.observed.tasks.iter().filter(|task| task.phase == TaskPhase::Active);
    active.map(|task| (task.cluster.clone(), task.tenancy.clone())).collect()
}
