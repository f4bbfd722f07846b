//! Examples for the tests: what is read of a service with two healthy tasks.

use std::{collections::BTreeSet, sync::Arc};

use jiff::{SignedDuration, Timestamp};
use mesh::{
    admission::TokenFacts,
    arn::{ClusterArn, TaskId},
    catalog::CheckStatus,
    cluster_selection::ClusterSelection,
    consul_ecs::{
        Registrar, RegistrarContainer,
        names::{DATAPLANE, MESH_INIT},
    },
    definition::{ContainerDefinition, TaskDefinition},
    mark::TokenDescription,
    member::MemberTask,
    repair::NodeReading,
    secret_name::SecretNames,
    secret_reference::SecretReference,
    task::{ContainerHealth, DescribedTask},
    tenancy::Tenancy,
    token::{AccessorId, Grants, ListedToken, ServiceGrant},
};
use mesh_examples::{container, exited, member, registered, registered_by, running_task};
use observe::{
    CatalogReading, DeployedStack, InspectedCluster, MemberService, RunningService, ServiceState, UntaggedTask,
};
use uuid::Uuid;

use crate::Tokens;
use crate::doctor::{Check, CheckOutcome, Commands};

const CONFIG: &str =
    r#"{"service":{"name":"web","port":80},"proxy":{},"healthSyncContainers":["app"],"consulLogin":{"enabled":true}}"#;
pub(crate) const INIT: &str = MESH_INIT;

pub(crate) fn now() -> Timestamp {
    "2026-11-23T12:00:00Z".parse().unwrap()
}

pub(crate) fn minutes_ago(minutes: i64) -> Timestamp {
    now() - SignedDuration::from_mins(minutes)
}

pub(crate) fn cluster() -> ClusterArn {
    mesh_examples::cluster("prod")
}

pub(crate) fn id(number: u8) -> TaskId {
    mesh_examples::task_id(number.into())
}

pub(crate) fn definition() -> TaskDefinition {
    let image = |name: &str, image: &str| ContainerDefinition {
        name: name.to_owned(),
        image: Some(image.to_owned()),
        ..ContainerDefinition::default()
    };
    TaskDefinition {
        containers: vec![
            image("app", "example/app:1"),
            image(INIT, "hashicorp/consul-ecs:0.9.0"),
            image(DATAPLANE, "hashicorp/consul-dataplane:1.6.2"),
        ],
        ..registered_by(INIT, Registrar::MeshInit, CONFIG)
    }
}

/// The revision of a task, to be changed.
pub(crate) fn revision(member: &mut MemberTask) -> &mut TaskDefinition {
    Arc::make_mut(&mut member.definition)
}

/// A task of the cluster runs revision 4, which has lost the mesh tag of revision 3.
pub(crate) fn lose_tag(cluster: &mut InspectedCluster, number: u8) {
    let at = cluster.tasks.iter().position(|member| *member.task.arn.id() == id(number)).unwrap();
    let mut member = cluster.tasks.remove(at);
    let tagged = member.definition.arn.clone();
    revision(&mut member).arn = mesh_examples::definition_arn("web:4");
    cluster.others.insert(id(number));
    cluster.outside.tasks.push(Arc::clone(&member.task));
    cluster.untagged.push(UntaggedTask { member, tagged });
}

/// What ECS says of a task, to be changed.
pub(crate) fn described(member: &mut MemberTask) -> &mut DescribedTask {
    Arc::make_mut(&mut member.task)
}

/// The task reads its token from the secret `consul-ecs-web`.
pub(crate) fn read_token(member: &mut MemberTask) {
    let secret = SecretReference::parse("consul-ecs-web").unwrap();
    member.identity.secrets = [secret].into();
    revision(member).secrets = Arc::clone(&member.identity.secrets);
}

/// A task that has run for an hour, and is healthy.
pub(crate) fn task(number: u8) -> MemberTask {
    let healthy = |name| container(name, ContainerHealth::Healthy);
    let mut task = running_task(number.into(), vec![exited(INIT, 0), healthy("app"), healthy(DATAPLANE)]);
    task.placement.service = Some("web".to_owned());
    (task.end.created_at, task.end.started_at) = (Some(minutes_ago(60)), Some(minutes_ago(59)));
    member(task, definition())
}

/// Gives the task another configuration.
pub(crate) fn configure(member: &mut MemberTask, config: &str) {
    let definition = revision(member);
    definition.config = Some(config.into());
    let registrar = definition.programs.registrar.take();
    definition.programs.registrar = registrar.map(|it| RegistrarContainer::new(it.name, it.registrar, Some(config)));
}

