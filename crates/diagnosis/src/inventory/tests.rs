//! Examples: what is read of a cluster, and its rows.

use std::{collections::BTreeSet, sync::Arc};

use mesh::{
    definition::{ContainerDefinition, TaskDefinition},
    member::MemberTask,
    task::TaskPhase,
};
use mesh_examples::definition_arn;
use observe::{MemberService, Outside, ServiceState};

use super::*;
use crate::examples::{self, INIT, configure, described, empty_cluster, healthy, now, revision};

fn definition(revision: &str, images: &[(&str, &str)], is_in_app_mesh: bool) -> Arc<TaskDefinition> {
    let mut definition = examples::definition();
    definition.arn = definition_arn(revision);
    definition.config = None;
    let container = |(name, image): &(&str, &str)| ContainerDefinition {
        name: (*name).to_owned(),
        image: Some((*image).to_owned()),
        ..ContainerDefinition::default()
    };
    definition.containers = images.iter().map(container).collect();
    definition.programs.registrar.take_if(|_| !images.iter().any(|(name, _)| *name == INIT));
    Arc::new(TaskDefinition { is_in_app_mesh, ..definition })
}

fn dataplane(revision: &str, release: &str) -> Arc<TaskDefinition> {
    let consul_ecs = format!("hashicorp/consul-ecs:{release}");
    let images = [(INIT, consul_ecs.as_str()), ("consul-dataplane", "hashicorp/consul-dataplane:1.6.2")];
    definition(revision, &images, false)
}

fn member(number: u8, definition: &Arc<TaskDefinition>, service: Option<&str>, phase: TaskPhase) -> MemberTask {
    let mut member = examples::task(number).with_definition(Arc::clone(definition));
    let task = described(&mut member);
    (task.definition, task.phase) = (Some(definition.arn.clone()), phase);
    task.placement.service = service.map(str::to_owned);
    task.placement.runs_on = Some("FARGATE_SPOT".to_owned());
    member
}

fn service(name: &str, definition: &TaskDefinition, desired: usize) -> ServiceState {
    ServiceState {
        name: name.to_owned(),
        definition: Some(definition.arn.clone()),
        desired,
        runs_on: BTreeSet::from(["FARGATE".to_owned()]),
        ..healthy().services.remove(0).state
    }
}

fn rows(cluster: InspectedCluster) -> Vec<InventoryRow> {
    inventory(&Inspection { clusters: vec![cluster], problems: Vec::new() }, None, now()).rows
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
    let wanted = MemberService { state: service("web", &new, 2), ..healthy().services.remove(0) };
    let tasks = tasks.iter().map(|(number, definition, phase)| member(*number, definition, Some("web"), *phase));
    let (services, tasks) = (vec![wanted], tasks.collect());
    let rows = rows(InspectedCluster { services, tasks, ..empty_cluster([old.clone(), new.clone()]) });
    let said: Vec<_> = rows
        .iter()
        .map(|row| {
            (row.revision.as_str(), row.images.consul_ecs.as_deref(), row.tasks, row.desired_tasks, row.generation)
        })
        .collect();
    assert_eq!(
        said,
        [
            ("web:3", Some("0.9.0"), Some(1), None, MeshGeneration::Dataplane),
            ("web:4", Some("0.10.0"), Some(2), Some(2), MeshGeneration::Dataplane),
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
        services: vec![service("pay", &app_mesh, 0)],
        tasks: vec![member(1, &plain, None, TaskPhase::Active).task],
    };
    let rows = rows(InspectedCluster { outside, ..empty_cluster([app_mesh, plain]) });
    let said: Vec<_> = rows.iter().map(|row| (row.ecs_service.as_deref(), row.generation, row.tasks)).collect();
    assert_eq!(said, [(None, MeshGeneration::None, Some(1)), (Some("pay"), MeshGeneration::AppMesh, Some(0))]);
    assert_eq!(rows[1].images.envoy.as_deref(), Some("v1.27.2.0-prod"));
}

#[test]
fn client_agent_and_a_definition_that_could_not_be_read_are_told_apart() {
    let images = [("consul-client", "hashicorp/consul:1.12.2"), ("sidecar-proxy", "envoyproxy/envoy:v1.22.1")];
    let old = definition("old:1", &images, false);
    let gone = definition("gone:1", &[], false);
    let tasks = [(1, &old), (2, &gone)].map(|(number, it)| member(number, it, None, TaskPhase::Active).task);
    let outside = Outside { tasks: tasks.into(), ..Outside::default() };
    let rows = rows(InspectedCluster { outside, ..empty_cluster([old]) });
    assert_eq!([rows[0].generation, rows[1].generation], [MeshGeneration::Unknown, MeshGeneration::ClientAgent]);
    let expected = (Some("1.12.2"), Some("v1.22.1"));
    assert_eq!((rows[1].images.consul.as_deref(), rows[1].images.envoy.as_deref()), expected);
}

#[test]
fn running_image_whose_tag_names_no_release_has_the_one_in_the_metadata_of_its_service() {
    let dataplane = |image: &str, meta: &str| {
        let mut member = examples::task(1);
        let config = format!(r#"{{"service":{{"name":"web","port":80,"meta":{meta}}},"proxy":{{}}}}"#);
        configure(&mut member, &config);
        let definition = revision(&mut member);
        let container = definition.containers.iter_mut().find(|it| it.name == "consul-dataplane").unwrap();
        container.image = Some(image.to_owned());
        let definitions = [Arc::clone(&member.definition)];
        let rows = rows(InspectedCluster { tasks: vec![member], ..empty_cluster(definitions) });
        rows[0].images.consul_dataplane.clone().unwrap()
    };
    let digest = format!("hashicorp/consul-dataplane@sha256:{}", "0".repeat(64));
    assert_eq!(dataplane(&digest, r#"{"dataplane-version":"1.9.5"}"#), "1.9.5");
    assert_eq!(dataplane(&digest, r#"{"dataplane-version":""}"#), UNTAGGED);
    assert_eq!(dataplane("mirror/consul-dataplane:prod", r#"{"dataplane-version":"1.9.5"}"#), "1.9.5");
    assert_eq!(dataplane("mirror/consul-dataplane:prod", "{}"), "prod");
    assert_eq!(dataplane("hashicorp/consul-dataplane:1.8.10", r#"{"dataplane-version":"1.9.5"}"#), "1.8.10");
}
