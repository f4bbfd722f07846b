//! What runs where, in which releases: a row for each service, or family of tasks without a service, and revision.

#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use audit::subject::{self, ConsulTask, Image, Software, Subject};
use audit_read::{
    Material,
    definition::{Container, Field, Maybe, ServiceUse, TaskDefinition, Text},
};
use jiff::Timestamp;
use mesh::{
    arn::TaskDefinitionArn,
    consul_ecs::{DATAPLANE_VERSION_META, ECS_VERSION_META, names::DATAPLANE},
    identity::MeshService,
    release::Release,
    task::DescribedTask,
};
use observe::{InspectedCluster, Inspection, ServiceState};
use serde::Serialize;

use crate::unread::problems;

/// What was read of the clusters, at `now`, as rows. `consul` is the version of Consul's servers, if it was asked for.
pub fn inventory(observed: &Inspection, consul: Option<String>, now: Timestamp) -> InventoryReport {
    let rows = observed.clusters.iter().flat_map(of_cluster).collect();
    InventoryReport { read_at: now, consul, rows, problems: problems(observed) }
}

fn of_cluster(cluster: &InspectedCluster) -> Vec<InventoryRow> {
    let mut rows: BTreeMap<Key, InventoryRow> = BTreeMap::new();
    let in_mesh = cluster.services.iter().map(|it| (&it.state, Some(&it.identity.service)));
    for (state, service) in in_mesh.chain(cluster.outside.services.iter().map(|state| (state, None))) {
        add_service(&mut rows, cluster, state, service);
    }
    let in_mesh = cluster.tasks.iter().map(|member| (&member.task, Some(&member.identity.service)));
    for (task, service) in in_mesh.chain(cluster.outside.tasks.iter().map(|task| (task, None))) {
        add_task(&mut rows, cluster, task, service);
    }
    rows.into_values().collect()
}

/// A row for the revision that a service wants, also if no task runs.
fn add_service(
    rows: &mut BTreeMap<Key, InventoryRow>,
    cluster: &InspectedCluster,
    state: &ServiceState,
    service: Option<&MeshService>,
) {
    // With an external deployment controller, only tasks have a revision.
    let Some(definition) = &state.definition else { return };
    let key = (Some(state.name.clone()), definition.clone());
    let row = rows.entry(key).or_insert_with_key(|key| empty(cluster, key, service));
    row.desired_tasks = Some(state.desired);
    row.runs_on.extend(state.runs_on.iter().cloned());
}

fn add_task(
    rows: &mut BTreeMap<Key, InventoryRow>,
    cluster: &InspectedCluster,
    task: &DescribedTask,
    service: Option<&MeshService>,
) {
    // Tasks of another kind of definition are ECS's own.
    let Some(definition) = task.definition.as_ref().filter(|_| task.phase.is_living()) else { return };
    let key = (task.placement.service.clone(), definition.clone());
    let row = rows.entry(key).or_insert_with_key(|key| empty(cluster, key, service));
    row.tasks = row.tasks.map(|count| count + 1);
    row.runs_on.extend(task.placement.runs_on.iter().cloned());
}

/// What rows are told apart by: the ECS service, or the family of tasks without one, and the revision.
pub(super) type Key = (Option<String>, TaskDefinitionArn);

/// How tasks are in a mesh.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum MeshGeneration {
    /// By a Consul client agent in each task (consul-ecs up to 0.6).
    ClientAgent,
    /// By consul-dataplane (consul-ecs 0.7 and newer).
    Dataplane,
    /// By AWS App Mesh.
    AppMesh,
    /// They are in no mesh.
    None,
    /// The definition could not be read.
    #[default]
    Unknown,
}

impl MeshGeneration {
    fn of(definition: &mesh::definition::TaskDefinition) -> Self {
        if definition.runs_client_agent() {
            Self::ClientAgent
        } else if definition.programs.registrar.is_some() || definition.container(DATAPLANE).is_some() {
            Self::Dataplane
        } else if definition.is_in_app_mesh {
            Self::AppMesh
        } else {
            Self::None
        }
    }

    /// It, in one or two words.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ClientAgent => "client agent",
            Self::Dataplane => "dataplane",
            Self::AppMesh => "App Mesh",
            Self::None => "none",
            Self::Unknown => "unknown",
        }
    }
}

