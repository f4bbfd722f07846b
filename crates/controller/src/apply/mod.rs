//! Applies a plan. Only this module, `tokens` and `bootstrap` have [`Writes`].

mod catalog;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use consul::{ConsulError, MAX_TRANSACTION_OPERATIONS};
use mesh::{
    arn::{ClusterArn, TaskArn, TaskId},
    catalog::{ClientAgent, HealthCheck, LeftoverNode, ServiceInstance},
    holder::TokenHolder,
    identity::MeshService,
    lifecycle::Idle,
    names::InvalidField,
    plan::{Action, Planned},
    repair::Difference,
    secret::{Retirement, StoredSecret},
    task::TaskChange,
    tenancy::{Tenancy, TenancyName},
    token::ListedToken,
};
use observe::{CallError, Deadline, TimestampCache, concurrently, concurrently_in_order};
use report::{Event, LogAction, LogLine, LogOutcome, RevokedToken};
use telemetry::Counted;

pub(crate) use self::catalog::add_to_policy;
use self::catalog::{announce, log_deregistration, log_drain, log_end_of_drain};
use crate::{
    announcement::count,
    context::Context,
    edges::Writes,
    error::ControllerError,
    message::Message,
    outcome::{Effect, Outcome, PlanSource},
    tokens::{NeededBy, TokenUsage, Tokens},
};

/// The longest delay of a message in SQS. If the grace period is longer, the sweep finds the idle service.
const MAX_MESSAGE_DELAY: Duration = Duration::from_mins(15);

pub(crate) struct Applier {
    context: Arc<Context>,
    tokens: Arc<Tokens>,
    writes: Writes,
    /// When an idle check of each token was last requested, to limit the requests during a deployment: each check
    /// lists every task of every cluster.
    requested: TimestampCache<TokenHolder>,
}

impl Applier {
    pub(crate) fn new(context: &Arc<Context>, tokens: &Arc<Tokens>, writes: &Writes) -> Self {
        Self {
            context: Arc::clone(context),
            tokens: Arc::clone(tokens),
            writes: writes.clone(),
            requested: TimestampCache::default(),
        }
    }

    /// Applies the actions until the time is over.
    pub(crate) async fn apply(
        &self,
        planned: Vec<Planned>,
        source: PlanSource<'_>,
        deadline: Deadline,
    ) -> Vec<Outcome> {
        let work = Work::sort(planned);
        let deregister = async {
            let mut outcomes = self.deregister_all(work.instances.into_values(), deadline).await;
            // A node is deregistered after its services.
            outcomes.extend(self.deregister_nodes(work.nodes, deadline).await);
            outcomes
        };
        let drain = async {
            let mut outcomes = self.mark_all_critical(work.drains.into_values(), deadline).await;
            outcomes.extend(self.end_drains(work.ended_drains.into_values(), deadline).await);
            outcomes
        };
        let (provisioned, deleted, deregistered, drained, asked, left, revoked, repaired) = futures::join!(
            self.provision_all(work.provisions, source, deadline),
            self.delete_login_tokens(work.login_tokens, deadline),
            deregister,
            drain,
            self.request_idle_checks(work.idle_checks, deadline),
            self.force_leave_all(work.agents, source, deadline),
            self.reconcile_tokens(work.tokens, deadline),
            self.repair_all(work.repairs, deadline),
        );
        [provisioned, deleted, deregistered, drained, asked, left, revoked, repaired].into_iter().flatten().collect()
    }

