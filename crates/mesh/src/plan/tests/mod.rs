//! Examples of plans for events, and builders for all tests of the plan.

use std::time::Duration;

use jiff::Timestamp;

use super::*;
use crate::{
    catalog::{CatalogNode, CheckStatus, DrainReason, Member},
    cluster_selection::ClusterSelection,
    consul_ecs::GatewayKind,
    definition::Losses,
    examples::{self, cluster, identity, instance, other_service, service, task, task_id},
    identity::{MeshIdentity, MeshService},
    idleness::TaskListing,
    lifecycle::Idle,
    secret::{Retirement, SecretState, StoredSecret, Trigger},
    secret_name::SecretNames,
    secret_reference::SecretReference,
    settings::TokenMode,
    tenancy::Tenancy,
    time::{Bounds, GracePeriod},
    token::{AccessorId, ListedToken, TokenPair},
};

mod catalog;
mod effects;
mod properties;
mod sweep;
mod world;

fn enterprise(partition: &str, namespace: &str) -> Tenancy {
    Tenancy::Enterprise { partition: partition.parse().unwrap(), namespace: namespace.parse().unwrap() }
}

fn login_token(cluster_name: &str, number: u8) -> ListedToken {
    logged_in(u128::from(number) + 1_000, cluster(cluster_name).as_str(), number)
}

/// The login token of a task, which named its cluster by `cluster_mark`.
fn logged_in(accessor: u128, cluster_mark: &str, number: u8) -> ListedToken {
    ListedToken { created_at: Some(seconds_ago(100_000)), ..examples::login_token(accessor, cluster_mark, number) }
}

fn token(accessor: u128, description: &str) -> ListedToken {
    ListedToken { created_at: Some(seconds_ago(100_000)), ..examples::token(accessor, description) }
}

/// A client agent with the services of these tasks of `prod` on its node.
fn agent(status: AgentStatus, tasks: &[u8]) -> ClientAgent {
    let name = "ip-10-0-0-7.ec2.internal".to_owned();
    let on_its_node = |number: &u8| ServiceInstance { node: name.clone(), ..instance("prod", *number) };
    let instances = tasks.iter().map(on_its_node).collect();
    ClientAgent {
        node: CatalogNode { instances, ..CatalogNode::default() },
        member: Member { name, status },
        tenancy: Tenancy::Community,
    }
}

/// The synthetic node of a cluster, with the services of these tasks.
fn leftover(cluster_name: &str, tasks: &[u8]) -> LeftoverNode {
    let instances = tasks.iter().map(|number| instance(cluster_name, *number)).collect();
    LeftoverNode {
        cluster: cluster(cluster_name),
        node: CatalogNode { is_synthetic: true, instances, ..CatalogNode::default() },
        tenancy: Tenancy::Community,
    }
}

fn names() -> SecretNames {
    SecretNames::new("consul-ecs".parse().unwrap(), None, Tenancy::Community, &clusters())
}

/// The current time in all examples.
fn now() -> Timestamp {
    Timestamp::from_second(1_000_000).unwrap()
}

/// The clusters of the deployment in all examples: one by name, one by a pattern.
fn clusters() -> ClusterSelection {
    examples::clusters("prod,te*")
}

fn seconds_ago(seconds: i64) -> Timestamp {
    Timestamp::from_second(now().as_second() - seconds).unwrap()
}

fn settings<'a>(mode: TokenMode, clusters: &'a ClusterSelection, names: &'a SecretNames) -> PlanSettings<'a> {
    PlanSettings {
        mode,
        clusters,
        names,
        grace: GracePeriod::from_secs(300),
        bounds: &Bounds::DEFAULT,
        unused_for: Duration::from_hours(24),
        trigger: Trigger::Sweep,
        now: now(),
    }
}

fn planned(observed: &Observed, mode: TokenMode) -> Vec<Planned> {
    plan(observed, settings(mode, &clusters(), &names()))
}

/// A secret with a token, older than every time bound.
fn naming(accessor: AccessorId, is_hidden: bool) -> StoredSecret {
    let pair = TokenPair { accessor, secret: secrecy::SecretString::from("s") };
    let state = if is_hidden { SecretState::Retiring(pair, Retirement::default()) } else { SecretState::Active(pair) };
    StoredSecret { state, is_ours: true, version: Some("v".to_owned()), written_at: Some(seconds_ago(10_000)) }
}

fn actions(observed: &Observed, mode: TokenMode) -> Vec<Action> {
    planned(observed, mode).into_iter().map(|planned| planned.action).collect()
}

#[test]
fn starting_task_requires_client_and_service_token() {
    let observed = Observed { tasks: vec![task("prod", 1, TaskPhase::Active, "web")], ..Observed::default() };
    assert_eq!(
        actions(&observed, TokenMode::SecretsManager),
        [
            Action::Provision(TokenHolder::Service(service("web"))),
            Action::Provision(TokenHolder::Client { tenancy: Tenancy::Community }),
        ]
    );
    assert_eq!(actions(&observed, TokenMode::AuthMethod), []);
}

