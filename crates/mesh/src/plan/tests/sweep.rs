//! Examples of what a sweep finds: idle services, dead agents, nodes of deleted clusters.

use super::*;
use crate::mark::marked_unused;

/// The whole grace period is 300 seconds, the quiet time in it 270.
const LONG_AGO: i64 = 1_000;

/// The token of a service, as this controller marks it, and as the one in `tenancy`.
fn service_token(tenancy: &Tenancy, name: &str) -> ListedToken {
    let service = MeshService { tenancy: tenancy.clone(), name: name.parse().unwrap() };
    let holder = TokenHolder::Service(service);
    let description = holder.token_description(&cluster("prod"));
    ListedToken { tenancy: tenancy.clone(), ..token(77, &description) }
}

fn pre_provisioned(name: &str, hours_ago: i64) -> ListedToken {
    let token = service_token(&Tenancy::Community, name);
    let description = marked_unused(&token.description, seconds_ago(hours_ago * 3_600));
    ListedToken { description, ..token }
}

/// A task of any cluster, as the sweep judges idleness by it.
fn service_task(name: &str, phase: TaskPhase, stopped: Option<i64>) -> ServiceTask {
    ServiceTask {
        arn: TaskArn::in_cluster(&cluster("test"), &task_id(9)),
        phase,
        stopped_at: stopped.map(seconds_ago),
        services: vec![service(name)],
    }
}

/// What a sweep saw: each service's secret names its first token.
fn sweep_of(tokens: Vec<ListedToken>, all_tasks: Vec<ServiceTask>) -> Observed {
    let mut secrets = BTreeMap::new();
    for token in &tokens {
        if let Some(name) = HolderMark::parse(&token.description).and_then(|mark| mark.service) {
            let holder = TokenHolder::Service(MeshService { tenancy: token.tenancy.clone(), name });
            secrets.entry(holder).or_insert_with(|| naming(token.accessor, false));
        }
    }
    let listing = TaskListing { listed_at: now(), tasks: all_tasks };
    Observed { tokens, secrets, extent: Extent::Clusters(Some(listing)), ..Observed::default() }
}

/// The hiding of a service's token, which no task has used as far as ECS shows.
fn hides(service: MeshService) -> Vec<Action> {
    vec![Action::Hide(service, Idle { retirement: never_used(), listed_at: now() })]
}

fn never_used() -> Retirement {
    Retirement { trigger: Some(Trigger::Sweep), ..Retirement::default() }
}

/// What a sweep does, which is the same in both modes where no task is active.
fn swept(observed: &Observed) -> Vec<Action> {
    let actions = actions(observed, TokenMode::AuthMethod);
    assert_eq!(actions, super::actions(observed, TokenMode::SecretsManager));
    actions
}

#[test]
fn a_service_without_tasks_loses_its_token() {
    let token = service_token(&Tenancy::Community, "web");
    for all_tasks in [vec![], vec![service_task("api", TaskPhase::Active, None)]] {
        assert_eq!(swept(&sweep_of(vec![token.clone()], all_tasks)), hides(service("web")));
    }
    let stopped = service_task("web", TaskPhase::Stopped, Some(LONG_AGO));
    let (idle_since, last_task) = (Some(seconds_ago(LONG_AGO)), Some(stopped.arn.clone()));
    let retirement = Retirement { trigger: Some(Trigger::Sweep), idle_since, last_task };
    let idle = Idle { retirement, listed_at: now() };
    assert_eq!(swept(&sweep_of(vec![token], vec![stopped])), [Action::Hide(service("web"), idle)]);
}

#[test]
fn a_service_whose_tasks_could_not_all_be_read_keeps_its_token() {
    let token = service_token(&Tenancy::Community, "web");
    let observed = Observed { extent: Extent::Clusters(None), ..sweep_of(vec![token.clone()], vec![]) };
    assert_eq!(swept(&observed), []);
    let unread = Observed { secrets: BTreeMap::new(), ..sweep_of(vec![token], vec![]) };
    assert_eq!(swept(&unread), [], "nor one whose secret could not be read");
}

#[test]
fn a_service_whose_last_task_stopped_a_moment_ago_keeps_its_token() {
    let token = service_token(&Tenancy::Community, "web");
    let stopped = |seconds| vec![service_task("web", TaskPhase::Stopped, Some(seconds))];
    assert_eq!(swept(&sweep_of(vec![token.clone()], stopped(269))), []);
    assert!(matches!(swept(&sweep_of(vec![token], stopped(270)))[..], [Action::Hide(..)]));
}