    /// What the planned actions would do now. Reads what the world does not have: the tokens that secrets name, and whether
    /// the controller may remove agents.
    pub(crate) async fn dry_run(
        &self,
        planned: Vec<Planned>,
        secrets: &BTreeMap<TokenHolder, StoredSecret>,
        deadline: Deadline,
    ) -> Vec<Outcome> {
        let agent = planned.iter().find_map(|planned| match &planned.action {
            Action::ForceLeave(agent) => Some(agent.clone()),
            _ => None,
        });
        let removal = match agent {
            Some(agent) => deadline.run(self.may_force_leave(&agent)).await.map_err(ControllerError::shared),
            None => Ok(Effect::Done),
        };
        let work = planned.into_iter().map(|planned| {
            let removal = removal.clone();
            async move {
                let would_change = async |holder, usage| {
                    let seen = secrets.get(holder).cloned();
                    deadline.run(self.tokens.would_change(holder, usage, seen)).await.map_err(ControllerError::shared)
                };
                let result = match &planned.action {
                    Action::ForceLeave(_) => removal,
                    Action::Provision(holder) => match self.clusters_of(&planned.tasks) {
                        Ok(clusters) => would_change(holder, TokenUsage::Needed(&NeededBy::Listed(&clusters))).await,
                        Err(invalid) => Err(Arc::new(invalid.into())),
                    },
                    Action::Hide(holder, idle) | Action::Revoke(holder, idle) => {
                        would_change(holder, TokenUsage::Idle { idle, hops: 0 }).await
                    }
                    _ => Ok(Effect::Done),
                };
                Outcome { planned, result }
            }
        });
        concurrently_in_order(work).await
    }

    async fn provision_all(
        &self,
        provisions: Vec<(TokenHolder, Planned)>,
        source: PlanSource<'_>,
        deadline: Deadline,
    ) -> Vec<Outcome> {
        let mut by_service: BTreeMap<Option<MeshService>, Group<TokenHolder>> = BTreeMap::new();
        for (holder, planned) in provisions {
            by_service.entry(holder.service().cloned()).or_default().push((holder, planned));
        }
        // One after the other, in their order: of several new spellings only the first one gets a token.
        let work = by_service.into_values().map(|mut of_service| async move {
            of_service.sort_by(|(one, _), (other, _)| one.cmp(other));
            let mut outcomes = Vec::new();
            for (holder, planned) in of_service {
                let result =
                    self.provision(&holder, &planned.tasks, source, deadline).await.map_err(ControllerError::shared);
                outcomes.push(Outcome { planned, result });
            }
            outcomes
        });
        let outcomes: Vec<Vec<Outcome>> = concurrently(work).await;
        outcomes.into_iter().flatten().collect()
    }

    async fn provision(
        &self,
        holder: &TokenHolder,
        tasks: &[TaskArn],
        source: PlanSource<'_>,
        deadline: Deadline,
    ) -> Result<Effect, ControllerError> {
        match source {
            PlanSource::Events(changes) => {
                let changes: Vec<&TaskChange> = tasks.iter().filter_map(|task| changes.get(task)).collect();
                deadline.run(self.tokens.reconcile(holder, TokenUsage::Needed(&NeededBy::Events(&changes)), None)).await
            }
            PlanSource::World(secrets) => {
                let seen = secrets.get(holder).cloned();
                self.provision_found(holder, tasks, seen, deadline).await
            }
        }
    }

    /// The managed clusters of these tasks: at least one.
    fn clusters_of(&self, tasks: &[TaskArn]) -> Result<BTreeSet<ClusterArn>, InvalidField> {
        let clusters: BTreeSet<_> =
            tasks.iter().filter_map(|task| self.context.scope.clusters.cluster_of(task)).collect();
        if clusters.is_empty() {
            let task = tasks.first().map(TaskArn::as_str).unwrap_or_default();
            return Err(InvalidField::new("task ARN", task, "a long ARN, with the name of a managed cluster"));
        }
        Ok(clusters)
    }

    /// Reconciles the token of a holder. These running tasks of it were found.
    async fn provision_found(
        &self,
        holder: &TokenHolder,
        tasks: &[TaskArn],
        seen: Option<StoredSecret>,
        deadline: Deadline,
    ) -> Result<Effect, ControllerError> {
        let clusters = self.clusters_of(tasks)?;
        deadline.run(self.tokens.reconcile(holder, TokenUsage::Needed(&NeededBy::Listed(&clusters)), seen)).await
    }

