//! Examples of plans for sweeps: idle services, failed agents, nodes of deleted clusters.

use super::*;

/// The grace period is 300 seconds, nine tenths of it 270.
const LONG_AGO: i64 = 1_000;

/// The token of a service in `tenancy`, with the marks of this controller.
fn service_token(tenancy: &Tenancy, name: &str) -> ListedToken {
    let service = MeshService { tenancy: tenancy.clone(), name: name.parse().unwrap() };
    let holder = TokenHolder::Service(service);
    let description = holder.token_description(&cluster("prod"));
    ListedToken { tenancy: tenancy.clone(), ..token(77, description.as_str()) }
}

fn pre_provisioned(name: &str, hours_ago: i64) -> ListedToken {
    let token = service_token(&Tenancy::Community, name);
    let description = token.description.with_unused_since(seconds_ago(hours_ago * 3_600));
    ListedToken { description, ..token }
}

/// A task of any cluster, for the listing of a sweep.
fn service_task(name: &str, phase: TaskPhase, stopped: Option<i64>) -> MeshTask {
    MeshTask {
        stopped_at: stopped.map(seconds_ago),
        secrets: [SecretReference::named(&format!("consul-ecs-{name}"))].into(),
        ..task("test", 9, phase, &name.to_ascii_lowercase())
    }
}

/// The observation of a sweep in which each service's secret contains its first token.
fn sweep_of(tokens: Vec<ListedToken>, all_tasks: Vec<MeshTask>) -> Observed {
    let mut secrets = BTreeMap::new();
    for token in &tokens {
        if let Some(name) = token.mark().and_then(|mark| mark.service.clone()) {
            let holder = TokenHolder::Service(MeshService { tenancy: token.tenancy.clone(), name });
            secrets.entry(holder).or_insert_with(|| naming(token.accessor, false));
        }
    }
    let listing = TaskListing { listed_at: now(), tasks: all_tasks };
    Observed { tokens, secrets, coverage: Coverage::Clusters(Some(listing)), ..Observed::default() }
}

/// The action that hides a token of which ECS lists no task.
fn hides(service: MeshService) -> Vec<Action> {
    vec![Action::Hide(TokenHolder::Service(service), Idle { retirement: never_used(), listed_at: now() })]
}

fn never_used() -> Retirement {
    Retirement { trigger: Some(Trigger::Sweep), ..Retirement::default() }
}

/// The actions of a sweep, equal in the explicit modes without active tasks.
fn swept(observed: &Observed) -> Vec<Action> {
    let actions = actions(observed, TokenMode::AuthMethod);
    assert_eq!(actions, super::actions(observed, TokenMode::SecretsManager));
    actions
}

#[test]
fn token_of_a_service_without_tasks_is_hidden() {
    let token = service_token(&Tenancy::Community, "web");
    for all_tasks in [vec![], vec![service_task("api", TaskPhase::Active, None)]] {
        assert_eq!(swept(&sweep_of(vec![token.clone()], all_tasks)), hides(service("web")));
    }
    let stopped = service_task("web", TaskPhase::Stopped, Some(LONG_AGO));
    let (idle_since, last_task) = (Some(seconds_ago(LONG_AGO)), Some(stopped.arn.clone()));
    let retirement = Retirement { trigger: Some(Trigger::Sweep), idle_since, last_task };
    let idle = Idle { retirement, listed_at: now() };
    assert_eq!(
        swept(&sweep_of(vec![token], vec![stopped])),
        [Action::Hide(TokenHolder::Service(service("web")), idle)]
    );
}

#[test]
fn token_is_kept_if_tasks_are_unread() {
    let token = service_token(&Tenancy::Community, "web");
    let observed = Observed { coverage: Coverage::Clusters(None), ..sweep_of(vec![token.clone()], vec![]) };
    assert_eq!(swept(&observed), []);
    let unread = Observed { secrets: BTreeMap::new(), ..sweep_of(vec![token], vec![]) };
    assert_eq!(swept(&unread), [], "the secret could not be read");
}

#[test]
fn token_that_is_too_young_waits_until_it_is_hidden_and_deleted() {
    let waits = |observed: &Observed| -> Vec<(bool, Timestamp)> {
        let waiting = waiting_tokens(observed, settings(TokenMode::AuthMethod, &clusters(), &names()));
        waiting.into_iter().map(|it| (it.is_shown, it.until)).collect()
    };
    let token = service_token(&Tenancy::Community, "web");
    let written = |seconds, is_hidden| {
        let mut observed = sweep_of(vec![token.clone()], vec![]);
        let secret = StoredSecret { written_at: Some(seconds_ago(seconds)), ..naming(token.accessor, is_hidden) };
        observed.secrets.values_mut().for_each(|it| *it = secret.clone());
        observed
    };
    assert_eq!(
        waits(&written(2_600, false)),
        [(true, seconds_ago(-100))],
        "a version with a token is shown for 2,700 s"
    );
    assert_eq!(waits(&written(2_700, false)), [], "it is hidden now");
    assert_eq!(waits(&written(300, true)), [(false, seconds_ago(-100))], "a token is hidden for 400 s");
    assert_eq!(waits(&written(400, true)), [], "it is deleted now");
    // A service whose last task has stopped lately is not idle yet, and one with a task does not wait
    let stopped = vec![service_task("web", TaskPhase::Stopped, Some(200))];
    assert_eq!(waits(&sweep_of(vec![token.clone()], stopped)), [(true, seconds_ago(-70))]);
    let living = vec![service_task("web", TaskPhase::Active, None)];
    assert_eq!(waits(&sweep_of(vec![token], living)), []);
}

