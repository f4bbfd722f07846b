//! Reads task definitions of an AWS account for the auditor: the `audit` crate itself does not depend on AWS.
//!
//! ```text
//!  LiveScope ─▶ which revisions (clusters, services, families) ─▶ describe each ─▶ audit_read::input
//!                                                                  └─▶ lost_tag: the revisions before those without the mesh tag
//! ```

mod lost_tag;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use futures::{StreamExt, stream};

use audit_read::input::{Gathered, read_source};
use audit_read::{
    Material,
    definition::{Container, Field, List, Maybe, ServiceUse, TaskDefinition, Text},
};
use aws::ecs::{EcsError, Inventory, RunningService};
use document::InputProblem;
use document::{Place, SourceFile};
use mesh::cluster_selection::ClusterSelection;
use serde_json::Value;

/// The most concurrent `DescribeTaskDefinition` calls: ECS limits them to about 20 per second.
const CONCURRENCY: usize = 8;

/// The container of the app in a definition of Express Mode:
/// <https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_CreateExpressGatewayService.html>
const EXPRESS_CONTAINER: &str = "Main";

/// Which task definitions of an account to read. If empty: the newest revision of every active family, and everything
/// that clusters run.
#[derive(Debug, Clone, Default)]
pub struct LiveScope {
    /// Clusters, by name or ARN: the revisions of their services and tasks.
    pub clusters: Vec<String>,
    /// The clusters of a deployment.
    pub deployed: Option<ClusterSelection>,
    /// Services of the clusters, by name; if empty, all of them.
    pub services: Vec<String>,
    /// Families: their newest active revision.
    pub families: Vec<String>,
    /// Revisions, by `family:revision` or ARN.
    pub definitions: Vec<String>,
}

impl LiveScope {
    /// Whether no cluster, family or revision is named.
    pub fn is_everything(&self) -> bool {
        self.clusters.is_empty() && self.deployed.is_none() && self.families.is_empty() && self.definitions.is_empty()
    }
}

/// Reads the task definitions in `scope`. `progress` is called with the numbers of read and of all definitions.
pub async fn gather_live(
    inventory: &dyn Inventory,
    scope: &LiveScope,
    progress: &(dyn Fn(usize, usize) + Sync),
) -> Gathered {
    let mut gathered = Gathered::default();
    let mut selection = Selection::default();
    selection.find(inventory, scope, &mut gathered.problems).await;
    let total = selection.definitions.len();
    let reads =
        selection.definitions.iter().map(|name| async move { (name, inventory.describe_definition(name).await) });
    let mut reads = stream::iter(reads).buffered(CONCURRENCY);
    let mut done = 0;
    let mut seen = BTreeSet::new();
    while let Some((name, answer)) = reads.next().await {
        done += 1;
        progress(done, total);
        let json = match answer {
            Ok(json) => json,
            Err(error) => {
                gathered.problems.push(problem(name, &error));
                continue;
            }
        };
        gathered.files_read += 1;
        let (definitions, problem) = read(name, &json);
        gathered.problems.extend(problem);
        for mut definition in definitions {
            // A revision may be named by its name and by its ARN.
            if seen.insert(definition.address.clone()) {
                definition.services = selection.services_of(name, &definition);
                if selection.is_generated(name, &definition) {
                    let revision = definition.address.rsplit('/').next().unwrap_or_default();
                    gathered.generated.insert(revision.to_owned());
                    continue;
                }
                definition.lost_tag = lost_tag::of(inventory, &definition, &json).await;
                gathered.material.definitions.push(definition);
            }
        }
    }
    drop(reads);
    gathered
}

/// The definition that ECS describes. The answer is formatted as by the AWS CLI, so that findings have positions.
fn read(name: &str, json: &Value) -> (Vec<TaskDefinition>, Option<InputProblem>) {
    let file = Arc::new(SourceFile::new(name.to_owned(), format!("{json:#}\n")));
    let mut described = Material::default();
    let problem = read_source(file, true, &mut described).err();
    (described.definitions, problem)
}

#[derive(Default)]
struct Selection {
    definitions: BTreeSet<String>,
    /// By revision.
    services: BTreeMap<String, Vec<RunningService>>,
}