    async fn delete_login_tokens(&self, tokens: Vec<(ListedToken, Planned)>, deadline: Deadline) -> Vec<Outcome> {
        let work = tokens.into_iter().map(|(token, planned)| async move {
            let result = deadline.run(self.writes.consul.delete_token(&token.tenancy, token.accessor)).await;
            if result.is_ok() {
                let task_id = planned.tasks.first().map(|task| task.id().as_str());
                let mode = self.context.scope.mode;
                count(mode, Counted::LoginTokensDeleted, 1);
                LogLine {
                    task_id: task_id.map(str::to_owned),
                    accessor_id: Some(token.accessor.to_string()),
                    ..LogLine::of(LogAction::DeleteLoginToken, mode)
                }
                .info();
                let revoked = RevokedToken::Login {
                    task_id: task_id.unwrap_or_default().to_owned(),
                    accessor_id: token.accessor.to_string(),
                    reason: "the task has stopped".to_owned(),
                };
                self.context.announcer.announce(Event::TokenRevoked, revoked);
            }
            Outcome { planned, result: result.map(|()| Effect::Done).map_err(ControllerError::shared) }
        });
        concurrently(work).await
    }

    /// Deregisters instances in sequential transactions: each is one Raft commit.
    async fn deregister_all(
        &self,
        groups: impl Iterator<Item = Group<ServiceInstance>>,
        deadline: Deadline,
    ) -> Vec<Outcome> {
        let write = async |instances: &[ServiceInstance]| self.writes.consul.deregister(instances).await;
        let log = |instance: &ServiceInstance, _: &[TaskArn]| log_deregistration(instance, self.context.scope.mode);
        let outcomes = write_in_chunks(groups, deadline, write, log).await;
        announce(&outcomes, &self.context.announcer);
        outcomes
    }

    async fn mark_all_critical(
        &self,
        groups: impl Iterator<Item = Group<HealthCheck>>,
        deadline: Deadline,
    ) -> Vec<Outcome> {
        let write = async |checks: &[HealthCheck]| self.writes.consul.set_checks(checks).await;
        let log = |check: &HealthCheck, tasks: &[TaskArn]| log_drain(check, tasks, self.context.scope.mode);
        let outcomes = write_in_chunks(groups, deadline, write, log).await;
        announce(&outcomes, &self.context.announcer);
        outcomes
    }

    async fn end_drains(&self, groups: impl Iterator<Item = Group<HealthCheck>>, deadline: Deadline) -> Vec<Outcome> {
        let write = async |checks: &[HealthCheck]| self.writes.consul.deregister_checks(checks).await;
        let log = |check: &HealthCheck, tasks: &[TaskArn]| log_end_of_drain(check, tasks, self.context.scope.mode);
        write_in_chunks(groups, deadline, write, log).await
    }

    /// Registers what is missing of tasks, and corrects their checks.
    async fn repair_all(&self, repairs: Group<Difference>, deadline: Deadline) -> Vec<Outcome> {
        let work = repairs.into_iter().map(|(difference, planned)| async move {
            let (effect, error) = self.register(&difference, deadline).await;
            let failed = error.map(|error| Outcome { planned: planned.clone(), result: Err(Arc::new(error)) });
            let done = (failed.is_none() || effect == Effect::Done).then_some(Outcome { planned, result: Ok(effect) });
            done.into_iter().chain(failed).collect()
        });
        let outcomes: Vec<Vec<Outcome>> = concurrently(work).await;
        outcomes.into_iter().flatten().collect()
    }

    /// Registers until an error. A repair that was written in part has both results.
    async fn register(&self, difference: &Difference, deadline: Deadline) -> (Effect, Option<ControllerError>) {
        let mut effect = Effect::Unchanged;
        for registration in &difference.instances {
            match deadline.run(self.writes.consul.register(registration)).await {
                Ok(()) => effect = Effect::Done,
                Err(CallError::Consul(refused @ ConsulError::Refused { .. })) => {
                    return (effect, Some(ControllerError::RefusedByConsul(refused)));
                }
                Err(error) => return (effect, Some(error.into())),
            }
        }
        if difference.checks.is_empty() {
            return (effect, None);
        }
        match deadline.run(self.writes.consul.set_checks(&difference.checks)).await {
            Ok(()) => (Effect::Done, None),
            // Their instance is gone since: the next sweep registers it, unless its task has ended.
            Err(CallError::Consul(ConsulError::Conflict { .. })) => (effect, None),
            Err(error) => (effect, Some(error.into())),
        }
    }

