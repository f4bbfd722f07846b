//! A row of the inventory.

use std::collections::BTreeSet;

use audit::subject::{Image, Software};
use aws::ecs::DefinitionState;
use jiff::Timestamp;
use mesh::{arn::TaskDefinitionArn, definition::DATAPLANE, identity::MeshService};
use serde::Serialize;

use crate::{
    observed::ObservedCluster,
    versions::{Versions, tag},
};

/// What rows are told apart by: the ECS service, or the family of tasks without one, and the revision.
pub(super) type Key = (Option<String>, TaskDefinitionArn);

/// How tasks are in a mesh.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Generation {
    /// By a Consul client agent in each task (consul-ecs up to 0.6).
    ClientAgent,
    /// By consul-dataplane (consul-ecs 0.7 and newer).
    Dataplane,
    /// By AWS App Mesh.
    AppMesh,
    /// They are in none.
    None,
    /// The definition could not be read.
    Unknown,
}

impl Generation {
    fn of(state: &DefinitionState) -> Self {
        let definition = &state.definition;
        if definition.runs_client_agent() {
            Self::ClientAgent
        } else if definition.programs.registrar.is_some() || state.images.contains_key(DATAPLANE) {
            Self::Dataplane
        } else if state.is_in_app_mesh {
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
#[serde(rename_all = "camelCase")]
pub struct Images {
    /// Of consul-ecs.
    pub consul_ecs: Option<String>,
    /// Of consul-dataplane.
    pub consul_dataplane: Option<String>,
    /// Of Consul, as a client agent.
    pub consul: Option<String>,
    /// Of Envoy.
    pub envoy: Option<String>,
}

impl Images {
    fn of(state: &DefinitionState) -> Self {
        let mut versions = Versions::default();
        versions.add(state);
        let image = |software| {
            let found = state.images.values().find(|image| Image::parse(image).software() == Some(software));
            found.map(|image| tag(image))
        };
        Self {
            consul_ecs: versions.consul_ecs.into_iter().next(),
            consul_dataplane: versions.consul_dataplane.into_iter().next(),
            consul: image(Software::Consul),
            envoy: image(Software::Envoy),
        }
    }
}

/// A service, or the tasks of a family without one, with one revision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct InventoryRow {
    /// The ARN of the cluster; `None` if it was read in a file.
    pub cluster: Option<String>,
    /// The file and the line of the task definition; `None` if it was read in a cluster.
    pub file: Option<String>,
    /// The ECS service; `None`: its tasks have none.
    pub ecs_service: Option<String>,
    /// The service in Consul; `None`: its tasks are not in the mesh.
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
    pub generation: Generation,
    /// The releases that its tasks run.
    pub images: Images,
    /// How many tasks the ECS service wants, if this is the revision that it wants.
    pub desired_tasks: Option<usize>,
    /// How many tasks there are that have not stopped; `None` in a file.
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
    cluster: &ObservedCluster,
    (ecs_service, definition): &Key,
    state: Option<&DefinitionState>,
    service: Option<&MeshService>,
) -> InventoryRow {
    InventoryRow {
        cluster: Some(cluster.arn.to_string()),
        file: None,
        ecs_service: ecs_service.clone(),
        service: service.map(|service| service.name.to_string()),
        partition: service.and_then(|service| service.tenancy.partition()).map(ToString::to_string),
        namespace: service.and_then(|service| service.tenancy.namespace()).map(ToString::to_string),
        revision: format!("{}:{}", definition.family(), definition.revision()),
        runs_on: BTreeSet::new(),
        generation: state.map_or(Generation::Unknown, Generation::of),
        images: state.map(Images::of).unwrap_or_default(),
        desired_tasks: None,
        tasks: Some(0),
    }
}

/// The inventory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct InventoryReport {
    /// When it was read.
    pub read_at: Timestamp,
    /// The version of Consul's servers; `None` if Consul was not asked, or did not say.
    pub consul: Option<String>,
    /// By cluster, service and revision; then those of files.
    pub rows: Vec<InventoryRow>,
    /// What could not be read, and why.
    pub problems: Vec<String>,
}