impl Selection {
    async fn find(&mut self, inventory: &dyn Inventory, scope: &LiveScope, problems: &mut Vec<InputProblem>) {
        self.definitions.extend(scope.definitions.iter().cloned());
        let everything = scope.is_everything();
        let clusters = clusters(inventory, scope, problems).await;
        for cluster in &clusters {
            let (services, errors) = known(inventory.services(cluster, &scope.services).await, cluster, problems);
            problems.extend(errors.iter().map(|error| problem(cluster, error)));
            for service in services {
                for definition in &service.task_definitions {
                    self.definitions.insert(definition.clone());
                    self.services.entry(definition.clone()).or_default().push(service.clone());
                }
            }
            if scope.services.is_empty() {
                self.definitions.extend(known(inventory.running_definitions(cluster).await, cluster, problems));
            }
        }
        let families =
            if everything { known(inventory.families().await, "families", problems) } else { scope.families.clone() };
        let newest = families.iter().map(|family| async move { (family, inventory.newest_revision(family).await) });
        let mut newest = stream::iter(newest).buffered(CONCURRENCY);
        while let Some((family, answer)) = newest.next().await {
            match answer {
                Ok(Some(definition)) => drop(self.definitions.insert(definition)),
                // A named family must exist; a listed one may have been deregistered since.
                Ok(None) if everything => {}
                Ok(None) => problems.push(InputProblem {
                    file: family.clone(),
                    position: None,
                    reason: "the family has no active revision".to_owned(),
                }),
                Err(error) => problems.push(problem(family, &error)),
            }
        }
    }

    /// Whether Express Mode has generated the definition, as it does with each update: an Express service runs it, and `Main` is its
    /// only container. A definition that a user gives such a service may have others beside it.
    fn is_generated(&self, name: &str, definition: &TaskDefinition) -> bool {
        let uses = |key: &str| self.services.get(key).into_iter().flatten().any(|service| service.is_express);
        let containers = &definition.containers;
        let is_main = |container: &Container| container.name.known().and_then(Text::whole) == Some(EXPRESS_CONTAINER);
        (uses(name) || uses(&definition.address))
            && containers.is_complete
            && containers.items.len() == 1
            && containers.items.iter().all(is_main)
    }

    fn services_of(&self, name: &str, definition: &TaskDefinition) -> Vec<ServiceUse> {
        let known = |key: &str| self.services.get(key).into_iter().flatten();
        let place = Place::fixed(definition.span());
        let services = known(name).chain(known(&definition.address).filter(|_| definition.address != name));
        services.map(|service| service_use(service, definition, &place)).collect()
    }
}

/// The clusters in `scope`, by name or ARN.
async fn clusters(inventory: &dyn Inventory, scope: &LiveScope, problems: &mut Vec<InputProblem>) -> Vec<String> {
    let mut clusters = scope.clusters.clone();
    let has_wildcard = scope.deployed.as_ref().is_some_and(ClusterSelection::has_wildcard);
    if scope.is_everything() || has_wildcard {
        clusters.extend(known(inventory.clusters().await, "clusters", problems));
    }
    if let Some(deployed) = &scope.deployed {
        clusters.retain(|cluster| deployed.has_arn(cluster));
        clusters.extend(deployed.named().map(|cluster| cluster.to_string()));
        clusters.sort();
        clusters.dedup();
    }
    clusters
}

fn service_use(service: &RunningService, definition: &TaskDefinition, place: &Place) -> ServiceUse {
    let field = |value: &Option<String>| Field {
        value: value.as_ref().map_or(Maybe::Absent, |value| Maybe::Known(Text::known(value))),
        place: place.clone(),
    };
    ServiceUse {
        file: definition.file.clone(),
        name: service.name.clone(),
        service_name: field(&Some(service.name.clone())),
        propagate_tags: field(&service.propagate_tags),
        launch_type: field(&service.launch_type),
        strategy: field(&service.strategy),
        controller: field(&service.controller),
        // ECS has checked the role of a service that exists.
        execute_command: Field { value: Maybe::Unknown, place: place.clone() },
        // Only the inventory of files lists them.
        capacity_providers: unread(place),
        // Its tags are copied to tasks only with SERVICE, which is in `propagate_tags`.
        tags: unread(place),
        // A service that exists has valid ones.
        load_balancers: unread(place),
        settings: None,
        place: place.clone(),
    }
}

fn unread<T>(place: &Place) -> List<T> {
    List { items: Vec::new(), is_complete: false, place: place.clone(), is_present: false }
}

fn known<T: Default>(answer: Result<T, EcsError>, subject: &str, problems: &mut Vec<InputProblem>) -> T {
    answer.unwrap_or_else(|error| {
        problems.push(problem(subject, &error));
        T::default()
    })
}

fn problem(subject: &str, error: &EcsError) -> InputProblem {
    InputProblem { file: subject.to_owned(), position: None, reason: error.to_string() }
}