/// The tags of the images of a revision; `untagged` for an image without one, `unknown` where a file does not say it. consul-ecs in
/// tasks of generation `None` is a controller.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ImageTags {
    /// Of consul-ecs.
    pub consul_ecs: Option<String>,
    /// Of consul-dataplane.
    pub consul_dataplane: Option<String>,
    /// Of Consul, as a client agent.
    pub consul: Option<String>,
    /// Of Envoy.
    pub envoy: Option<String>,
}

impl ImageTags {
    fn of(definition: &mesh::definition::TaskDefinition) -> Self {
        let mut versions = Versions::default();
        versions.add(definition);
        let image =
            |software| definition.images().find(|image| Image::parse(image).software() == Some(software)).map(tag);
        Self {
            consul_ecs: versions.consul_ecs.into_iter().next(),
            consul_dataplane: versions.consul_dataplane.into_iter().next(),
            consul: image(Software::Consul),
            envoy: image(Software::Envoy),
        }
    }
}

/// A service, or the tasks of a family without one, with one revision.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct InventoryRow {
    /// The ARN of the cluster; null if it was read in a file.
    pub cluster: Option<String>,
    /// The file and the line of the task definition; null if it was read in a cluster.
    pub file: Option<String>,
    /// The ECS service; null: its tasks have none.
    pub ecs_service: Option<String>,
    /// The service in Consul; null: its tasks are not in the mesh.
    pub service: Option<String>,
    /// Its admin partition (Enterprise).
    pub partition: Option<String>,
    /// Its namespace (Enterprise).
    pub namespace: Option<String>,
    /// The revision, `family:revision`; in a file, the family.
    pub revision: String,
    /// The launch types or capacity providers of its tasks.
    pub runs_on: BTreeSet<String>,
    /// How its tasks are in a mesh.
    pub generation: MeshGeneration,
    /// The releases that its tasks run.
    pub images: ImageTags,
    /// The desired count of the ECS service, if this is its current revision.
    pub desired_tasks: Option<usize>,
    /// The number of tasks that have not stopped; null in a file.
    pub tasks: Option<usize>,
}

impl InventoryRow {
    /// Where it was read: the name of the cluster, or the file and the line.
    pub fn place(&self) -> &str {
        let name = self.cluster.as_deref().and_then(|arn| arn.rsplit('/').next());
        name.or(self.file.as_deref()).unwrap_or_default()
    }
}

/// A row without tasks.
pub(super) fn empty(
    cluster: &InspectedCluster,
    (ecs_service, definition): &Key,
    service: Option<&MeshService>,
) -> InventoryRow {
    let read = cluster.definitions.get(definition).map(Arc::as_ref);
    InventoryRow {
        cluster: Some(cluster.arn.to_string()),
        ecs_service: ecs_service.clone(),
        service: service.map(|service| service.name.to_string()),
        partition: service.and_then(|service| service.tenancy.partition()).map(ToString::to_string),
        namespace: service.and_then(|service| service.tenancy.namespace()).map(ToString::to_string),
        revision: definition.short_name(),
        generation: read.map(MeshGeneration::of).unwrap_or_default(),
        images: read.map(ImageTags::of).unwrap_or_default(),
        tasks: Some(0),
        ..InventoryRow::default()
    }
}

/// The inventory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct InventoryReport {
    /// When it was read.
    pub read_at: Timestamp,
    /// The version of Consul's servers; null if Consul was not asked, or did not say.
    pub consul: Option<String>,
    /// By cluster, service and revision; then the rows of files.
    pub rows: Vec<InventoryRow>,
    /// What could not be read, and why.
    pub problems: Vec<String>,
}

/// A row for each task definition, or for each service that runs it, if the input has services.
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
    let line = definition.file.line_of(definition.span().start) + 1;
    let compatible: BTreeSet<String> = definition.requires_compatibilities.items.iter().filter_map(text).collect();
    InventoryRow {
        file: Some(format!("{}:{line}", definition.file.name)),
        service: subject.consul.as_ref().and_then(|consul| consul.service_name(definition)),
        revision: definition.name(),
        runs_on: compatible,
        generation: generation(&subject, definition),
        images: images(definition, &subject),
        ..InventoryRow::default()
    }
}

