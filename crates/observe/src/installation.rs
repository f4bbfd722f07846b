//! Reads an installation of the controller: its stack, its functions and queues, and what it depends on.

use aws::{
    ecs::Clusters as _,
    installation::{AwsInstallation, Caller, DeployedStack, Invoked, Mapping, StackResources, Topic, Trail},
    queue::{DeadLetterQueues, FailedMessage},
};
use consul::{ConsulError, MeshEntry, OwnToken, Permissions as _, ServerVersion as _};
use mesh::{
    arn::ClusterArn,
    cluster_selection::ClusterSelection,
    permissions::{Permission, required},
};
use report::ReconcileOrder;
use serde_json::json;

use crate::{
    inspected::InspectionError,
    inspection::{Inspection, Inspector},
};

/// What was read, or why it could not be, in words.
pub type Read<T> = Result<T, String>;

fn in_words<T, E: ToString>(result: Result<T, E>) -> Read<T> {
    result.map_err(|error| error.to_string())
}

/// The account, and the stacks of controllers in it.
#[derive(Debug)]
pub struct AccountReading {
    pub caller: Read<Caller>,
    /// The start of the ARNs of clusters; empty without a caller.
    pub cluster_arns: String,
    /// The stack that was asked for, if it exists.
    pub stack: Read<Option<DeployedStack>>,
    /// The other stacks of the template. To list them takes a permission for all stacks.
    pub others: Read<Vec<DeployedStack>>,
}

/// The parts of an installed stack.
#[derive(Debug)]
pub struct PartsReading {
    pub resources: StackResources,
    /// What `reconcile` says of itself.
    pub answer: Read<Invoked>,
    /// The version of Consul, as it answers here; `None` if it is not asked.
    pub consul: Option<Result<String, ConsulError>>,
    /// The rules of EventBridge, and whether they are enabled.
    pub rules: Read<Vec<(String, bool)>>,
    pub queue: Read<QueueReading>,
    pub failed: Read<Letters>,
    pub undelivered: Read<Letters>,
}

impl PartsReading {
    /// Whether Consul answers here, if perhaps not to this token.
    pub fn has_consul_here(&self) -> bool {
        matches!(self.consul, Some(Ok(_) | Err(ConsulError::PermissionDenied { .. })))
    }
}

/// The queue, and what takes its messages.
#[derive(Debug, Clone)]
pub struct QueueReading {
    /// About how many messages wait.
    pub waiting: usize,
    /// What takes them.
    pub mapping: Mapping,
    /// How many invocations of the function may run at once, if that is limited.
    pub concurrency: Option<usize>,
}

/// A dead-letter queue.
#[derive(Debug, Clone, Default)]
pub struct Letters {
    /// About how many messages are in it.
    pub count: usize,
    pub some: Vec<FailedMessage>,
}

/// What an installation depends on.
#[derive(Debug)]
pub struct SurroundingsReading {
    /// The topic of its alarms, by its ARN; `None` without one.
    pub topic: Option<(String, Read<Topic>)>,
    pub trails: Read<Vec<Trail>>,
    /// The clusters of the account and region.
    pub clusters: Read<Vec<ClusterArn>>,
    /// What the selected ones run.
    pub inspection: Read<Inspection>,
    /// Whether the inspection has what Consul knows of them too; `None` if Consul was not asked.
    pub catalogs: Option<Result<(), InspectionError>>,
    /// The config entry `mesh`; `None` if Consul was not asked.
    pub mesh_entry: Option<MeshEntryReading>,
}

/// The config entry `mesh`, if Consul has one.
pub type MeshEntryReading = Result<Option<MeshEntry>, ConsulError>;

/// What an installation needs of Consul, as it answers here.
#[derive(Debug)]
pub struct ConsulReading {
    pub version: Result<String, ConsulError>,
    pub own_token: Result<Option<OwnToken>, ConsulError>,
    pub missing: Result<Vec<Permission>, ConsulError>,
    pub mesh_entry: MeshEntryReading,
}

/// Reads an installation.
pub struct InstallationReader<'a> {
    pub installation: &'a AwsInstallation,
    pub queues: &'a DeadLetterQueues,
    pub inspector: &'a Inspector<'a>,
    /// Is called with what is read next.
    pub progress: &'a (dyn Fn(&str) + Sync),
}

