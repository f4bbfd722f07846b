//! Clean-up: when the stack is deleted, removes everything that the controller owns in Consul.
//!
//! Entries of running tasks are removed too, because no controller is left to remove them later. Objects without a mark
//! of the controller stay, and so do policies, roles and auth methods, which other clusters share.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use mesh::{
    arn::{ClusterArn, TaskId},
    catalog::{CatalogNode, LeftoverNode},
    holder::TokenHolder,
    mark::LoginMark,
    plan::{Action, Planned, plan},
    secret::{Retirement, Trigger},
    token::ListedToken,
};
use observe::{CallError, Deadline, SweepOrder, World};
use serde::Serialize;
use tracing::{info, warn};

use crate::{
    apply::Applier,
    context::Context,
    error::ControllerError,
    outcome::{Effect, Outcome, PlanSource},
    tokens::{TokenUsage, Tokens},
};

/// The most rounds: each removes what was created during the previous one.
const ROUNDS: usize = 3;

/// The removed objects.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CleanupReport {
    /// The number of login, service and client tokens.
    pub tokens: usize,
    /// The number of service instances.
    pub services: usize,
    /// The number of synthetic nodes and failed client agents.
    pub nodes: usize,
    /// What could not be read or removed.
    pub problems: Vec<report::Problem>,
    /// What was left: its author has to correct it, or another writer keeps changing it.
    pub faults: Vec<report::Problem>,
}

impl CleanupReport {
    fn add(&mut self, cluster: Option<&ClusterArn>, owner: Option<String>, error: &ControllerError) {
        let problem = report::Problem { owner, ..error.problem(cluster) };
        // What a further deletion may do fails this one. What its author has to correct does not, nor does a service that writes
        // without end. Hosts do not matter here.
        let is_left = error.needs_correction()
            || error.is_conflict()
            || matches!(error, ControllerError::Call(CallError::OverLimit { .. } | CallError::Ec2(_)));
        if is_left {
            self.faults.push(problem);
        } else {
            self.problems.push(problem);
        }
    }
}

pub(crate) struct Cleanup {
    pub(crate) context: Arc<Context>,
    pub(crate) applier: Arc<Applier>,
    pub(crate) tokens: Arc<Tokens>,
}

impl Cleanup {
    /// Removes every token, service, check and node that the controller owns.
    pub(crate) async fn run(&self, deadline: Deadline) -> CleanupReport {
        let mut report = CleanupReport::default();
        let mode = self.context.scope.mode;
        // What was not removed would be found again.
        let rounds = if mode.acts() { ROUNDS } else { 1 };
        for _ in 0..rounds {
            report.problems.clear();
            report.faults.clear();
            if self.round(&mut report, deadline).await == Effect::Unchanged {
                break;
            }
        }
        for problem in &report.problems {
            warn!(action = "clean_up", outcome = "failed", error = problem.label.as_str(), reason = problem.reason);
        }
        for fault in &report.faults {
            let (error, reason) = (fault.label.as_str(), &fault.reason);
            warn!(action = "clean_up", outcome = "left", owner = fault.owner, error, reason);
        }
        info!(
            action = "clean_up",
            outcome = mode.done(),
            tokens = report.tokens,
            services = report.services,
            nodes = report.nodes
        );
        report
    }

    /// One round; [`Effect::Unchanged`] if it removed nothing, and nothing had changed since it was read.
    async fn round(&self, report: &mut CleanupReport, deadline: Deadline) -> Effect {
        let order = SweepOrder { force: true, ..SweepOrder::default() };
        let ecs = self.context.observer.begin(&[], deadline).await;
        let world = self.context.observer.read_world(&order, &ecs, deadline).await;
        for problem in &world.problems {
            report.add(problem.cluster.as_ref(), problem.owner.clone(), &problem.error.clone().into());
        }
        for skipped in &world.skipped {
            warn!(action = "clean_up", outcome = "left", what = skipped.what, reason = skipped.why);
        }
        let living = world.readings.iter().map(|reading| reading.living).sum::<usize>();
        if living > 0 && self.context.scope.mode.acts() {
            warn!(action = "clean_up", living, "running tasks lose their tokens and services");
        }
        let mut effect = Effect::Unchanged;
        let source = PlanSource::World(&world.observed.secrets);
        for Outcome { planned, result } in self.applier.apply(self.leftovers(&world), source, deadline).await {
            match (result, planned.action) {
                (Ok(Effect::Unchanged), _) => continue,
                (Ok(_), Action::DeleteLoginToken(_)) => report.tokens += 1,
                (Ok(_), Action::Deregister(_)) => report.services += 1,
                (Ok(_), _) => report.nodes += 1,
                (Err(error), _) => {
                    report.add(None, None, &error);
                    if !error.is_conflict() {
                        continue;
                    }
                }
            }
            effect = Effect::Done;
        }
        let own = self.own_tokens(&world.observed.tokens);
        // The reading has reported why the others' secrets cannot be read.
        let is_read = |holder: &TokenHolder| {
            !world.observed.faulty.contains(holder) || world.observed.secrets.contains_key(holder)
        };
        for (holder, tokens) in own.into_iter().filter(|(holder, _)| is_read(holder)) {
            match deadline.run(self.remove_tokens(&holder, &tokens)).await {
                Ok(0) => {}
                Ok(removed) => {
                    report.tokens += removed;
                    effect = Effect::Done;
                }
                Err(error) if self.tokens.is_out_of_reach(&error) => {
                    warn!(action = "clean_up", outcome = "left", %holder, reason = %error);
                }
                Err(error) => report.add(None, Some(holder.to_string()), &error),
            }
        }
        for partition in &world.partitions {
            if let Err(error) = deadline.run(self.tokens.remove_client_policy(partition)).await {
                report.add(None, None, &error);
            }
        }
        effect
    }