#[test]
fn orphan_of_an_idle_service_is_deleted() {
    let named = service_token(&Tenancy::Community, "web");
    let orphan = ListedToken { accessor: token(78, "").accessor, ..named.clone() };
    let holder = TokenHolder::Service(service("web"));
    let tokens = vec![named, orphan.clone()];
    let living = vec![service_task("web", TaskPhase::Active, None)];
    assert_eq!(swept(&sweep_of(tokens.clone(), living)), []);
    let mut all = hides(service("web"));
    all.push(Action::DeleteOrphan(holder, orphan, never_used()));
    assert_eq!(swept(&sweep_of(tokens, vec![])), all);
}

#[test]
fn emptied_secret_shows_the_newest_orphan() {
    let old = service_token(&Tenancy::Community, "web");
    let new = ListedToken { accessor: token(78, "").accessor, created_at: Some(seconds_ago(500)), ..old.clone() };
    let mut observed = sweep_of(vec![old, new.clone()], vec![service_task("web", TaskPhase::Active, None)]);
    observed.tasks.push(task("prod", 1, TaskPhase::Active, "web"));
    let emptied = StoredSecret { state: SecretState::Empty, is_ours: false, ..naming(new.accessor, false) };
    observed.secrets.values_mut().for_each(|secret| *secret = emptied.clone());
    let actions = super::actions(&observed, TokenMode::SecretsManager);
    let shown = Action::ShowOrphan(TokenHolder::Service(service("web")), new);
    assert_eq!(actions, [shown, Action::Provision(TokenHolder::Client { tenancy: Tenancy::Community })]);
    // Other clusters are not required for that
    observed.coverage = Coverage::Clusters(None);
    assert_eq!(super::actions(&observed, TokenMode::SecretsManager), actions);
}

#[test]
fn hidden_token_is_shown_again_in_mode_auth_method() {
    let token = service_token(&Tenancy::Community, "web");
    let mut observed = sweep_of(vec![token.clone()], vec![service_task("web", TaskPhase::Active, None)]);
    observed.secrets.values_mut().for_each(|secret| *secret = naming(token.accessor, true));
    let actions = super::actions(&observed, TokenMode::AuthMethod);
    assert_eq!(actions, [Action::Provision(TokenHolder::Service(service("web")))]);
}

#[test]
fn unused_token_waits_a_day_for_a_task() {
    assert_eq!(swept(&sweep_of(vec![pre_provisioned("web", 23)], vec![])), []);
    assert_eq!(swept(&sweep_of(vec![pre_provisioned("web", 24)], vec![])), hides(service("web")));
}

#[test]
fn token_of_another_tenancy_is_not_changed() {
    let elsewhere = enterprise("team-a", "web");
    let strayed = ListedToken { tenancy: elsewhere.clone(), ..service_token(&Tenancy::Community, "web") };
    assert_eq!(swept(&sweep_of(vec![strayed], vec![])), [], "its marks are of another tenancy");

    let token = service_token(&elsewhere, "web");
    let idle = MeshService { tenancy: elsewhere, ..service("web") };
    let namesake = service_task("web", TaskPhase::Active, None);
    assert_eq!(
        swept(&sweep_of(vec![token], vec![namesake])),
        hides(idle),
        "a task of the same name in another tenancy does not count"
    );
}

fn sweep_of_agent(agent: ClientAgent, stopped: &[u8]) -> Observed {
    let tasks = stopped.iter().map(|number| task("prod", *number, TaskPhase::Stopped, "web")).collect();
    Observed { tasks, agents: vec![agent], ..sweep_of(vec![], vec![]) }
}

#[test]
fn failed_agent_of_stopped_tasks_is_force_left() {
    let failed = agent(AgentStatus::Failed, &[1, 1, 2]);
    assert_eq!(swept(&sweep_of_agent(failed.clone(), &[1, 2])), [Action::ForceLeave(failed)]);
}

#[test]
fn each_task_is_named_once_for_its_agent() {
    let failed = agent(AgentStatus::Failed, &[1, 2, 1]);
    let planned = planned(&sweep_of_agent(failed, &[1, 2]), TokenMode::AuthMethod);
    assert_eq!(planned[0].tasks.len(), 2, "{:?}", planned[0].tasks);
}

#[test]
fn agent_with_other_services_stays() {
    let mut shared = agent(AgentStatus::Failed, &[1]);
    shared.node.others.push(other_service());
    let mut synthetic = agent(AgentStatus::Failed, &[1]);
    synthetic.node.is_synthetic = true;
    let of_an_unknown_task = agent(AgentStatus::Failed, &[1, 2]);
    let bare = agent(AgentStatus::Failed, &[]);
    for agent in [shared, synthetic, of_an_unknown_task, bare] {
        assert_eq!(swept(&sweep_of_agent(agent, &[1])), []);
    }
}

fn sweep_of_node(node: LeftoverNode, stopped: &[u8]) -> Observed {
    let tasks = stopped.iter().map(|number| task("prod", *number, TaskPhase::Stopped, "web")).collect();
    Observed { tasks, instances: node.node.instances.clone(), leftover_nodes: vec![node], ..sweep_of(vec![], vec![]) }
}

#[test]
fn node_of_a_deleted_cluster_is_deregistered_last() {
    assert_eq!(
        swept(&sweep_of_node(leftover("prod", &[1]), &[1])),
        [Action::Deregister(instance("prod", 1)), Action::DeregisterNode(leftover("prod", &[1]))]
    );
}
