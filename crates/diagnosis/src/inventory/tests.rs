//! Examples: what is read of a cluster, and its rows.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use aws::ecs::TaskHistory;
use mesh::{
    arn::{ClusterArn, TaskArn, TaskId},
    consul_ecs::{Programs, Registrar, RegistrarContainer},
    definition::{Tags, TaskDefinition},
    task::{DescribedTask, Placement},
    tenancy::Tenancy,
};

use super::*;
use crate::{
    observed::{Member, MemberService, Outside, OutsideService, OutsideTask},
    tokens::TokenSource,
};

fn now() -> Timestamp {
    "2026-11-23T12:00:00Z".parse().unwrap()
}

fn cluster_arn() -> ClusterArn {
    "arn:aws:ecs:us-east-1:123456789012:cluster/prod".parse().unwrap()
}

fn definition(revision: &str, images: &[(&str, &str)], is_in_app_mesh: bool) -> Arc<DefinitionState> {
    let is_init = |(name, _): &&(&str, &str)| *name == "consul-ecs-mesh-init";
    let registrar = images.iter().find(is_init).map(|(name, _)| RegistrarContainer {
        name: (*name).to_owned(),
        registrar: Registrar::MeshInit,
        config_json: None,
        region: None,
        reads_more: false,
    });
    Arc::new(DefinitionState {
        definition: Arc::new(TaskDefinition {
            arn: format!("arn:aws:ecs:us-east-1:123456789012:task-definition/{revision}").parse().unwrap(),
            tags: Tags::default(),
            config_json: None,
            containers: images.iter().map(|(name, _)| (*name).to_owned()).collect(),
            secrets: Vec::new(),
            programs: Programs { registrar, ..Programs::default() },
            task_role: None,
        }),
        images: images.iter().map(|(name, image)| ((*name).to_owned(), (*image).to_owned())).collect(),
        is_in_app_mesh,
        registered_at: None,
        logs: BTreeMap::new(),
    })
}

fn dataplane(revision: &str, release: &str) -> Arc<DefinitionState> {
    let consul_ecs = format!("hashicorp/consul-ecs:{release}");
    let images =
        [("consul-ecs-mesh-init", consul_ecs.as_str()), ("consul-dataplane", "hashicorp/consul-dataplane:1.6.2")];
    definition(revision, &images, false)
}

fn task(number: u8, definition: &DefinitionState, service: Option<&str>, phase: TaskPhase) -> TaskState {
    let id: TaskId = format!("{number:032x}").parse().unwrap();
    let task = DescribedTask {
        is_counted: true,
        arn: TaskArn::in_cluster(&cluster_arn(), &id),
        definition: definition.definition.arn.clone(),
        phase,
        tags: Tags::default(),
        stopped_at: None,
        containers: Vec::new(),
        placement: Placement { service: service.map(str::to_owned), ..Placement::default() },
    };
    TaskState {
        task,
        last_status: "RUNNING".to_owned(),
        failure: None,
        runs_on: Some("FARGATE_SPOT".to_owned()),
        history: TaskHistory::default(),
    }
}

fn service(name: &str, definition: &DefinitionState, desired: usize) -> ServiceState {
    ServiceState {
        name: name.to_owned(),
        definition: Some(definition.definition.arn.clone()),
        desired,
        deployed_at: None,
        trouble: None,
        runs_on: BTreeSet::from(["FARGATE".to_owned()]),
        events: Vec::new(),
        deployments: Vec::new(),
    }
}

fn web() -> MeshService {
    MeshService { tenancy: Tenancy::Community, name: "web".parse().unwrap() }
}

fn member(number: u8, definition: &Arc<DefinitionState>, phase: TaskPhase) -> Member {
    Member {
        state: task(number, definition, Some("web"), phase),
        service: web(),
        definition: Arc::clone(definition),
        token: TokenSource::None,
        is_enterprise: false,
    }
}

