//! Examples of allowed and stopped deletions.

use proptest::prelude::*;

use super::*;
use crate::{
    arn::TaskArn,
    catalog::DrainReason,
    definition::Losses,
    examples::{cluster, instance, service, task_id},
    mark::marked_unused,
    tenancy::Tenancy,
    token::TokenHolder,
};

mod world;

use world::{agent, instances, login_token, login_tokens, node, plan_of, retirement_of, service_token, token};

/// The result for `prod`, of which ECS lists one task.
fn verdict(observed: &Observed, actions: impl IntoIterator<Item = Action>, percent: u8) -> Result<(), Alarm> {
    super::check(&plan_of(actions), observed, &cluster("prod"), 1, MaxDeletePercent::new(percent).unwrap())
}

/// The result if `deleted` of `owned` login tokens of `prod` are deleted.
fn of_tokens(owned: u8, deleted: u8, percent: u8) -> Result<(), Alarm> {
    let observed = Observed { tokens: login_tokens("prod", owned), ..Observed::default() };
    verdict(&observed, login_tokens("prod", deleted).into_iter().map(Action::DeleteLoginToken), percent)
}

/// The result if `deleted` of `owned` services on the node of `prod` are deleted.
fn of_services(owned: u8, deleted: u8, percent: u8) -> Result<(), Alarm> {
    let observed = Observed { instances: instances("prod", owned), ..Observed::default() };
    verdict(&observed, instances("prod", deleted).into_iter().map(Action::Deregister), percent)
}

fn too_many(what: &'static str, deleted: usize, owned: usize, percent: u8) -> Result<(), Alarm> {
    Err(Alarm::TooMany { what, deleted, owned, percent })
}

#[test]
fn fewer_than_ten_may_all_be_deleted() {
    assert_eq!(of_tokens(9, 9, 0), Ok(()));
    assert_eq!(of_services(9, 9, 0), Ok(()));
    assert_eq!(of_tokens(10, 10, 50), too_many("tokens", 10, 10, 50));
    assert_eq!(of_services(10, 10, 50), too_many("services", 10, 10, 50));
}

#[test]
fn limit_is_allowed_and_one_more_is_not() {
    assert_eq!(of_tokens(20, 10, 50), Ok(()));
    assert_eq!(of_tokens(20, 11, 50), too_many("tokens", 11, 20, 50));
    assert_eq!(of_services(20, 10, 50), Ok(()));
    assert_eq!(of_services(20, 11, 50), too_many("services", 11, 20, 50));
}

#[test]
fn share_is_not_rounded_down() {
    assert_eq!(of_tokens(11, 5, 50), Ok(()));
    assert_eq!(of_tokens(11, 6, 50), too_many("tokens", 6, 11, 50));
}

#[test]
fn limit_of_zero_and_of_a_hundred() {
    assert_eq!(of_tokens(10, 0, 0), Ok(()));
    assert_eq!(of_tokens(10, 1, 0), too_many("tokens", 1, 10, 0));
    assert_eq!(of_services(10, 1, 0), too_many("services", 1, 10, 0));
    assert_eq!(of_tokens(10, 10, 100), Ok(()));
    assert_eq!(of_services(10, 10, 100), Ok(()));
    assert_eq!(MaxDeletePercent::new(101), None);
}

/// The result if ECS lists no task of `prod`, and nothing is deleted.
fn with_nothing_listed(observed: &Observed) -> Result<(), Alarm> {
    super::check(&[], observed, &cluster("prod"), 0, MaxDeletePercent::new(100).unwrap())
}

#[test]
fn empty_listing_of_a_used_cluster_trips_the_guard() {
    let one_login = Observed { tokens: login_tokens("prod", 1), ..Observed::default() };
    let one_used = Observed { tokens: vec![service_token("prod", 1, "web")], ..Observed::default() };
    let one_service = Observed { instances: instances("prod", 1), ..Observed::default() };
    for observed in [one_login, one_used, one_service] {
        assert_eq!(with_nothing_listed(&observed), Err(Alarm::NothingListed { owned: 1 }), "even for one object");
    }
    let twenty = Observed { tokens: login_tokens("prod", 12), instances: instances("prod", 8), ..Observed::default() };
    assert_eq!(with_nothing_listed(&twenty), Err(Alarm::NothingListed { owned: 20 }));
}

#[test]
fn empty_listing_with_unused_tokens_is_allowed() {
    let token = service_token("prod", 1, "web");
    let description = marked_unused(&token.description, "2026-01-01T00:00:00Z".parse().unwrap());
    let unused = Observed { tokens: vec![ListedToken { description, ..token }], ..Observed::default() };
    assert_eq!(with_nothing_listed(&unused), Ok(()));
    assert_eq!(with_nothing_listed(&Observed::default()), Ok(()));
}

#[test]
fn objects_of_another_cluster_do_not_count() {
    let mut tokens = login_tokens("test", 20);
    tokens.push(token(99, "by hand"));
    let observed = Observed { tokens: tokens.clone(), instances: instances("test", 20), ..Observed::default() };
    assert_eq!(with_nothing_listed(&observed), Ok(()));
    let all = tokens.into_iter().map(Action::DeleteLoginToken);
    assert_eq!(verdict(&observed, all.chain(instances("test", 20).into_iter().map(Action::Deregister)), 0), Ok(()));
}

#[test]
fn share_is_that_of_one_cluster() {
    let both = [login_tokens("prod", 10), (20..90).map(|number| login_token("test", number)).collect()];
    let observed = Observed { tokens: both.concat(), ..Observed::default() };
    let deleted = login_tokens("prod", 6).into_iter().map(Action::DeleteLoginToken);
    assert_eq!(verdict(&observed, deleted, 50), too_many("tokens", 6, 10, 50));
}