fn text(field: &Field<Text>) -> Option<String> {
    field.text().map(str::to_owned)
}

fn generation(subject: &Subject<'_>, definition: &TaskDefinition) -> MeshGeneration {
    match (&subject.consul, &subject.app_mesh) {
        (Some(consul), _) if consul.generation == subject::Generation::Client => MeshGeneration::ClientAgent,
        (Some(_), _) => MeshGeneration::Dataplane,
        (None, Some(_)) => MeshGeneration::AppMesh,
        (None, None) if definition.containers.is_complete => MeshGeneration::None,
        (None, None) => MeshGeneration::Unknown,
    }
}

fn images(definition: &TaskDefinition, subject: &Subject<'_>) -> ImageTags {
    let consul = subject.consul.as_ref();
    let with = |software| {
        let is_it =
            |container: &&Container| subject::image_of(container).and_then(|image| image.software()) == Some(software);
        definition.containers.items.iter().find(is_it)
    };
    let consul_ecs = consul.and_then(|task| task.consul_ecs_containers().next());
    ImageTags {
        // Controllers are not in the mesh.
        consul_ecs: consul_ecs
            .or_else(|| with(Software::ConsulEcs))
            .map(|it| tag_or_meta(it, consul, ECS_VERSION_META)),
        consul_dataplane: consul
            .and_then(|task| task.dataplane)
            .map(|it| tag_or_meta(it, consul, DATAPLANE_VERSION_META)),
        consul: consul.and_then(|task| task.client).map(tag_of),
        envoy: with(Software::Envoy).map(tag_of),
    }
}

/// The tag of a container's image, if enough of the reference is known for it.
fn tag_of(container: &Container) -> String {
    known_tag(container).unwrap_or_else(|| without_tag(container))
}

fn known_tag(container: &Container) -> Option<String> {
    subject::image_of(container).and_then(|image| image.tag)
}

fn without_tag(container: &Container) -> String {
    if container.image.text().is_some() { UNTAGGED } else { UNKNOWN }.to_owned()
}

/// The same; where no tag names a release, what the metadata of the service or gateway says.
fn tag_or_meta(container: &Container, consul: Option<&ConsulTask<'_>>, key: &str) -> String {
    let of_meta = || {
        let configuration = &consul?.configuration;
        let value = |object| configuration.text(&format!("{object}.meta.{key}")).filter(|value| !value.is_empty());
        value("service").or_else(|| value("gateway")).map(str::to_owned)
    };
    release_of(known_tag(container), of_meta).unwrap_or_else(|| without_tag(container))
}

/// ECS runs what a tag says, if it says a release. A moving tag and a mirror's tag say none: then the metadata count.
fn release_of(tag: Option<String>, of_meta: impl FnOnce() -> Option<String>) -> Option<String> {
    match tag {
        Some(tag) if Release::in_tag(&tag).is_some() => Some(tag),
        other => of_meta().or(other),
    }
}

/// What stands for the tag of an image without one.
pub(crate) const UNTAGGED: &str = "untagged";

/// What stands for the tag of an image whose reference is known only at deployment.
pub(crate) const UNKNOWN: &str = "unknown";

/// The releases that tasks run; several during a deployment.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Versions {
    /// Of consul-ecs.
    pub consul_ecs: BTreeSet<String>,
    /// Of consul-dataplane.
    pub consul_dataplane: BTreeSet<String>,
}

impl Versions {
    /// Adds the tags of a definition. An image whose tag names no release counts as what the metadata of the service says. Without a tag
    /// and metadata, it is [`UNTAGGED`].
    pub(crate) fn add(&mut self, definition: &mesh::definition::TaskDefinition) {
        let registrar = definition.programs.registrar.as_ref();
        let is_it = |image: &&str| Image::parse(image).software() == Some(Software::ConsulEcs);
        let by_name = || definition.images().find(is_it);
        let consul_ecs = registrar.and_then(|it| definition.image_of(&it.name)).or_else(by_name);
        let config = registrar.and_then(|it| it.config()?.as_ref().ok());
        let release = |image, key| {
            let of_meta = || config.and_then(|config| config.meta(key)).map(str::to_owned);
            release_of(Image::parse(image).tag, of_meta).unwrap_or_else(|| UNTAGGED.to_owned())
        };
        self.consul_ecs.extend(consul_ecs.map(|image| release(image, ECS_VERSION_META)));
        self.consul_dataplane
            .extend(definition.image_of(DATAPLANE).map(|image| release(image, DATAPLANE_VERSION_META)));
    }
}

