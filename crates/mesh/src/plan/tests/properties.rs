//! Properties of every plan. Their oracles share as little code with the plan as possible.

use proptest::{prelude::*, strategy::ValueTree, test_runner::TestRunner};

use super::{effects::carry_out, world::*, *};

fn any_mode() -> impl Strategy<Value = TokenMode> {
    prop::sample::select(vec![TokenMode::Auto, TokenMode::SecretsManager, TokenMode::AuthMethod])
}

fn is_login_of(token: &ListedToken, task: &MeshTask) -> bool {
    let names = [task.cluster.as_str(), task.cluster.name()];
    token.login().iter().any(|login| login.task == *task.arn.id() && names.contains(&login.cluster.as_str()))
}

fn is_service_of(instance: &ServiceInstance, task: &MeshTask) -> bool {
    instance.task == *task.arn.id()
        && instance.task_arn.as_ref() == Some(&TaskArn::in_cluster(&task.cluster, task.arn.id()))
}

/// Whether the action deletes something of this task.
fn deletes_from(action: &Action, task: &MeshTask) -> bool {
    match action {
        Action::DeleteLoginToken(token) => is_login_of(token, task),
        Action::Deregister(instance) => is_service_of(instance, task),
        Action::ForceLeave(agent) => agent.node.instances.iter().any(|i| is_service_of(i, task)),
        Action::DeregisterNode(node) => node.node.instances.iter().any(|i| is_service_of(i, task)),
        _ => false,
    }
}

/// The tokens of a holder that a deployment of `clusters()` may revoke.
fn own_tokens<'a>(observed: &'a Observed, holder: &'a TokenHolder) -> impl Iterator<Item = &'a ListedToken> {
    observed
        .tokens
        .iter()
        .filter(move |token| token.tenancy == *holder.tenancy() && token.description.is_of(holder, &clusters()))
}

/// Community Edition equals the default partition and namespace of Enterprise.
fn place(service: &MeshService) -> (&str, &str, &str) {
    let partition = service.tenancy.partition().map_or("default", |name| name.as_str());
    (partition, service.tenancy.namespace().map_or("default", |name| name.as_str()), service.name.as_str())
}

/// Whether a task may use the holder's token: it reads its secret; in an explicit mode also if it is of the service.
fn may_use(task: &MeshTask, holder: &TokenHolder, mode: TokenMode) -> bool {
    let name = names().of(holder);
    let is_of_service = task.identities().any(|of| Some(place(&of.service)) == holder.service().map(place));
    task.secrets.iter().any(|secret| secret.is_exactly(&name)) || mode != TokenMode::Auto && is_of_service
}

/// An observation, and the same in another order.
fn with_another_order() -> impl Strategy<Value = (Observed, Observed)> {
    any_observed().prop_flat_map(|observed| {
        let all_tasks = match &observed.coverage {
            Coverage::Clusters(Some(listing)) => listing.tasks.clone(),
            Coverage::Clusters(None) | Coverage::Events => Vec::new(),
        };
        let seen = observed.clone();
        let shuffled = (
            Just(observed.tasks).prop_shuffle(),
            Just(observed.tokens).prop_shuffle(),
            Just(observed.instances).prop_shuffle(),
            Just(observed.checks).prop_shuffle(),
            Just(observed.agents).prop_shuffle(),
            Just(observed.leftover_nodes).prop_shuffle(),
            Just(all_tasks).prop_shuffle(),
        );
        shuffled.prop_map(move |(tasks, tokens, instances, checks, agents, leftover_nodes, all_tasks)| {
            let coverage = match &seen.coverage {
                Coverage::Clusters(Some(listing)) => {
                    Coverage::Clusters(Some(TaskListing { listed_at: listing.listed_at, tasks: all_tasks }))
                }
                coverage => coverage.clone(),
            };
            let other = Observed { tasks, tokens, instances, checks, agents, leftover_nodes, coverage, ..seen.clone() };
            (seen.clone(), other)
        })
    })
}

/// The name of an action's variant.
fn kind(action: &Action) -> String {
    format!("{action:?}").split(|c: char| !c.is_alphanumeric()).take(1).collect()
}