    /// The actions that remove login tokens, services, failed agents and nodes of the configured clusters.
    fn leftovers(&self, world: &World) -> Vec<Planned> {
        let (observed, clusters) = (&world.observed, &self.context.scope.clusters);
        let known: BTreeSet<&TaskId> = observed.tasks.iter().map(|task| task.arn.id()).collect();
        let is_known = |mark: &LoginMark| known.contains(&mark.task);
        let is_ours = |mark: &LoginMark| {
            clusters.has_arn(&mark.cluster) || (clusters.is_named_by(&mark.cluster) && is_known(mark))
        };
        let logins = observed.tokens.iter().filter(|token| token.login().is_some_and(is_ours));
        let first = world.readings.first().map(|reading| &reading.cluster);
        let of_login = |token: &ListedToken| {
            // A task names its cluster itself: not every name is one of ECS.
            let cluster = clusters.cluster_named_by(&token.login()?.cluster).or_else(|| first.cloned())?;
            Some((Action::DeleteLoginToken(token.clone()), cluster))
        };
        let mut actions: Vec<(Action, ClusterArn)> = logins.filter_map(of_login).collect();
        for cluster in world.readings.iter().map(|reading| &reading.cluster) {
            let instances = observed.instances.iter().filter(|instance| instance.node == cluster.as_str());
            actions.extend(instances.map(|instance| (Action::Deregister(instance.clone()), cluster.clone())));
        }
        // Only agents that the plan finds failed are removed.
        let planned = plan(observed, self.context.plan_settings()).into_iter();
        let planned = planned.map(|planned| (planned.action, planned.cluster));
        actions.extend(planned.filter(|(action, _)| matches!(action, Action::ForceLeave(_))));
        // Tasks of one cluster may have registered in any partition, on a node of the cluster in each.
        actions.extend(world.readings.iter().flat_map(|reading| {
            world.partitions.iter().map(move |tenancy| {
                let (cluster, tenancy) = (reading.cluster.clone(), tenancy.clone());
                let node = LeftoverNode { cluster: cluster.clone(), node: CatalogNode::default(), tenancy };
                (Action::DeregisterNode(node), cluster)
            })
        }));
        actions.into_iter().map(|(action, cluster)| Planned { action, cluster, tasks: Vec::new() }).collect()
    }

    /// The tokens that a controller created for one of the configured clusters, by holder.
    fn own_tokens<'a>(&self, tokens: &'a [ListedToken]) -> BTreeMap<TokenHolder, Vec<&'a ListedToken>> {
        let mut own: BTreeMap<TokenHolder, Vec<&ListedToken>> = BTreeMap::new();
        for token in tokens {
            let mark = token.mark().filter(|mark| mark.is_of(&self.context.scope.clusters));
            let holder = mark.and_then(|mark| self.context.scope.names.holder_of(mark, &token.tenancy));
            let Some(holder) = holder else { continue };
            own.entry(holder).or_default().push(token);
        }
        own
    }

    /// Removes the holder's tokens: first the orphans, then the one in the secret. After an interruption the rest is
    /// still listed, and the next clean-up removes it.
    async fn remove_tokens(&self, holder: &TokenHolder, tokens: &[&ListedToken]) -> Result<usize, ControllerError> {
        let retirement = Retirement { trigger: Some(Trigger::Person), ..Retirement::default() };
        let secret = self.context.observer.read_secret(holder).await?;
        let place = self.context.scope.names.place_of(holder);
        let mut removed = 0;
        for token in tokens.iter().filter(|token| !secret.names(token.accessor)) {
            let mark = token.mark();
            if mark.is_some_and(|mark| mark.has_arn_of(&self.context.scope.clusters) && mark.may_be_for(&place)) {
                removed += usize::from(self.tokens.delete_orphan(holder, token, &retirement).await? == Effect::Done);
            } else {
                warn!(action = "clean_up", outcome = "left", holder = %holder, accessor_id = %token.accessor, "the token may be another deployment's: its description names the cluster without the account, or another secret");
            }
        }
        let named = self.tokens.reconcile(holder, TokenUsage::Ended(&retirement), None).await?;
        Ok(removed + usize::from(named == Effect::Done))
    }
}