fn cluster() -> ObservedCluster {
    ObservedCluster {
        arn: cluster_arn(),
        services: Vec::new(),
        tasks: Vec::new(),
        others: BTreeSet::new(),
        unsorted: BTreeSet::new(),
        outside: Outside::default(),
        controllers: Vec::new(),
        catalog: None,
    }
}

fn rows(cluster: ObservedCluster) -> Vec<InventoryRow> {
    inventory(&Observed { clusters: vec![cluster], problems: Vec::new() }, None, now()).rows
}

#[test]
fn deployment_has_a_row_for_each_revision_with_its_tasks_and_releases() {
    let (old, new) = (dataplane("web:3", "0.9.0"), dataplane("web:4", "0.10.0"));
    let tasks = [
        (1, &old, TaskPhase::Active),
        (2, &new, TaskPhase::Active),
        (3, &new, TaskPhase::Stopping),
        (4, &old, TaskPhase::Stopped),
    ];
    let wanted = MemberService {
        state: service("web", &new, 2),
        service: web(),
        definition: Some(Arc::clone(&new)),
        token: TokenSource::None,
    };
    let tasks = tasks.iter().map(|(number, definition, phase)| member(*number, definition, *phase)).collect();
    let rows = rows(ObservedCluster { services: vec![wanted], tasks, ..cluster() });
    let said: Vec<_> = rows
        .iter()
        .map(|row| {
            (row.revision.as_str(), row.images.consul_ecs.as_deref(), row.tasks, row.desired_tasks, row.generation)
        })
        .collect();
    assert_eq!(
        said,
        [
            ("web:3", Some("0.9.0"), Some(1), None, Generation::Dataplane),
            ("web:4", Some("0.10.0"), Some(2), Some(2), Generation::Dataplane),
        ]
    );
    assert_eq!(rows[1].runs_on, BTreeSet::from(["FARGATE".to_owned(), "FARGATE_SPOT".to_owned()]));
    assert_eq!((rows[1].service.as_deref(), rows[1].ecs_service.as_deref()), (Some("web"), Some("web")));
}

#[test]
fn what_is_outside_the_mesh_is_listed_with_its_generation() {
    let app_mesh = definition("pay:1", &[("envoy", "public.ecr.aws/appmesh/aws-appmesh-envoy:v1.27.2.0-prod")], true);
    let plain = definition("job:1", &[("job", "example/job:1")], false);
    let outside = Outside {
        services: vec![OutsideService { state: service("pay", &app_mesh, 0), definition: Some(Arc::clone(&app_mesh)) }],
        tasks: vec![OutsideTask {
            state: task(1, &plain, None, TaskPhase::Active),
            definition: Some(Arc::clone(&plain)),
        }],
    };
    let rows = rows(ObservedCluster { outside, ..cluster() });
    let said: Vec<_> = rows.iter().map(|row| (row.ecs_service.as_deref(), row.generation, row.tasks)).collect();
    assert_eq!(said, [(None, Generation::None, Some(1)), (Some("pay"), Generation::AppMesh, Some(0))]);
    assert_eq!(rows[1].images.envoy.as_deref(), Some("v1.27.2.0-prod"));
}

#[test]
fn client_agent_and_a_definition_that_could_not_be_read_are_told_apart() {
    let images = [("consul-client", "hashicorp/consul:1.12.2"), ("sidecar-proxy", "envoyproxy/envoy:v1.22.1")];
    let old = definition("old:1", &images, false);
    let gone = definition("gone:1", &[], false);
    let tasks = vec![
        OutsideTask { state: task(1, &old, None, TaskPhase::Active), definition: Some(Arc::clone(&old)) },
        OutsideTask { state: task(2, &gone, None, TaskPhase::Active), definition: None },
    ];
    let rows = rows(ObservedCluster { outside: Outside { tasks, ..Outside::default() }, ..cluster() });
    assert_eq!([rows[0].generation, rows[1].generation], [Generation::Unknown, Generation::ClientAgent]);
    let expected = (Some("1.12.2"), Some("v1.22.1"));
    assert_eq!((rows[1].images.consul.as_deref(), rows[1].images.envoy.as_deref()), expected);
}
