//! The rows of task definitions in files.

use std::collections::BTreeSet;

use audit::{
    Material,
    definition::{Container, Field, TaskDefinition, Text},
    document::Position,
    subject::{self, Software, Subject},
};

use super::row::{Generation, Images, InventoryRow};
use crate::versions::{UNKNOWN, UNTAGGED};

/// A row for each task definition, and for each service that runs it as far as the input has services.
#[must_use]
pub fn rows_of_files(material: &Material) -> Vec<InventoryRow> {
    material.definitions.iter().flat_map(rows_of).collect()
}

fn rows_of(definition: &TaskDefinition) -> Vec<InventoryRow> {
    let row = row(definition);
    if definition.services.is_empty() {
        return vec![row];
    }
    let services = definition.services.iter().map(|service| InventoryRow {
        ecs_service: Some(service.name.clone()),
        runs_on: row.runs_on.iter().cloned().chain(text(&service.launch_type)).collect(),
        ..row.clone()
    });
    services.collect()
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

    use audit::{input::read_source, source::SourceFile};

    use super::*;

    #[test]
    fn a_controller_is_in_no_mesh_and_has_a_release_of_consul_ecs() {
        let text = r#"{"family": "controller", "containerDefinitions": [
            {"name": "controller", "image": "public.ecr.aws/hashicorp/consul-ecs:0.9.4", "command": ["controller"]}]}"#;
        let mut material = Material::default();
        read_source(Arc::new(SourceFile::new("controller.json", text)), true, &mut material).unwrap();
        let rows = rows_of_files(&material);
        let [row] = rows.as_slice() else { panic!("{rows:?}") };
        assert_eq!((row.generation, row.images.consul_ecs.as_deref()), (Generation::None, Some("0.9.4")));
    }
}