    /// Requests an idle check of each holder, unless a recent request covers it.
    async fn request_idle_checks(&self, checks: Vec<(TokenHolder, Planned)>, deadline: Deadline) -> Vec<Outcome> {
        let (now, grace) = (self.context.now(), self.context.scope.grace);
        let (covered, new): (Vec<_>, Vec<_>) = checks
            .into_iter()
            .partition(|(holder, _)| self.requested.get(holder).is_some_and(|at| grace.covers(at, now)));
        let mut outcomes: Vec<Outcome> =
            covered.into_iter().map(|(_, planned)| Outcome { planned, result: Ok(Effect::Unchanged) }).collect();
        if new.is_empty() {
            return outcomes;
        }
        let bodies: Vec<String> = new.iter().filter_map(|(holder, _)| Message::idle_check(holder, 0)).collect();
        let delay = grace.delay().min(MAX_MESSAGE_DELAY);
        let sent = deadline.run(self.context.queue.send_later(&bodies, delay)).await.map_err(ControllerError::shared);
        outcomes.extend(new.into_iter().map(|(holder, planned)| {
            if sent.is_ok() {
                LogLine {
                    holder: Some(holder.to_string()),
                    delay_seconds: Some(delay.as_secs()),
                    ..LogLine::of(LogAction::AskForIdleCheck, LogOutcome::Done)
                }
                .info();
                self.requested.insert(holder, now);
            }
            Outcome { planned, result: sent.clone().map(|()| Effect::Done) }
        }));
        outcomes
    }

    /// Hides and deletes tokens of idle services, and processes orphans.
    async fn reconcile_tokens(&self, tokens: Group<TokenWork>, deadline: Deadline) -> Vec<Outcome> {
        let work = tokens.into_iter().map(|(work, planned)| async move {
            let result = match work {
                TokenWork::Retire(holder, idle) => {
                    deadline.run(self.tokens.reconcile(&holder, TokenUsage::Idle { idle: &idle, hops: 0 }, None)).await
                }
                TokenWork::DeleteOrphan(holder, token, retirement) => {
                    deadline.run(self.tokens.delete_orphan(&holder, &token, &retirement)).await
                }
                TokenWork::ShowOrphan(holder, token) => {
                    match deadline.run(self.tokens.show_orphan(&holder, &token)).await {
                        // Then it is updated, or another token is created.
                        Ok(shown) => {
                            let provisioned = self.provision_found(&holder, &planned.tasks, None, deadline).await;
                            provisioned.map(|effect| effect.max(shown))
                        }
                        Err(error) => Err(error),
                    }
                }
            };
            Outcome { planned, result: result.map_err(ControllerError::shared) }
        });
        concurrently(work).await
    }
}

/// Writes entries in chunks. A chunk fails as a whole: if the error concerns one of its entries, the chunk is written again task by
/// task, so that the entry affects no other task.
async fn write_in_chunks<T: Clone>(
    groups: impl Iterator<Item = Group<T>>,
    deadline: Deadline,
    write: impl AsyncFn(&[T]) -> Result<(), ConsulError>,
    log: impl Fn(&T, &[TaskArn]),
) -> Vec<Outcome> {
    let write_all = async |chunk: &[(T, Planned)]| {
        let entries: Vec<T> = chunk.iter().map(|(entry, _)| entry.clone()).collect();
        let written = deadline.run(write(&entries)).await.map_err(ControllerError::shared);
        if written.is_ok() {
            for (entry, planned) in chunk {
                log(entry, &planned.tasks);
            }
        }
        let outcome = |(_, planned): &(T, Planned)| Outcome {
            planned: planned.clone(),
            result: written.clone().map(|()| Effect::Done),
        };
        chunk.iter().map(outcome).collect::<Vec<Outcome>>()
    };
    let mut outcomes = Vec::new();
    for group in groups {
        for chunk in group.chunks(MAX_TRANSACTION_OPERATIONS) {
            let written = write_all(chunk).await;
            let mut by_task: BTreeMap<Option<&TaskId>, Group<T>> = BTreeMap::new();
            for (entry, planned) in chunk.iter().filter(|_| written.iter().any(Outcome::concerns_one_thing)) {
                by_task.entry(task_of(planned)).or_default().push((entry.clone(), planned.clone()));
            }
            if by_task.len() > 1 {
                for entries in by_task.values() {
                    outcomes.extend(write_all(entries).await);
                }
            } else {
                outcomes.extend(written);
            }
        }
    }
    outcomes
}