#[test]
fn a_service_whose_token_was_shown_a_moment_ago_keeps_it_though_no_task_was_seen() {
    let shown = |seconds| {
        let mut observed = sweep_of(vec![service_token(&Tenancy::Community, "web")], vec![]);
        observed.secrets.values_mut().for_each(|secret| secret.written_at = seconds);
        observed
    };
    assert_eq!(swept(&shown(Some(seconds_ago(2_699)))), [], "tasks were listed before");
    assert_eq!(swept(&shown(None)), [], "nobody knows how long ago");
    assert_eq!(swept(&shown(Some(seconds_ago(2_700)))), hides(service("web")));
}

#[test]
fn a_token_that_its_secret_does_not_name_goes_when_the_service_is_idle() {
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
fn a_secret_that_somebody_has_emptied_shows_the_newest_token_again_instead_of_a_new_one() {
    let old = service_token(&Tenancy::Community, "web");
    let new = ListedToken { accessor: token(78, "").accessor, created_at: Some(seconds_ago(500)), ..old.clone() };
    let mut observed = sweep_of(vec![old, new.clone()], vec![service_task("web", TaskPhase::Active, None)]);
    observed.tasks.push(task("prod", 1, TaskPhase::Active, "web"));
    let emptied = StoredSecret { state: SecretState::Empty, is_ours: false, ..naming(new.accessor, false) };
    observed.secrets.values_mut().for_each(|secret| *secret = emptied.clone());
    let actions = super::actions(&observed, TokenMode::SecretsManager);
    let shown = Action::ShowOrphan(TokenHolder::Service(service("web")), new);
    assert_eq!(actions, [shown, Action::Provision(TokenHolder::Client { tenancy: Tenancy::Community })]);
    // Other clusters need not be read for that
    observed.extent = Extent::Clusters(None);
    assert_eq!(super::actions(&observed, TokenMode::SecretsManager), actions);
}

#[test]
fn where_tasks_log_in_a_hidden_token_is_shown_to_those_that_still_read_it() {
    let token = service_token(&Tenancy::Community, "web");
    let mut observed = sweep_of(vec![token.clone()], vec![service_task("web", TaskPhase::Active, None)]);
    observed.secrets.values_mut().for_each(|secret| *secret = naming(token.accessor, true));
    let actions = super::actions(&observed, TokenMode::AuthMethod);
    assert_eq!(actions, [Action::Provision(TokenHolder::Service(service("web")))]);
}

#[test]
fn a_service_with_a_living_task_in_any_cluster_keeps_its_token() {
    let token = service_token(&Tenancy::Community, "web");
    for phase in [TaskPhase::Active, TaskPhase::Stopping] {
        assert_eq!(swept(&sweep_of(vec![token.clone()], vec![service_task("web", phase, None)])), []);
    }
}

#[test]
fn a_token_made_ahead_waits_a_day_for_its_first_task() {
    assert_eq!(swept(&sweep_of(vec![pre_provisioned("web", 23)], vec![])), []);
    assert_eq!(swept(&sweep_of(vec![pre_provisioned("web", 24)], vec![])), hides(service("web")));
}

#[test]
fn a_token_of_another_tenancy_is_untouched() {
    let elsewhere = enterprise("team-a", "web");
    let strayed = ListedToken { tenancy: elsewhere.clone(), ..service_token(&Tenancy::Community, "web") };
    assert_eq!(swept(&sweep_of(vec![strayed], vec![])), [], "its marks say that it belongs somewhere else");

    let token = service_token(&elsewhere, "web");
    let idle = MeshService { tenancy: elsewhere, ..service("web") };
    let namesake = service_task("web", TaskPhase::Active, None);
    assert_eq!(swept(&sweep_of(vec![token], vec![namesake])), hides(idle), "but not one's own");
}

#[test]
fn what_another_controller_or_a_person_made_is_untouched() {
    let foreign = "arn:aws:ecs:us-east-1:999999999999:cluster/prod";
    let tokens = vec![
        token(1, "Token for web service\nconsul.hashicorp.com/cluster: other"),
        token(2, &format!("Token for web service\nconsul.hashicorp.com/cluster: {foreign}")),
        token(3, "Token for web service"),
        token(4, "Token for consul-client\nconsul.hashicorp.com/cluster: prod"),
        token(5, "by hand"),
        token(6, &login_description(foreign, 1)),
    ];
    let observed = Observed { tasks: vec![task("prod", 1, TaskPhase::Stopped, "web")], ..sweep_of(tokens, vec![]) };
    assert_eq!(swept(&observed), []);
}

fn sweep_of_agent(agent: ClientAgent, stopped: &[u8]) -> Observed {
    let tasks = stopped.iter().map(|number| task("prod", *number, TaskPhase::Stopped, "web")).collect();
    Observed { tasks, agents: vec![agent], ..sweep_of(vec![], vec![]) }
}

#[test]
fn an_agent_that_died_with_all_its_tasks_is_forgotten() {
    let dead = agent(AgentStatus::Failed, &[1, 1, 2]);
    assert_eq!(swept(&sweep_of_agent(dead.clone(), &[1, 2])), [Action::ForceLeave(dead)]);
}

#[test]
fn a_task_asks_once_for_the_burial_of_its_agent() {
    let dead = agent(AgentStatus::Failed, &[1, 2, 1]);
    let planned = planned(&sweep_of_agent(dead, &[1, 2]), TokenMode::AuthMethod);
    assert_eq!(planned[0].tasks.len(), 2, "{:?}", planned[0].tasks);
}

#[test]
fn a_sweep_waits_for_no_agent() {
    for status in [AgentStatus::Alive, AgentStatus::Left] {
        assert_eq!(swept(&sweep_of_agent(agent(status, &[1]), &[1])), []);
    }
}

#[test]
fn an_agent_that_hosts_anything_else_stays() {
    let mut shared = agent(AgentStatus::Failed, &[1]);
    shared.node.others.push("postgres".to_owned());
    let mut synthetic = agent(AgentStatus::Failed, &[1]);
    synthetic.node.is_synthetic = true;
    let of_a_task_that_nobody_knows = agent(AgentStatus::Failed, &[1, 2]);
    let bare = agent(AgentStatus::Failed, &[]);
    for agent in [shared, synthetic, of_a_task_that_nobody_knows, bare] {
        assert_eq!(swept(&sweep_of_agent(agent, &[1])), []);
    }
}

#[test]
fn an_agent_whose_services_do_not_name_our_cluster_stays() {
    let id = task_id(1);
    let arns = [
        None,
        // The old shape names no cluster.
        Some(format!("arn:aws:ecs:us-east-1:123456789012:task/{id}")),
        Some(format!("arn:aws:ecs:us-east-1:123456789012:task/test/{id}")),
        Some(format!("arn:aws:ecs:us-east-1:999999999999:task/prod/{id}")),
        Some(format!("arn:aws:ecs:eu-west-1:123456789012:task/prod/{id}")),
        // Another task than its ID says.
        Some(format!("arn:aws:ecs:us-east-1:123456789012:task/prod/{}", task_id(2))),
    ];
    for arn in arns {
        let mut dead = agent(AgentStatus::Failed, &[1]);
        dead.node.instances[0].task_arn = arn.map(|arn| arn.parse().unwrap());
        assert_eq!(swept(&sweep_of_agent(dead.clone(), &[1])), [], "{:?}", dead.node.instances[0].task_arn);
    }
}

fn sweep_of_node(node: LeftoverNode, stopped: &[u8]) -> Observed {
    let tasks = stopped.iter().map(|number| task("prod", *number, TaskPhase::Stopped, "web")).collect();
    Observed { tasks, instances: node.node.instances.clone(), leftover_nodes: vec![node], ..sweep_of(vec![], vec![]) }
}

#[test]
fn the_node_of_a_deleted_cluster_goes_after_its_services() {
    assert_eq!(
        swept(&sweep_of_node(leftover("prod", &[1]), &[1])),
        [Action::Deregister(instance("prod", 1)), Action::DeregisterNode(leftover("prod", &[1]))]
    );
}

#[test]
fn a_deleted_cluster_s_node_with_a_stranger_s_service_stays() {
    let mut shared = leftover("prod", &[]);
    shared.node.others.push("postgres".to_owned());
    let mut real = leftover("prod", &[]);
    real.node.is_synthetic = false;
    for node in [shared, real] {
        assert_eq!(swept(&sweep_of_node(node, &[])), []);
    }
}

#[test]
fn a_node_with_a_service_of_a_task_that_nobody_called_stopped_stays() {
    assert_eq!(
        swept(&sweep_of_node(leftover("prod", &[1, 2]), &[1])),
        [Action::Deregister(instance("prod", 1))],
        "task 2 would lose its service with the node"
    );
}