impl InstallationReader<'_> {
    /// The account, and its stacks.
    pub async fn account(&self, stack: &str, region: &str) -> AccountReading {
        (self.progress)("reading the stack");
        let caller = in_words(self.installation.caller().await);
        let (cluster_arns, stack, others) = match &caller {
            Ok(caller) => {
                let partition = caller.arn.split(':').nth(1).unwrap_or("aws");
                let arns = format!("arn:{partition}:ecs:{region}:{}:cluster/", caller.account);
                let own = in_words(self.installation.stack(stack).await);
                (arns, own, in_words(self.installation.other_stacks(stack).await))
            }
            Err(why) => (String::new(), Err(why.clone()), Err(why.clone())),
        };
        AccountReading { caller, cluster_arns, stack, others }
    }

    /// The parts of the stack with this name. With `asks_consul`, Consul is asked from here too.
    ///
    /// # Errors
    /// The resources of the stack could not be read.
    pub async fn parts(&self, stack: &str, asks_consul: bool) -> Read<PartsReading> {
        let resources = in_words(self.installation.resources(stack).await)?;
        (self.progress)("asking reconcile");
        let reconcile = physical_id(&resources, "ReconcileFunction");
        let answer = in_words(self.installation.invoke(reconcile, &json!(ReconcileOrder::Check)).await);
        let consul = if asks_consul { Some(self.inspector.consul.version().await) } else { None };
        (self.progress)("reading rules and queues");
        Ok(PartsReading {
            answer,
            consul,
            rules: self.rules(&resources).await,
            queue: self.queue(&resources).await,
            failed: self.letters(physical_id(&resources, "FailedEventsQueue")).await,
            undelivered: self.letters(physical_id(&resources, "UndeliveredEventsQueue")).await,
            resources,
        })
    }

    /// What an installation with these clusters and this topic of alarms depends on. With `asks_consul`, that is also what Consul
    /// has of the clusters and of the mesh.
    pub async fn surroundings(
        &self,
        selection: Read<ClusterSelection>,
        topic: Option<&str>,
        asks_consul: bool,
    ) -> SurroundingsReading {
        (self.progress)("reading what the installation depends on");
        let topic = match topic {
            Some(topic) => Some((topic.to_owned(), in_words(self.installation.topic(topic).await))),
            None => None,
        };
        let trails = in_words(self.installation.trails().await);
        let clusters = in_words(self.inspector.ecs.list_clusters().await);
        let mut inspection = match (&clusters, selection) {
            (Ok(clusters), Ok(selection)) => {
                let is_selected = |cluster: &&ClusterArn| selection.contains(cluster);
                let selected: Vec<ClusterArn> = clusters.iter().filter(is_selected).cloned().collect();
                Ok(self.inspector.inspect_ecs(&selected, self.progress).await)
            }
            (Err(why), _) => Err(why.clone()),
            (_, Err(why)) => Err(why),
        };
        let catalogs = match &mut inspection {
            Ok(inspection) if asks_consul => {
                Some(Box::pin(self.inspector.add_catalogs(&mut inspection.clusters)).await)
            }
            _ => None,
        };
        let mesh_entry = if asks_consul { Some(self.inspector.mesh_entry().await) } else { None };
        SurroundingsReading { topic, trails, clusters, inspection, catalogs, mesh_entry }
    }

    /// What an installation with these clusters needs of Consul.
    pub async fn consul(&self, selection: &ClusterSelection) -> ConsulReading {
        (self.progress)("asking Consul");
        let Inspector { consul, default_tenancy: tenancy, .. } = self.inspector;
        let needed = required(selection, selection.patterns(), tenancy.partition().is_some());
        ConsulReading {
            version: consul.version().await,
            own_token: consul.own_token().await,
            missing: consul.missing_permissions(tenancy, &needed).await,
            mesh_entry: self.inspector.mesh_entry().await,
        }
    }

    async fn rules(&self, resources: &StackResources) -> Read<Vec<(String, bool)>> {
        let mut rules = Vec::new();
        for resource in resources.values().filter(|resource| resource.kind == "AWS::Events::Rule") {
            let is_enabled = in_words(self.installation.is_enabled(&resource.id).await)?;
            rules.push((resource.id.clone(), is_enabled));
        }
        Ok(rules)
    }

    async fn queue(&self, resources: &StackResources) -> Read<QueueReading> {
        let function = physical_id(resources, "TaskEventsFunction");
        Ok(QueueReading {
            waiting: in_words(self.queues.queue(physical_id(resources, "TaskEventsQueue")).await)?.messages,
            mapping: in_words(self.installation.mapping(physical_id(resources, "TaskEventsSource")).await)?,
            concurrency: in_words(self.installation.reserved_concurrency(function).await)?,
        })
    }

    async fn letters(&self, url: &str) -> Read<Letters> {
        let count = in_words(self.queues.queue(url).await)?.messages;
        let some = if count == 0 { Vec::new() } else { in_words(self.queues.sample(url).await)? };
        Ok(Letters { count, some })
    }
}

/// The physical ID of a resource; its name in the template if the stack does not have it.
pub fn physical_id<'a>(resources: &'a StackResources, name: &'a str) -> &'a str {
    resources.get(name).map_or(name, |resource| resource.id.as_str())
}