/// The task of an entry in a chunk.
fn task_of(planned: &Planned) -> Option<&TaskId> {
    planned.action.instance_task().or_else(|| Some(planned.tasks.first()?.id()))
}

/// Objects to change, each with its planned action.
type Group<T> = Vec<(T, Planned)>;

/// An action for a token that no task requires, or for an orphan.
enum TokenWork {
    /// Hide or delete the holder's token.
    Retire(TokenHolder, Idle),
    DeleteOrphan(TokenHolder, ListedToken, Retirement),
    /// Write an orphan into the holder's secret.
    ShowOrphan(TokenHolder, ListedToken),
}

/// The actions of a plan.
#[derive(Default)]
struct Work {
    provisions: Group<TokenHolder>,
    login_tokens: Group<ListedToken>,
    idle_checks: Group<TokenHolder>,
    agents: Group<ClientAgent>,
    nodes: Group<LeftoverNode>,
    tokens: Group<TokenWork>,
    /// The instances and checks that are registered for each task.
    repairs: Group<Difference>,
    /// By partition: a transaction is limited to one.
    instances: BTreeMap<Option<TenancyName>, Group<ServiceInstance>>,
    /// By node and tenancy: a registration is for one node.
    drains: BTreeMap<(String, Tenancy), Group<HealthCheck>>,
    /// By partition.
    ended_drains: BTreeMap<Option<TenancyName>, Group<HealthCheck>>,
}

impl Work {
    /// Groups the actions of a plan.
    fn sort(all: Vec<Planned>) -> Self {
        let mut work = Self::default();
        for planned in all {
            match planned.action.clone() {
                Action::Provision(holder) => work.provisions.push((holder, planned)),
                Action::DeleteLoginToken(token) => work.login_tokens.push((token, planned)),
                Action::CheckIdleness(holder) => work.idle_checks.push((holder, planned)),
                Action::Hide(holder, idle) | Action::Revoke(holder, idle) => {
                    work.tokens.push((TokenWork::Retire(holder, idle), planned));
                }
                Action::DeleteOrphan(holder, token, retirement) => {
                    work.tokens.push((TokenWork::DeleteOrphan(holder, token, retirement), planned));
                }
                Action::ShowOrphan(holder, token) => work.tokens.push((TokenWork::ShowOrphan(holder, token), planned)),
                Action::ForceLeave(agent) | Action::AwaitAgent(agent) => work.agents.push((agent, planned)),
                Action::DeregisterNode(node) => work.nodes.push((node, planned)),
                Action::MarkCritical(instance, reason) => {
                    let check = HealthCheck::maintenance(&instance, reason);
                    work.drains.entry((instance.node, instance.tenancy)).or_default().push((check, planned));
                }
                Action::EndDrain(check) => {
                    let partition = check.tenancy.partition().cloned();
                    work.ended_drains.entry(partition).or_default().push((check, planned));
                }
                Action::Repair(difference) => work.repairs.push((difference, planned)),
                Action::CorrectHealth(checks) => {
                    work.repairs.push((Difference { checks, ..Difference::default() }, planned));
                }
                Action::Deregister(instance) => {
                    let partition = instance.tenancy.partition().cloned();
                    work.instances.entry(partition).or_default().push((instance, planned));
                }
            }
        }
        work
    }
}