/// Each kind of action is generated often enough for the properties below.
#[test]
fn observations_generate_every_kind_of_action() {
    let mut runner = TestRunner::deterministic();
    let mut planned: BTreeMap<String, usize> = BTreeMap::new();
    for _ in 0..3_000 {
        let observed = any_observed().new_tree(&mut runner).unwrap().current();
        let kinds: BTreeSet<_> = actions(&observed, TokenMode::SecretsManager).iter().map(kind).collect();
        for kind in kinds {
            *planned.entry(kind).or_default() += 1;
        }
    }
    let often: Vec<_> = planned.iter().filter(|(_, times)| **times >= 20).map(|(kind, _)| kind.as_str()).collect();
    let all = [
        "AwaitAgent",
        "CheckIdleness",
        "DeleteLoginToken",
        "DeleteOrphan",
        "Deregister",
        "DeregisterNode",
        "EndDrain",
        "ForceLeave",
        "Hide",
        "MarkCritical",
        "Provision",
        "Revoke",
        "ShowOrphan",
    ];
    assert_eq!(often, all, "number of 3,000 observations with each kind: {planned:?}");
}

proptest! {
    /// An action is reported for the cluster of its entry, or of one of the tasks that it is for.
    #[test]
    fn action_knows_its_cluster(observed in any_observed(), mode in any_mode()) {
        for Planned { action, cluster, tasks } in planned(&observed, mode) {
            let is_its = match &action {
                Action::Deregister(instance) | Action::MarkCritical(instance, _) => instance.node == cluster.as_str(),
                Action::DeleteLoginToken(token) => token.login().is_some_and(|it| cluster.is_named_by(&it.cluster)),
                Action::DeregisterNode(node) => node.cluster == cluster,
                // A token names the cluster that it was created for.
                _ if action.holder().is_some() => clusters().contains(&cluster),
                _ => tasks.iter().any(|task| task.is_in(&cluster)),
            };
            prop_assert!(is_its, "{action:?} of {cluster}");
        }
    }

    /// The tokens that are left out of what events observe change no plan, and each that is kept is of a stopped task or
    /// of its service.
    #[test]
    fn tokens_that_events_do_not_need_change_no_plan(observed in any_events(), mode in any_mode()) {
        let clusters = clusters();
        let needed = NeededTokens::of(&observed.tasks, &clusters);
        let mut filtered = observed.clone();
        filtered.tokens.retain(|token| needed.contains(token));
        let stopped = || observed.tasks.iter().filter(|task| task.phase == TaskPhase::Stopped);
        for token in &filtered.tokens {
            let is_of_service = |task: &MeshTask| {
                let mark = token.mark();
                task.identity.as_ref().zip(mark).is_some_and(|(own, mark)| mark.service.as_ref() == Some(&own.service.name))
            };
            prop_assert!(stopped().any(|task| is_login_of(token, task) || is_of_service(task)), "{token:?}");
            let texts = needed.texts();
            prop_assert!(texts.iter().any(|text| token.description.as_str().contains(text)), "{token:?} has none of {texts:?}");
        }
        prop_assert_eq!(actions(&filtered, mode), actions(&observed, mode));
    }

    /// Promise 1, only ours: each deleted object has a mark of the controller, and if it is a task's, that task is
    /// stopped.
    #[test]
    fn only_what_is_ours_and_of_stopped_tasks_is_deleted(observed in any_observed(), mode in any_mode()) {
        let stopped = || observed.tasks.iter().filter(|task| task.phase == TaskPhase::Stopped);
        for action in actions(&observed, mode) {
            match action {
                Action::DeleteLoginToken(token) => {
                    prop_assert!(stopped().any(|task| is_login_of(&token, task)));
                }
                Action::Deregister(gone) => {
                    prop_assert!(stopped().any(|t| gone.task == *t.arn.id() && gone.node == t.cluster.as_str()));
                }
                Action::ForceLeave(agent) => {
                    prop_assert_eq!(agent.member.status, AgentStatus::Failed);
                    prop_assert!(!agent.node.is_synthetic && agent.node.others.is_empty());
                    prop_assert!(!agent.node.instances.is_empty());
                    for instance in &agent.node.instances {
                        prop_assert!(stopped().any(|task| is_service_of(instance, task)));
                    }
                }
                Action::DeregisterNode(leftover) => {
                    prop_assert!(observed.leftover_nodes.contains(&leftover));
                    prop_assert!(leftover.node.is_synthetic && leftover.node.others.is_empty());
                }
                Action::Hide(holder, _) | Action::Revoke(holder, _) => prop_assert!(own_tokens(&observed, &holder).next().is_some()),
                Action::DeleteOrphan(holder, token, _) => {
                    let mark = token.mark().unwrap();
                    prop_assert!(mark.has_arn_of(&clusters()) && mark.may_be_for(&names().place_of(&holder)));
                    let named = observed.secrets[&holder].state.pair();
                    prop_assert!(named.is_none_or(|pair| pair.accessor != token.accessor));
                }
                Action::EndDrain(check) => {
                    prop_assert!(check.drains_for_gone_host() && observed.checks.contains(&check));
                }
                Action::Provision(_)
                | Action::ShowOrphan(..)
                | Action::MarkCritical(..)
                | Action::Repair(_)
                | Action::CorrectHealth(_)
                | Action::AwaitAgent(_)
                | Action::CheckIdleness(_) => {}
            }
        }
    }

    /// Promise 2, never the living: the login tokens, services, agent and node of a task that is not stopped are kept.
    #[test]
    fn nothing_of_a_living_task_is_deleted(observed in any_observed(), mode in any_mode()) {
        for action in actions(&observed, mode) {
            for task in observed.tasks.iter().filter(|task| task.phase != TaskPhase::Stopped) {
                prop_assert!(!deletes_from(&action, task), "{action:?} deletes something of {task:?}");
            }
        }
    }

    /// Promise 2, never the living: exactly the instances of stopping tasks, of those without a proxy, and of those on gone
    /// hosts are drained. Only the drain of a host that runs again ends.
    #[test]
    fn exactly_the_instances_of_tasks_that_were_told_to_stop_or_lost_their_proxy_are_drained(
        observed in any_observed(), mode in any_mode(),
    ) {
        let is_to_be_drained = |instance: &ServiceInstance| {
            let belongs = |t: &MeshTask| instance.task == *t.arn.id() && instance.node == t.cluster.as_str();
            observed.tasks.iter().any(|task| task.drain_reason().is_some() && belongs(task))
        };
        let is_back = |instance: &ServiceInstance| {
            let belongs = |t: &MeshTask| instance.task == *t.arn.id() && instance.node == t.cluster.as_str();
            let runs_again = |t: &MeshTask| t.phase == TaskPhase::Active && t.host == crate::host::Host::Running;
            observed.tasks.iter().any(|task| belongs(task) && runs_again(task) && task.drain_reason().is_none())
        };
        let mut after = observed.clone();
        carry_out(&mut after, &actions(&observed, mode));
        let is_drained = |observed: &Observed, drain: &HealthCheck| {
            observed.checks.iter().any(|check| check.is_same_as(drain) && check.status == CheckStatus::Critical)
        };
        for instance in &after.instances {
            let until_it_ends = HealthCheck::maintenance(instance, DrainReason::Stopping);
            let of_host = HealthCheck::maintenance(instance, DrainReason::HostGone);
            let was_drained = is_drained(&observed, &until_it_ends);
            let stays = was_drained || is_drained(&observed, &of_host) && !is_back(instance);
            let is_now = is_drained(&after, &until_it_ends) || is_drained(&after, &of_host);
            prop_assert_eq!(is_now, is_to_be_drained(instance) || stays, "{:?}", instance);
            prop_assert!(is_drained(&after, &until_it_ends) || !was_drained, "the end of a host's drain ends no other");
        }
        let others = |observed: &Observed| observed.checks.iter().filter(|c| c.kind != "maintenance").cloned().collect();
        let (before, after): (Vec<_>, Vec<_>) = (others(&observed), others(&after));
        prop_assert_eq!(before, after, "draining changes no container's check");
    }

    /// Promise 2, never the living: a service with a task keeps its token, also if the task is not listed yet.
    #[test]
    fn no_service_in_use_loses_its_token(observed in any_sweep(), mode in any_mode()) {
        let Coverage::Clusters(Some(listing)) = &observed.coverage else { panic!("every cluster was read") };
        for action in actions(&observed, mode) {
            let (Action::Hide(holder, _) | Action::Revoke(holder, _)) = action else { continue };
            let belongs = |task: &&MeshTask| may_use(task, &holder, mode);
            for task in listing.tasks.iter().filter(belongs) {
                prop_assert_eq!(task.phase, TaskPhase::Stopped);
                let quiet_for = task.stopped_at.map(|at| now().duration_since(at).as_secs());
                prop_assert!(quiet_for.is_none_or(|seconds| seconds >= 270));
            }
            let secret = &observed.secrets[&holder];
            let age = secret.written_at.map(|at| now().duration_since(at).as_secs());
            let least = if secret.state.shown().is_some() { 2_700 } else { 400 };
            prop_assert!(age.is_some_and(|seconds| seconds >= least), "{secret:?} may be used by a task that is not listed yet");
            let named = |token: &&ListedToken| secret.state.pair().is_some_and(|pair| pair.accessor == token.accessor);
            for token in own_tokens(&observed, &holder).filter(named).filter(|_| secret.state.shown().is_some()) {
                let since = token.mark().and_then(|mark| mark.unused_since);
                prop_assert!(since.is_none_or(|since| now().duration_since(since).as_hours() >= 24));
            }
        }
    }

    /// Promise 3, never blind: without the tasks of every cluster no service is idle.
    #[test]
    fn without_a_listing_of_every_cluster_no_token_is_revoked(
        observed in prop_oneof![any_events(), any_partial_sweep()],
        mode in any_mode(),
    ) {
        let actions = actions(&observed, mode);
        prop_assert!(!actions.iter().any(|action| matches!(action, Action::Hide(..) | Action::Revoke(..) | Action::DeleteOrphan(..))));
    }

    /// Promise 3, never blind: events observe no deleted clusters, and so deregister no node.
    #[test]
    fn without_leftover_nodes_no_node_is_deregistered(mut observed in any_observed(), mode in any_mode()) {
        observed.leftover_nodes.clear();
        let actions = actions(&observed, mode);
        prop_assert!(!actions.iter().any(|action| matches!(action, Action::DeregisterNode(_))));
    }

    /// Promise 3, never blind: a task that was not observed may run, so that nothing of it is deleted.
    #[test]
    fn nothing_of_an_unobserved_task_is_deleted(observed in any_observed(), mode in any_mode()) {
        let all = ["prod", "test"].into_iter().flat_map(|c| (0..8).map(move |id| task(c, id, TaskPhase::Active, "web")));
        let is_seen = |task: &MeshTask| observed.tasks.iter().any(|seen| seen.arn == task.arn);
        let unobserved: Vec<MeshTask> = all.filter(|task| !is_seen(task)).collect();
        for action in actions(&observed, mode) {
            prop_assert!(!unobserved.iter().any(|task| deletes_from(&action, task)), "{action:?}");
        }
    }

    /// Promise 4, always converges: after a sweep was applied, its plan is empty.
    #[test]
    fn after_a_sweep_there_is_nothing_left_to_do(
        mut observed in prop_oneof![any_partial_sweep(), any_sweep()],
        mode in any_mode(),
    ) {
        let planned = actions(&observed, mode);
        carry_out(&mut observed, &planned);
        prop_assert_eq!(actions(&observed, mode), []);
    }

    /// Promise 4, always converges: after events were applied, only checks remain.
    #[test]
    fn after_events_only_checks_remain(mut observed in any_events(), mode in any_mode()) {
        let planned = actions(&observed, mode);
        carry_out(&mut observed, &planned);
        for action in actions(&observed, mode) {
            prop_assert!(matches!(action, Action::CheckIdleness(_) | Action::AwaitAgent(_)), "{action:?}");
        }
    }

    /// The plan does not depend on the order of the observations.
    #[test]
    fn plan_does_not_depend_on_the_order((observed, other) in with_another_order(), mode in any_mode()) {
        let sorted = |observed: &Observed| {
            let mut actions: Vec<String> = actions(observed, mode).iter().map(|action| format!("{action:?}")).collect();
            actions.sort();
            actions
        };
        prop_assert_eq!(sorted(&observed), sorted(&other));
    }
}