#[test]
fn tasks_of_a_service_share_one_action() {
    let tasks = (1..=20).map(|number| task("prod", number, TaskPhase::Active, "web")).collect();
    let observed = Observed { tasks, ..Observed::default() };
    let planned = planned(&observed, TokenMode::SecretsManager);
    assert_eq!(planned.len(), 2);
    assert!(planned.iter().all(|planned| planned.tasks.len() == 20));
}

#[test]
fn gateway_gets_no_token() {
    let mut gateway = task("prod", 1, TaskPhase::Active, "edge");
    gateway.identity.as_mut().unwrap().gateway = Some(GatewayKind::ApiGateway);
    let observed = Observed { tasks: vec![gateway], ..Observed::default() };
    assert_eq!(actions(&observed, TokenMode::SecretsManager), []);
}

#[test]
fn only_entries_of_the_stopped_task_are_deleted() {
    let foreign = token(1, "token created via login: {\"consul.hashicorp.com/cluster\":\"prod\"}");
    let observed = Observed {
        tasks: vec![task("prod", 1, TaskPhase::Stopped, "web")],
        tokens: vec![login_token("prod", 1), login_token("prod", 2), login_token("test", 1), foreign],
        instances: vec![instance("prod", 1), instance("prod", 2), instance("test", 1)],
        ..Observed::default()
    };
    assert_eq!(
        actions(&observed, TokenMode::AuthMethod),
        [Action::DeleteLoginToken(login_token("prod", 1)), Action::Deregister(instance("prod", 1))]
    );
}

#[test]
fn service_token_requires_an_idle_check_in_both_modes() {
    let old = token(5, "Token for web service\nconsul.hashicorp.com/cluster: prod");
    let of_another_cluster = token(6, "Token for web service\nconsul.hashicorp.com/cluster: test");
    for service_token in [old, of_another_cluster] {
        let observed = Observed {
            tasks: vec![task("prod", 1, TaskPhase::Stopped, "web")],
            tokens: vec![service_token],
            ..Observed::default()
        };
        for mode in [TokenMode::SecretsManager, TokenMode::AuthMethod] {
            assert_eq!(actions(&observed, mode), [Action::CheckIdleness(TokenHolder::Service(service("web")))]);
        }
    }
}

#[test]
fn tokens_of_other_services_require_no_idle_check() {
    let observed = Observed {
        tasks: vec![task("prod", 1, TaskPhase::Stopped, "web")],
        tokens: vec![
            token(1, "Token for api service\nconsul.hashicorp.com/cluster: prod"),
            token(2, "Token for web service\nconsul.hashicorp.com/cluster: other"),
            token(3, "Token for web service"),
        ],
        ..Observed::default()
    };
    assert_eq!(actions(&observed, TokenMode::AuthMethod), []);
}

#[test]
fn every_stop_requires_an_idle_check_if_tokens_are_created() {
    let observed = Observed { tasks: vec![task("prod", 1, TaskPhase::Stopped, "web")], ..Observed::default() };
    assert_eq!(
        actions(&observed, TokenMode::SecretsManager),
        [Action::CheckIdleness(TokenHolder::Service(service("web")))]
    );
    assert_eq!(actions(&observed, TokenMode::AuthMethod), []);
}

#[test]
fn stopped_task_without_definition_is_deregistered_by_id() {
    let mut unknown = task("prod", 1, TaskPhase::Stopped, "web");
    unknown.identity = None;
    let observed = Observed { tasks: vec![unknown], instances: vec![instance("prod", 1)], ..Observed::default() };
    assert_eq!(actions(&observed, TokenMode::AuthMethod), [Action::Deregister(instance("prod", 1))]);
}

#[test]
fn alive_agent_of_a_stopped_task_is_checked_again() {
    let observed = Observed {
        tasks: vec![task("prod", 1, TaskPhase::Stopped, "web")],
        agents: vec![agent(AgentStatus::Alive, &[1])],
        ..Observed::default()
    };
    assert_eq!(
        actions(&observed, TokenMode::AuthMethod),
        [Action::AwaitAgent(agent(AgentStatus::Alive, &[1]))],
        "Consul may report the failure later"
    );
}

#[test]
fn agent_of_a_running_task_is_ignored() {
    for phase in [TaskPhase::Active, TaskPhase::Stopping] {
        for status in [AgentStatus::Alive, AgentStatus::Failed, AgentStatus::Left] {
            let observed = Observed {
                tasks: vec![task("prod", 1, phase, "web")],
                agents: vec![agent(status, &[1])],
                ..Observed::default()
            };
            assert_eq!(actions(&observed, TokenMode::AuthMethod), []);
        }
    }
}