#[test]
fn token_listed_twice_counts_once() {
    let in_default = Tenancy::default_namespace_of("default".parse().unwrap());
    let again = login_tokens("prod", 10).into_iter().map(|token| ListedToken { tenancy: in_default.clone(), ..token });
    let tokens: Vec<_> = login_tokens("prod", 10).into_iter().chain(again).collect();
    let observed = Observed { tokens, ..Observed::default() };
    let deleted = login_tokens("prod", 6).into_iter().map(Action::DeleteLoginToken);
    assert_eq!(verdict(&observed, deleted, 50), too_many("tokens", 6, 10, 50));
}

#[test]
fn revocation_counts_tokens_of_the_cluster() {
    let webs = (0..6).map(|number| service_token("prod", number, "web"));
    let apis = (6..12).map(|number| service_token("prod", number, "api"));
    let elsewhere = (12..20).map(|number| service_token("test", number, "web"));
    let strayed = ListedToken {
        tenancy: Tenancy::default_namespace_of("team-a".parse().unwrap()),
        ..service_token("prod", 20, "web")
    };
    let tokens = webs.chain(apis).chain(elsewhere).chain([strayed]).collect();
    let observed = Observed { tokens, ..Observed::default() };
    assert_eq!(verdict(&observed, [retirement_of("web")], 40), too_many("tokens", 6, 13, 40));
    assert_eq!(verdict(&observed, [retirement_of("web")], 47), Ok(()));
    let both = ["web", "api", "web"].map(retirement_of);
    assert_eq!(verdict(&observed, both, 50), too_many("tokens", 12, 13, 50));
}

#[test]
fn services_of_client_agents_count_as_well() {
    // One service on the node of the cluster; on that of a failed agent twelve, and three of another cluster
    let failed = agent([instances("prod", 12), instances("test", 3)].concat());
    let observed =
        Observed { instances: vec![instance("prod", 20)], agents: vec![failed.clone()], ..Observed::default() };
    assert_eq!(verdict(&observed, [Action::ForceLeave(failed.clone())], 90), too_many("services", 12, 13, 90));
    assert_eq!(verdict(&observed, [Action::ForceLeave(failed.clone())], 93), Ok(()));
    // An empty listing of ECS trips the guard
    let only_agents = Observed { agents: vec![failed], ..Observed::default() };
    let verdict = super::check(&[], &only_agents, &cluster("prod"), 0, MaxDeletePercent::new(100).unwrap());
    assert_eq!(verdict, Err(Alarm::NothingListed { owned: 12 }));
}

#[test]
fn few_failed_agents_are_no_alarm() {
    // Six stopped tasks with failed agents and thirty active ones: 12 services of 72
    let failed = agent(instances("prod", 12));
    let active = |number| MeshTask {
        arn: TaskArn::in_cluster(&cluster("prod"), &task_id(number)),
        cluster: cluster("prod"),
        phase: TaskPhase::Active,
        tenancy: Tenancy::Community,
        identity: None,
        runs_client_agent: true,
        losses: Losses::default(),
    };
    let observed =
        Observed { agents: vec![failed.clone()], tasks: (100..130).map(active).collect(), ..Observed::default() };
    assert_eq!(verdict(&observed, [Action::ForceLeave(failed.clone())], 30), Ok(()));
    assert_eq!(verdict(&observed, [Action::ForceLeave(failed)], 10), too_many("services", 12, 72, 10));
}

#[test]
fn deletion_concerns_the_cluster_of_the_object() {
    let of = |name: &str| {
        [
            Action::DeleteLoginToken(login_token(name, 1)),
            Action::Deregister(instance(name, 1)),
            Action::ForceLeave(agent(vec![instance(name, 1)])),
            Action::DeregisterNode(node(name)),
        ]
    };
    for action in of("prod") {
        assert!(concerns(&action, &cluster("prod")) && !concerns(&action, &cluster("test")), "{action:?}");
    }
    let shared = Action::ForceLeave(agent(vec![instance("prod", 1), instance("test", 2)]));
    let revocation = retirement_of("web");
    for action in [shared, revocation] {
        assert!(concerns(&action, &cluster("prod")) && concerns(&action, &cluster("test")), "{action:?}");
    }
}

/// Actions that delete nothing.
fn harmless() -> [Action; 4] {
    [
        Action::Provision(TokenHolder::Service(service("web"))),
        Action::MarkCritical(instance("prod", 1), DrainReason::Stopping),
        Action::AwaitAgent(agent(instances("prod", 1))),
        Action::CheckIdleness(TokenHolder::Service(service("web"))),
    ]
}

#[test]
fn action_without_deletion_concerns_no_cluster() {
    for action in harmless() {
        assert!(!action.deletes() && !concerns(&action, &cluster("prod")), "{action:?}");
    }
}

proptest! {
    /// A plan without deletions is allowed if ECS lists any task.
    #[test]
    fn plan_without_deletions_is_allowed(
        logins in 0u8..40, services in 0u8..40, listed in 1usize..5, percent in 0u8..=100, of_test in any::<bool>(),
    ) {
        let name = if of_test { "test" } else { "prod" };
        let observed =
            Observed { tokens: login_tokens(name, logins), instances: instances(name, services), ..Observed::default() };
        let limit = MaxDeletePercent::new(percent).unwrap();
        prop_assert_eq!(super::check(&plan_of(harmless()), &observed, &cluster("prod"), listed, limit), Ok(()));
    }
}
