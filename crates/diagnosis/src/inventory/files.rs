//! The rows of task definitions in files.

use std::collections::BTreeSet;

use audit::subject::{self, Software, Subject};
use audit_read::{
    Material,
    definition::{Container, Field, Maybe, ServiceUse, TaskDefinition, Text},
    document::Position,
};

use super::row::{Generation, Images, InventoryRow};
use crate::versions::{UNKNOWN, UNTAGGED};

/// A row for each task definition, and for each service that runs it as far as the input has services.
pub fn rows_of_files(material: &Material) -> Vec<InventoryRow> {
    material.definitions.iter().flat_map(rows_of).collect()
}

fn rows_of(definition: &TaskDefinition) -> Vec<InventoryRow> {
    let row = row(definition);
    if definition.services.is_empty() {
        return vec![row];
    }
    let services = definition.services.iter().map(|service| InventoryRow {
        ecs_service: Some(text(&service.service_name).unwrap_or_else(|| service.name.clone())),
        runs_on: runs_on(service).unwrap_or_else(|| row.runs_on.clone()),
        ..row.clone()
    });
    services.collect()
}

/// The launch type or capacity providers of a service, if it has any.
fn runs_on(service: &ServiceUse) -> Option<BTreeSet<String>> {
    let providers = &service.capacity_providers;
    let mut own: BTreeSet<String> = providers.items.iter().chain([&service.launch_type]).filter_map(text).collect();
    if !providers.is_complete || providers.items.iter().any(|provider| matches!(provider.value, Maybe::Unknown)) {
        own.insert(UNKNOWN.to_owned());
    }
    (!own.is_empty()).then_some(own)
}

fn row(definition: &TaskDefinition) -> InventoryRow {
    let subject = Subject::new(definition);
    let line = Position::of(&definition.file.text, definition.span().start).line;
    let compatible: BTreeSet<String> = definition.requires_compatibilities.items.iter().filter_map(text).collect();
    InventoryRow {
        cluster: None,
        file: Some(format!("{}:{line}", definition.file.name)),
        ecs_service: None,
        service: subject.consul.as_ref().and_then(|consul| consul.service_name(definition)),
        partition: None,
        namespace: None,
        revision: definition.name(),
        runs_on: compatible,
        generation: generation(&subject, definition),
        images: images(definition, &subject),
        desired_tasks: None,
        tasks: None,
    }
}

fn text(field: &Field<Text>) -> Option<String> {
    field.text().map(str::to_owned)
}

fn generation(subject: &Subject<'_>, definition: &TaskDefinition) -> Generation {
    match (&subject.consul, &subject.app_mesh) {
        (Some(consul), _) if consul.generation == subject::Generation::Client => Generation::ClientAgent,
        (Some(_), _) => Generation::Dataplane,
        (None, Some(_)) => Generation::AppMesh,
        (None, None) if definition.containers.is_complete => Generation::None,
        (None, None) => Generation::Unknown,
    }
}

fn images(definition: &TaskDefinition, subject: &Subject<'_>) -> Images {
    let consul = subject.consul.as_ref();
    let with = |software| {
        let is_it =
            |container: &&Container| subject::image_of(container).and_then(|image| image.software()) == Some(software);
        definition.containers.items.iter().find(is_it)
    };
    let consul_ecs = consul.and_then(|task| task.consul_ecs_containers().next());
    Images {
        // Controllers are not in the mesh.
        consul_ecs: consul_ecs.or_else(|| with(Software::ConsulEcs)).map(tag),
        consul_dataplane: consul.and_then(|task| task.dataplane).map(tag),
        consul: consul.and_then(|task| task.client).map(tag),
        envoy: with(Software::Envoy).map(tag),
    }
}

