//! What Consul has lost of running tasks, or remembers wrongly.

use std::time::Duration;

use jiff::Timestamp;
use mesh::{
    catalog::{CheckStatus, HealthCheck, OtherService, ServiceInstance},
    consul_ecs::{
        Registrar, RegistrarContainer, Registration,
        names::{CLIENT, DATAPLANE, MESH_INIT},
    },
    definition::{ContainerDefinition, TaskDefinition},
    member::ConfigError,
    release::Release,
    repair::{Catalog, Difference, NodeReading, NotRepaired, REPAIR_TAG, Statuses},
    tags::Tags,
    task::{ContainerHealth, DescribedTask},
    tenancy::Tenancy,
    time::later,
};
use mesh_examples::{cluster, container, exited, member, registered, registered_by, running_task, task_id};

const CONFIG: &str = r#"{"service":{"port":80},"proxy":{},"healthSyncContainers":["app"]}"#;

fn definition() -> TaskDefinition {
    registered_by(MESH_INIT, Registrar::MeshInit, CONFIG)
}

fn client_agent() -> ContainerDefinition {
    ContainerDefinition { name: CLIENT.to_owned(), ..ContainerDefinition::default() }
}

/// A running task that is registered, and healthy.
fn task() -> DescribedTask {
    let healthy = |name| container(name, ContainerHealth::Healthy);
    running_task(1, vec![exited(MESH_INIT, 0), healthy("app"), healthy(DATAPLANE)])
}

fn expected_of(task: &DescribedTask, definition: &TaskDefinition) -> Result<Vec<Registration>, NotRepaired> {
    member(task.clone(), definition.clone()).expected()
}

/// The instance and the container of each check, and its status.
type Seen = Vec<(String, String, CheckStatus)>;

fn statuses(task: &DescribedTask, definition: &TaskDefinition) -> Seen {
    let expected = expected_of(task, definition).unwrap();
    let checks = expected.into_iter().flat_map(|registration| registration.checks);
    checks.map(|it| (it.service_name.clone(), it.container().unwrap().to_owned(), it.status)).collect()
}

fn passing(checks: &[Check]) -> Seen {
    let status = |it| if checks.contains(&it) { CheckStatus::Passing } else { CheckStatus::Critical };
    [APP, SERVICE, SIDECAR].map(|it| (it.0.to_owned(), it.1.to_owned(), status(it))).into()
}

type Check = (&'static str, &'static str);
const APP: Check = ("web", "app");
const SERVICE: Check = ("web", DATAPLANE);
const SIDECAR: Check = ("web-sidecar-proxy", DATAPLANE);

#[test]
fn checks_have_the_health_that_ecs_reports() {
    assert_eq!(statuses(&task(), &definition()), passing(&[APP, SERVICE, SIDECAR]));
    // Given an unhealthy app: the dataplane's checks depend on it since 0.9
    let mut ailing = task();
    ailing.containers[1].health = ContainerHealth::Unhealthy;
    assert_eq!(statuses(&ailing, &definition()), passing(&[]));
    let mut old = definition();
    old.programs.release = Some(Release::line(0, 8));
    assert_eq!(statuses(&ailing, &old), passing(&[SERVICE, SIDECAR]));
    // A container that has stopped, or is not there, is critical whatever its last health is
    let mut stopped = task();
    stopped.containers[1].is_stopped = true;
    assert_eq!(statuses(&stopped, &old), passing(&[SERVICE, SIDECAR]));
    stopped.containers.remove(1);
    assert_eq!(statuses(&stopped, &old), passing(&[SERVICE, SIDECAR]));
}