pub(crate) fn tag(image: &str) -> String {
    Image::parse(image).tag.unwrap_or_else(|| UNTAGGED.to_owned())
}

#[cfg(test)]
mod files_tests {
    use std::sync::Arc;

    use audit_read::input::read_source;
    use document::SourceFile;

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
    fn the_default_image_of_a_module_has_its_tag() {
        let dataplane = |version: &str| {
            let call = format!(
                "module \"web\" {{\n  source = \"hashicorp/consul-ecs/aws//modules/mesh-task\"\n  version = \"{version}\"\n  family = \
                 \"web\"\n  port = 80\n  container_definitions = [{{ name = \"web\", image = \"web:1\" }}]\n}}\n"
            );
            rows("main.tf", &call).remove(0).images.consul_dataplane
        };
        assert_eq!(dataplane("0.7.0").as_deref(), Some("1.3.0"));
        assert_eq!(dataplane("~> 0.7.0").as_deref(), Some(UNKNOWN), "it depends on the patch");
    }

    #[test]
    fn image_whose_tag_names_no_release_has_the_one_in_the_metadata_of_its_service() {
        let dataplane = |image: &str, object: &str| {
            let config = format!(r#"{{"{object}": {{"meta": {{"dataplane-version": "1.9.5"}}}}}}"#);
            let text = serde_json::json!({ "family": "web", "containerDefinitions": [
                { "name": "consul-ecs-mesh-init", "image": "hashicorp/consul-ecs:0.10.1", "command": ["mesh-init"],
                  "environment": [{ "name": "CONSUL_ECS_CONFIG_JSON", "value": config }] },
                { "name": "consul-dataplane", "image": image },
            ] });
            rows("web.json", &text.to_string()).remove(0).images.consul_dataplane
        };
        let digest = format!("hashicorp/consul-dataplane@sha256:{}", "0".repeat(64));
        assert_eq!(dataplane(&digest, "service").as_deref(), Some("1.9.5"));
        assert_eq!(dataplane(&digest, "gateway").as_deref(), Some("1.9.5"));
        assert_eq!(dataplane(&digest, "proxy").as_deref(), Some(UNTAGGED));
        for mirror in ["mirror/consul-dataplane:prod", "hashicorp/consul-dataplane:latest"] {
            assert_eq!(dataplane(mirror, "service").as_deref(), Some("1.9.5"), "{mirror}");
        }
        assert_eq!(dataplane("mirror/consul-dataplane:prod", "proxy").as_deref(), Some("prod"));
        // ECS runs what the tag says
        assert_eq!(dataplane("hashicorp/consul-dataplane:1.8.10", "service").as_deref(), Some("1.8.10"));
    }

    #[test]
    fn the_lines_of_many_definitions_are_found_in_one_reading() {
        // With a reading of the file for each definition, this takes minutes.
        let one = format!(
            "{{\"family\": \"web\", \"containerDefinitions\": [{{\"name\": \"web\", \"command\": [\"{}\"]}}]}}",
            "x".repeat(1_000)
        );
        let text = format!("[{}]", vec![one; 20_000].join(",\n"));
        let rows = rows("tasks.json", &text);
        assert_eq!(rows.last().and_then(|row| row.file.as_deref()), Some("tasks.json:20000"));
    }

    #[test]
    fn a_controller_is_in_no_mesh_and_has_a_release_of_consul_ecs() {
        let text = r#"{"family": "controller", "containerDefinitions": [
            {"name": "controller", "image": "public.ecr.aws/hashicorp/consul-ecs:0.9.4", "command": ["controller"]}]}"#;
        let rows = rows("controller.json", text);
        let [row] = rows.as_slice() else { panic!("{rows:?}") };
        assert_eq!((row.generation, row.images.consul_ecs.as_deref()), (MeshGeneration::None, Some("0.9.4")));
    }
}