/// The tag of a container's image, if enough of the reference is known for it.
fn tag(container: &Container) -> String {
    let image = subject::image_of(container);
    image.map_or_else(|| UNKNOWN.to_owned(), |image| image.tag.unwrap_or_else(|| UNTAGGED.to_owned()))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use audit_read::{input::read_source, source::SourceFile};

    use super::*;

    fn rows(name: &str, text: &str) -> Vec<InventoryRow> {
        let mut material = Material::default();
        read_source(Arc::new(SourceFile::new(name, text)), true, &mut material).unwrap();
        rows_of_files(&material)
    }

    /// The services of a task definition with two compatibilities.
    #[test]
    fn a_service_runs_where_it_says() {
        let template = "Resources:\n  Task:\n    Type: AWS::ECS::TaskDefinition\n    Properties:\n      Family: web\n      RequiresCompatibilities: [EC2, FARGATE]\n      ContainerDefinitions: []\n  A:\n    Type: AWS::ECS::Service\n    Properties: { TaskDefinition: !Ref Task, ServiceName: web, LaunchType: FARGATE }\n  B:\n    Type: AWS::ECS::Service\n    Properties: { TaskDefinition: !Ref Task, CapacityProviderStrategy: [{ CapacityProvider: FARGATE_SPOT }] }\n  C:\n    Type: AWS::ECS::Service\n    Properties: { TaskDefinition: !Ref Task, ServiceName: !Ref Unknown }\n  D:\n    Type: AWS::ECS::Service\n    Properties: { TaskDefinition: !Ref Task, CapacityProviderStrategy: [{ CapacityProvider: !Ref P }, { CapacityProvider: FARGATE }] }\n";
        let resources = "resource \"aws_ecs_task_definition\" \"web\" {\n  family = \"web\"\n  requires_compatibilities = [\"EC2\", \"FARGATE\"]\n  container_definitions = jsonencode([])\n}\nresource \"aws_ecs_service\" \"A\" {\n  name = \"web\"\n  task_definition = aws_ecs_task_definition.web.arn\n  launch_type = \"FARGATE\"\n}\nresource \"aws_ecs_service\" \"B\" {\n  task_definition = aws_ecs_task_definition.web.arn\n  capacity_provider_strategy {\n    capacity_provider = \"FARGATE_SPOT\"\n  }\n}\nresource \"aws_ecs_service\" \"C\" {\n  name = var.name\n  task_definition = aws_ecs_task_definition.web.arn\n  launch_type = var.launch_type\n}\nresource \"aws_ecs_service\" \"D\" {\n  task_definition = aws_ecs_task_definition.web.arn\n  capacity_provider_strategy {\n    capacity_provider = var.provider\n  }\n  capacity_provider_strategy {\n    capacity_provider = \"FARGATE\"\n  }\n}\n";
        for (name, text, prefix) in [("t.yaml", template, ""), ("main.tf", resources, "aws_ecs_service.")] {
            let rows = rows(name, text);
            let said: Vec<_> =
                rows.iter().map(|row| (row.ecs_service.clone().unwrap(), joined(&row.runs_on))).collect();
            let expected = [
                ("web", "FARGATE"),
                (&format!("{prefix}B"), "FARGATE_SPOT"),
                (&format!("{prefix}C"), "EC2 FARGATE"),
                (&format!("{prefix}D"), "FARGATE unknown"),
            ];
            assert_eq!(said, expected.map(|(service, runs_on)| (service.to_owned(), runs_on.to_owned())), "{name}");
        }
    }

    fn joined(names: &BTreeSet<String>) -> String {
        names.iter().map(String::as_str).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_controller_is_in_no_mesh_and_has_a_release_of_consul_ecs() {
        let text = r#"{"family": "controller", "containerDefinitions": [
            {"name": "controller", "image": "public.ecr.aws/hashicorp/consul-ecs:0.9.4", "command": ["controller"]}]}"#;
        let rows = rows("controller.json", text);
        let [row] = rows.as_slice() else { panic!("{rows:?}") };
        assert_eq!((row.generation, row.images.consul_ecs.as_deref()), (Generation::None, Some("0.9.4")));
    }
}