#[test]
fn configuration_and_region_of_the_task_replace_those_of_its_definition() {
    let mut task = task();
    let own =
        [("CONSUL_ECS_CONFIG_JSON", r#"{"service":{"name":"api","port":1},"proxy":{}}"#), ("AWS_REGION", "eu-west-1")];
    let own = own.map(|(name, value)| (name.to_owned(), value.to_owned()));
    task.placement.overrides.insert(MESH_INIT.to_owned(), own.into_iter().collect());
    let mut of_definition = definition();
    registrar(&mut of_definition).region = Some("us-west-2".to_owned());
    let expected = expected_of(&task, &of_definition).unwrap();
    assert_eq!(expected[0].name, "api");
    assert_eq!(expected[0].locality.as_ref().unwrap().region, "eu-west-1");
    // Fargate sets the region
    let on_ec2 = self::task();
    let mut on_fargate = on_ec2.clone();
    on_fargate.placement.is_on_fargate = true;
    on_fargate.placement.zone = Some("us-east-1a".to_owned());
    let locality = |task: &DescribedTask| {
        let registration = expected_of(task, &definition()).unwrap().remove(0);
        registration.locality.map(|locality| (locality.region, locality.zone))
    };
    let expected = ("us-east-1".to_owned(), Some("us-east-1a".to_owned()));
    assert_eq!((locality(&on_ec2), locality(&on_fargate)), (None, Some(expected)));
}

fn registrar(definition: &mut TaskDefinition) -> &mut RegistrarContainer {
    definition.programs.registrar.as_mut().unwrap()
}

fn configure(definition: &mut TaskDefinition, config: Option<&str>) {
    let registrar = registrar(definition);
    let region = registrar.region.take();
    *registrar = RegistrarContainer::new(&registrar.name, registrar.registrar, config);
    registrar.region = region;
}

#[test]
fn task_that_may_not_be_registered_or_is_not_known_in_full_is_left_alone() {
    let why = |change: fn(&mut DescribedTask, &mut TaskDefinition)| {
        let (mut task, mut definition) = (task(), definition());
        change(&mut task, &mut definition);
        expected_of(&task, &definition).unwrap_err()
    };
    let name = || MESH_INIT.to_owned();
    assert_eq!(why(|_, definition| definition.containers.push(client_agent())), NotRepaired::ClientAgent);
    assert_eq!(
        why(|_, definition| definition.programs.registrar = None),
        NotRepaired::Config(ConfigError::NoRegistrar)
    );
    assert_eq!(why(|task, _| task.last_status = "PENDING".to_owned()), NotRepaired::Starting(name()));
    assert_eq!(why(|task, _| task.containers[0].is_stopped = false), NotRepaired::Starting(name()));
    assert_eq!(why(|task, _| task.containers[0].exit_code = Some(1)), NotRepaired::Failed(name()));
    assert_eq!(why(|task, _| task.containers[0].exit_code = None), NotRepaired::Failed(name()));
    let failed_while_others_wait = why(|task, _| {
        task.last_status = "PENDING".to_owned();
        task.containers[0].exit_code = Some(1);
    });
    assert_eq!(failed_while_others_wait, NotRepaired::Failed(name()));
    assert_eq!(why(|task, _| task.placement.is_disconnected = true), NotRepaired::Disconnected);
    assert_eq!(why(|task, _| task.placement.address = None), NotRepaired::NoAddress);
    assert_eq!(why(|_, definition| registrar(definition).reads_more = true), ConfigError::ReadsMore(name()).into());
    assert_eq!(why(|_, definition| configure(definition, None)), ConfigError::None(name()).into());
    assert_eq!(
        why(|task, _| task.placement.rewritten = [MESH_INIT.to_owned()].into()),
        ConfigError::ReadsMore(name()).into()
    );
    assert_eq!(why(|task, _| task.tags = Tags::from_iter([(REPAIR_TAG, "off")])), NotRepaired::OptedOut);
    assert_eq!(why(|_, definition| definition.tags = Tags::from_iter([(REPAIR_TAG, "off")])), NotRepaired::OptedOut);
    let unknown = why(|_, definition| {
        configure(definition, Some(r#"{"service":{"port":1,"new":1},"proxy":{}}"#));
    });
    assert!(unknown.to_string().contains("service.new"), "{unknown}");
    let unreadable = why(|_, definition| {
        let config = r#"{"service":{"port":1},"proxy":{"config":{"envoy_listener":[{"filters":[null]}]}}}"#;
        configure(definition, Some(config));
    });
    assert!(unreadable.to_string().contains("null inside a list"), "{unreadable}");
    let other = why(|_, definition| {
        let config = format!(r#"{{"service":{{"port":1,"meta":{{"task-id":"{}"}}}},"proxy":{{}}}}"#, task_id(2));
        configure(definition, Some(&config));
    });
    assert_eq!(other, NotRepaired::OtherTaskId(task_id(2).to_string()));
}

#[test]
fn task_that_is_not_registered_after_a_quarter_of_an_hour_is_reported() {
    let created_at: Timestamp = "2026-11-01T12:00:00Z".parse().unwrap();
    let mut task = task();
    task.end.created_at = Some(created_at);
    let starting = NotRepaired::Starting("consul-ecs-control-plane".to_owned());
    assert!(starting.is_normal(&task, later(created_at, Duration::from_secs(899))));
    assert!(!starting.is_normal(&task, later(created_at, Duration::from_mins(15))));
}

#[test]
fn control_plane_has_registered_its_task_once_it_is_healthy() {
    let mut definition = definition();
    let registrar = definition.programs.registrar.as_mut().unwrap();
    registrar.registrar = Registrar::ControlPlane;
    let mut task = task();
    task.containers[0] = container(MESH_INIT, ContainerHealth::Unknown);
    let starting = NotRepaired::Starting(MESH_INIT.to_owned());
    assert_eq!(expected_of(&task, &definition), Err(starting));
    task.containers[0].health = ContainerHealth::Healthy;
    assert!(expected_of(&task, &definition).is_ok());
    task.containers[0].is_stopped = true;
    assert!(matches!(expected_of(&task, &definition), Err(NotRepaired::Stopped(_))));
}

fn node() -> NodeReading {
    NodeReading { cluster: cluster("prod"), tenancy: Tenancy::Community, exists: true, others: Vec::new() }
}

#[test]
fn difference_names_what_is_missing() {
    let expected = expected_of(&task(), &definition()).unwrap();
    let (instances, checks) = registered(&expected, &task().arn, CheckStatus::Passing);
    let difference = |nodes: &[NodeReading], instances: &[ServiceInstance], checks: &[HealthCheck]| {
        Catalog::new(nodes, instances, checks).difference(&expected)
    };
    assert_eq!(difference(&[node()], &instances, &checks), Some(Difference::default()));
    // A node that could not be read is not judged, one that is not there has nothing
    assert_eq!(difference(&[], &instances, &checks), None);
    let missing = NodeReading::missing(cluster("prod"), Tenancy::Community);
    assert_eq!(difference(&[missing], &[], &[]).unwrap().instances, expected);
    // One instance, with its checks
    let found = difference(&[node()], &instances[..1], &checks[..2]).unwrap();
    assert_eq!((found.instances, found.checks), (vec![expected[1].clone()], Vec::new()));
    // One whose ID an instance of another name or kind has
    for change in [|it: &mut ServiceInstance| it.name = "other".to_owned(), |it: &mut ServiceInstance| it.kind.clear()]
    {
        let mut instances = instances.clone();
        change(&mut instances[1]);
        assert_eq!(difference(&[node()], &instances, &checks).unwrap().instances, [expected[1].clone()]);
    }
    // One check
    let found = difference(&[node()], &instances, &checks[1..]).unwrap();
    assert_eq!((found.instances, found.checks), (Vec::new(), vec![expected[0].checks[0].clone()]));
}

/// What ECS contradicts of checks that all have this status.
fn compared(task: &DescribedTask, definition: &TaskDefinition, status: CheckStatus) -> Statuses {
    let member = member(task.clone(), definition.clone());
    let expected = member.expected().unwrap();
    let (instances, checks) = registered(&expected, &task.arn, status);
    member.statuses(&expected, &Catalog::new(&[node()], &instances, &checks))
}

#[test]
fn statuses_that_contradict_ecs_are_named_with_what_was_read() {
    let contradicting = compared(&task(), &definition(), CheckStatus::Critical).contradicting;
    assert_eq!(contradicting.len(), 3);
    let is_passing = |check: &HealthCheck| (check.status, check.modify_index) == (CheckStatus::Passing, 9);
    assert!(contradicting.iter().all(is_passing), "{contradicting:?}");
    assert_eq!(compared(&task(), &definition(), CheckStatus::Passing), Statuses::default());
}

#[test]
fn passing_check_of_a_container_with_unknown_health_is_left_and_reported() {
    let mut unknown = task();
    unknown.containers[1].health = ContainerHealth::Unknown;
    let statuses = compared(&unknown, &definition(), CheckStatus::Passing);
    assert_eq!(statuses.contradicting, []);
    let why = statuses.unconfirmed.unwrap();
    assert!(why.starts_with("ECS health status of container app: UNKNOWN; its check web-"), "{why}");
    // One that does not pass is what health-sync makes of it
    assert_eq!(compared(&unknown, &definition(), CheckStatus::Critical), Statuses::default());
    // A container that has stopped is not unknown
    unknown.containers[1].is_stopped = true;
    assert_eq!(compared(&unknown, &definition(), CheckStatus::Passing).contradicting[0].status, CheckStatus::Critical);
}

#[test]
fn app_lowers_no_check_of_the_dataplane_where_the_release_is_not_known() {
    let mut ailing = task();
    ailing.containers[1].health = ContainerHealth::Unhealthy;
    let lowered = |release: Option<Release>| {
        let mut definition = definition();
        definition.programs.release = release;
        compared(&ailing, &definition, CheckStatus::Passing).contradicting.len()
    };
    assert_eq!(lowered(Some(Release::line(0, 9))), 3);
    assert_eq!(lowered(None), 1, "only that of the app");
}

#[test]
fn instance_whose_metadata_replaces_the_task_id_is_not_missing_and_is_corrected() {
    // Given a configuration that sets the ID to a text that is not the ID of a task, and checks that contradict ECS
    let (task, mut definition) = (task(), definition());
    let config = CONFIG.replace(r#""port":80"#, r#""port":80,"meta":{"task-id":"blue"}"#);
    configure(&mut definition, Some(&config));
    let member = member(task, definition);
    let expected = member.expected().unwrap();
    let (_, checks) = registered(&expected, &member.task.arn, CheckStatus::Critical);
    let others = expected.iter().map(|it| OtherService {
        id: it.id.clone(),
        name: it.name.clone(),
        kind: it.kind.as_str().unwrap_or_default().to_owned(),
        tenancy: it.tenancy.clone(),
    });
    let nodes = [NodeReading { others: others.collect(), ..node() }];
    let catalog = Catalog::new(&nodes, &[], &checks);
    assert_eq!(catalog.difference(&expected), Some(Difference::default()));
    assert!(catalog.has_task(&task_id(1)) && !catalog.has_task(&task_id(2)));
    assert_eq!(member.statuses(&expected, &catalog).contradicting.len(), 3);
}