/// The description of the login token of a task that names this cluster.
pub(crate) fn login_description(cluster: &str, number: u8) -> TokenDescription {
    let meta = serde_json::json!({ "consul.hashicorp.com/cluster": cluster, "consul.hashicorp.com/task-id": id(number).as_str() });
    format!("token created via login: {meta}").into()
}

/// The token of a task that has logged in as its service.
pub(crate) fn login_token(number: u8) -> ListedToken {
    let web = ServiceGrant { service: "web".to_owned(), datacenters: Vec::new() };
    ListedToken {
        accessor: AccessorId::new(Uuid::from_u128(u128::from(number))),
        description: login_description(cluster().as_str(), number),
        auth_method: Some("iam-ecs-service-token".to_owned()),
        is_local: true,
        grants: Grants { services: vec![web], ..Grants::default() },
        created_at: Some(minutes_ago(59)),
        expires_at: None,
        tenancy: Tenancy::Community,
    }
}

/// These tokens, in the datacenter `dc1`.
pub(crate) fn tokens(listed: Vec<ListedToken>) -> Tokens {
    let facts = TokenFacts { datacenter: "dc1".to_owned(), ..TokenFacts::default() };
    Tokens { listed, facts: Ok(Some(facts)), consul_hosts: BTreeSet::new() }
}

/// What `mesh-init` has registered for a task, with this status of each check.
pub(crate) fn register(catalog: &mut CatalogReading, number: u8, status: CheckStatus) {
    let task = task(number);
    let (instances, checks) = registered(&task.expected().unwrap(), &task.task.arn, status);
    catalog.instances.extend(instances);
    catalog.checks.extend(checks);
}

/// A cluster with an ECS service that wants two tasks, and has two healthy ones.
pub(crate) fn healthy() -> InspectedCluster {
    let node = NodeReading { exists: true, ..NodeReading::missing(cluster(), Tenancy::Community) };
    let mut catalog = CatalogReading { nodes: vec![node], ..CatalogReading::default() };
    for number in [1, 2] {
        register(&mut catalog, number, CheckStatus::Passing);
    }
    let state = ServiceState {
        name: "web".to_owned(),
        definition: Some(definition().arn),
        desired: 2,
        deployed_at: Some(minutes_ago(61)),
        trouble: None,
        runs_on: BTreeSet::new(),
        events: Vec::new(),
        deployments: Vec::new(),
        rollout: None,
        is_express: false,
        audited: RunningService::default(),
        balanced: Vec::new(),
    };
    let MemberTask { identity, definition: revision, .. } = task(1);
    InspectedCluster {
        services: vec![MemberService { state, identity, definition: revision }],
        tasks: vec![task(1), task(2)],
        catalog: Some(catalog),
        ..empty_cluster([Arc::new(definition())])
    }
}

/// A cluster whose definitions could be read: these.
pub(crate) fn empty_cluster(definitions: impl IntoIterator<Item = Arc<TaskDefinition>>) -> InspectedCluster {
    let home = ClusterSelection::parse(cluster().as_str(), None).unwrap();
    let names = SecretNames::new("consul-ecs".parse().unwrap(), None, Tenancy::Community, &home);
    InspectedCluster::new(cluster(), names, definitions.into_iter().collect())
}

/// The commands of a person whose stack is `mesh`.
pub(crate) fn commands() -> Commands {
    Commands { stack: "mesh".to_owned(), region: "us-east-1".to_owned(), profile: None }
}

pub(crate) fn stack(name: &str, parameters: &[(&str, &str)]) -> DeployedStack {
    let parameters = parameters.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    DeployedStack {
        name: name.to_owned(),
        status: "CREATE_COMPLETE".to_owned(),
        reason: None,
        parameters: parameters.collect(),
    }
}

/// Asserts what a check says: its outcome, a part of what it saw, and how its first commands begin.
#[track_caller]
pub(crate) fn assert_check(check: &Check, outcome: CheckOutcome, seen: &str, commands: &[&str]) {
    assert!(check.outcome == outcome && check.seen.contains(seen), "{outcome:?}, {seen}: {check:?}");
    let begins = |(at, begin): (usize, &&str)| check.commands.get(at).is_some_and(|it| it.starts_with(begin));
    assert!(commands.iter().enumerate().all(begins), "{commands:?}: {check:?}");
}
