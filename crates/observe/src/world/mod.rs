//! Reads whole clusters: their tasks in ECS, and their entries in Consul and Secrets Manager, in an order in which each
//! read can only add to the previous ones. A failed read is a problem, and nothing that depends on it is deleted.

mod clusters;
mod consul;
mod findings;
mod order;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use aws::{
    ecs::{ClusterStatus, EcsError},
    secrets::SecretsError,
};
use jiff::Timestamp;
use mesh::{
    arn::ClusterArn,
    definition::Classification,
    holder::TokenHolder,
    identity::MeshService,
    idleness::TaskListing,
    member::MemberTask,
    plan::{Coverage, TaskCounts},
    quota::{self, CLUSTERS_OF_ONE, EntryOwner},
    secret::StoredSecret,
    spelling,
    task::{DescribedTask, TaskPhase},
    tenancy::{Tenancy, TenancyName},
    time::later,
};
use tracing::warn;

use self::clusters::Clusters;
pub use self::{
    findings::{Reading, Skipped, World},
    order::{SweepCause, SweepOrder, Waited},
};
use crate::{
    clock::Deadline,
    concurrency::{concurrently, concurrently_in_order},
    definitions::Definitions,
    ecs_reading::EcsReading,
    error::{CallError, Reach},
    observer::Observer,
    problem::Problem,
    tasks::namesakes,
};

impl Observer {
    /// Reads the clusters of an order. `ecs` is what was read of them before.
    pub async fn read_world(&self, order: &SweepOrder, ecs: &EcsReading, deadline: Deadline) -> World {
        let mut world = World { began: ecs.began, ..World::default() };
        let mut clusters = self.read_clusters(order, ecs, deadline, &mut world).await;
        let arns = clusters.read.values().flatten().filter_map(|task| task.definition.as_ref());
        let definitions = self.definitions(arns, deadline).await;
        let found = clusters.found.iter().filter(|cluster| order.includes(cluster)).cloned();
        let (namesakes, mut wanted): (Vec<ClusterArn>, Vec<ClusterArn>) =
            found.partition(|cluster| clusters.namesakes.contains(cluster));
        for cluster in &namesakes {
            world.refuse(cluster, &clusters);
        }
        for cluster in &wanted {
            self.add_tasks(cluster, &clusters, &definitions, &mut world);
        }
        world.partitions = self.partitions(&wanted, deadline, &mut world).await;
        for tenancy in world.partitions.clone() {
            self.read_partition(&tenancy, order, &wanted, deadline, &mut world).await;
        }
        let unlisted = self.find_unlisted(order, &mut clusters, deadline, &mut world).await;
        for cluster in &unlisted {
            self.add_tasks(cluster, &clusters, &definitions, &mut world);
        }
        for tenancy in world.partitions.clone() {
            self.read_nodes(&tenancy, &unlisted, deadline, &mut world).await;
        }
        wanted.extend(unlisted);
        world.is_full = order.clusters.is_empty() && clusters.are_all_read() && world.unread.is_empty();
        self.find_gone_tasks(&wanted, &clusters, order, deadline, &mut world).await;
        self.read_secrets(deadline, &mut world).await;
        consul::skip_uncertain_tokens(&self.scope, &mut world);
        let every_task = self.every_task(world.began, &clusters, &definitions, &mut world.problems);
        world.is_emptiness_unproven = clusters.is_emptiness_unproven(order, &world.observed);
        let proves_idleness = clusters.can_prove_idleness(order, &world.unread) && !world.is_emptiness_unproven;
        world.observed.coverage = Coverage::Clusters(every_task.filter(|_| proves_idleness));
        self.read_checks(deadline, &mut world).await;
        Box::pin(self.read_hosts(deadline, &mut world)).await;
        world
    }

    /// The tasks of all clusters of the deployment: every one of them may have a task of a service.
    async fn read_clusters(
        &self,
        order: &SweepOrder,
        ecs: &EcsReading,
        deadline: Deadline,
        world: &mut World,
    ) -> Clusters {
        let mut clusters = Clusters::default();
        let statuses = match &ecs.statuses {
            Ok(statuses) => statuses,
            Err(error) => {
                world.problems.push(Problem::new(None, error.clone()));
                clusters.found.extend(self.scope.clusters.named());
                return clusters;
            }
        };
        clusters.are_all_found = true;
        clusters.found.extend(statuses.keys().cloned());
        clusters.namesakes = namesakes(statuses);
        let mut existing = Vec::new();
        for (cluster, status) in statuses {
            match status {
                ClusterStatus::Active { tasks } => {
                    clusters.counted.insert(cluster.clone(), *tasks);
                    existing.push(cluster);
                }
                ClusterStatus::Deleted => drop(clusters.deleted.insert(cluster.clone())),
                ClusterStatus::Unknown if order.treats_unknown_as_deleted(cluster) => {
                    clusters.deleted.insert(cluster.clone());
                }
                ClusterStatus::Unknown => {
                    let error = CallError::from(EcsError::UnknownCluster(cluster.clone()));
                    world.problems.push(Problem::new(Some(cluster), error));
                }
            }
        }
        let reads = existing.into_iter().map(|cluster| async move {
            let tasks = match ecs.listed(cluster) {
                Some(listed) => listed.clone().whole().map_err(CallError::from),
                None => deadline.run(self.tasks_of(cluster)).await,
            };
            (cluster, tasks)
        });
        let read: Vec<_> = concurrently_in_order(reads).await;
        for (cluster, tasks) in read {
            let tasks = Problem::record(tasks, Some(cluster), &mut world.problems);
            clusters.read.extend(tasks.map(|tasks| (cluster.clone(), tasks)));
        }
        clusters
    }

    /// The secrets of holders that require a token or have one in Consul.
    async fn read_secrets(&self, deadline: Deadline, world: &mut World) {
        let tasks = world.observed.tasks.iter().filter(|task| task.phase == TaskPhase::Active);
        let required: BTreeSet<TokenHolder> = tasks
            .filter_map(|task| task.identity.as_ref())
            .flat_map(|identity| self.scope.tokens().required(identity))
            .collect();
        let mut holders = required.clone();
        holders.extend(world.observed.tokens.iter().filter_map(|token| {
            let mark = token.mark().filter(|mark| mark.is_of(&self.scope.clusters))?;
            let holder = self.scope.names.holder_of(mark, &token.tenancy)?;
            holder.service().is_some().then_some(holder)
        }));
        let reads = holders.into_iter().map(|holder| async move {
            let read = deadline.run(self.read_secret(&holder)).await;
            (holder, read)
        });
        let read: Vec<_> = concurrently(reads).await;
        let is_permitted = read.iter().any(|(_, secret)| secret.as_ref().err().is_none_or(has_read));
        let is_key_lost = self.is_key_lost(&read, world);
        for (holder, secret) in read {
            match secret {
                Err(CallError::Secrets(SecretsError::Unusable { name, reason })) if is_key_lost => {
                    self.add_fault(holder, SecretsError::Refused { name, reason }.into(), world);
                }
                Ok(secret) => drop(world.observed.secrets.insert(holder, secret)),
                Err(error) if self.is_out_of_reach(&error) => drop(world.out_of_reach.insert(holder)),
                Err(CallError::Secrets(error)) if is_permitted => {
                    self.add_fault(holder, error.of_this_secret().into(), world);
                }
                Err(error) => self.add_fault(holder, error, world),
            }
        }
        self.refuse_spellings(&required, world);
    }

    /// Whether the deployment's own key is the cause that no secret can be read: several of them have a token in Consul that a
    /// controller created for them.
    fn is_key_lost(&self, read: &[(TokenHolder, Result<StoredSecret, CallError>)], world: &World) -> bool {
        let is_locked = |secret: &Result<StoredSecret, CallError>| {
            matches!(secret, Err(CallError::Secrets(SecretsError::Unusable { .. })))
        };
        let tokens = &world.observed.tokens;
        let has_token =
            |holder: &TokenHolder| tokens.iter().any(|token| token.description.is_of(holder, &self.scope.clusters));
        read.iter().all(|(_, secret)| is_locked(secret))
            && read.iter().filter(|(holder, _)| has_token(holder)).count() > 1
    }

    /// Records why a secret could not be read. A holder whose error reaches nothing else gets no token until its author corrects it.
    fn add_fault(&self, holder: TokenHolder, error: CallError, world: &mut World) {
        let owner = self.owner(&holder, world);
        let is_contained = error.reach() == Reach::Thing;
        world.problems.push(Problem::of(owner, error));
        if is_contained {
            world.observed.faulty.insert(holder);
        }
    }

    /// A holder, and a task that reads its secret.
    fn owner(&self, holder: &TokenHolder, world: &World) -> String {
        let tokens = self.scope.tokens();
        let reader = world.running.iter().find(|member| tokens.required(&member.identity).contains(holder));
        match reader {
            Some(reader) => format!("{holder}, read by task {} of {}", reader.task.arn.id(), reader.definition.arn),
            None => holder.to_string(),
        }
    }

    /// Refuses further spellings of services' secrets: one fault for each service.
    fn refuse_spellings(&self, required: &BTreeSet<TokenHolder>, world: &mut World) {
        let names = &self.scope.names;
        let observed = &world.observed;
        let refused = spelling::refused(required, &observed.tokens, &observed.secrets, names);
        let mut by_service: BTreeMap<Option<&MeshService>, Vec<&TokenHolder>> = BTreeMap::new();
        for holder in refused {
            by_service.entry(holder.service()).or_default().push(holder);
        }
        for further in by_service.into_values() {
            let owner = further.first().map(|holder| self.owner(holder, world)).unwrap_or_default();
            let refusal = spelling::refusal(further.iter().copied(), names);
            world.problems.push(Problem::of(owner, CallError::from(refusal)));
            world.observed.faulty.extend(further.into_iter().cloned());
        }
    }

    fn every_task(
        &self,
        listed_at: Timestamp,
        clusters: &Clusters,
        definitions: &Definitions,
        problems: &mut Vec<Problem>,
    ) -> Option<TaskListing> {
        if !clusters.are_all_read() {
            return None;
        }
        let tasks =
            self.listed_tasks(&clusters.read, definitions).map_err(|error| problems.push(Problem::new(None, error)));
        Some(TaskListing { listed_at, tasks: tasks.ok()? })
    }

    fn add_tasks(&self, cluster: &ClusterArn, clusters: &Clusters, definitions: &Definitions, world: &mut World) {
        let tasks = clusters.tasks(cluster);
        world.readings.push(Reading::of(cluster, clusters));
        if let (true, Some(counted)) = (clusters.is_read(cluster), clusters.counted.get(cluster)) {
            let clocks = self.scope.bounds.clocks;
            let is_older = |at: Timestamp| later(at, clocks) < world.began;
            let is_old = |task: &&&Arc<DescribedTask>| task.end.created_at.is_some_and(is_older);
            let active: Vec<&Arc<DescribedTask>> = tasks.iter().filter(|task| task.is_counted()).collect();
            let listed = active.iter().filter(is_old).count();
            let counts = TaskCounts { counted: *counted, listed, young: active.len() - listed };
            world.observed.counts.insert(cluster.clone(), counts);
        }
        let tenancy = self.scope.tenancy_of(cluster);
        for task in tasks {
            let classified = definitions.classify_task(task, &task.tags, tenancy, self.scope.tokens());
            let classified = classified.map(|it| self.scope.in_named_partition(it, task.phase));
            let identity = match (&task.definition, classified) {
                (Some(arn), Ok(Classification::Member(identity))) => {
                    self.log_contradiction(arn, definitions, &identity);
                    Some(identity)
                }
                (Some(arn), Ok(Classification::Invalid(reason))) => {
                    self.ecs.forget(arn);
                    let owner = format!("task {} of {arn}", task.arn.id());
                    world.problems.push(Problem { cluster: Some(cluster.clone()), ..Problem::of(owner, reason) });
                    None
                }
                (_, Err(error)) if task.phase.is_living() && !error.is_unknown_definition() => {
                    world.problems.push(Problem::new(Some(cluster), error));
                    None
                }
                (None, _) | (_, Ok(Classification::Outside | Classification::TagsUnknown) | Err(_)) => None,
            };
            if let (Some(identity), TaskPhase::Active, Some(definition)) =
                (&identity, task.phase, definitions.of_task(task))
            {
                let (task, definition) = (Arc::clone(task), Arc::clone(definition));
                let is_enterprise = self.scope.is_enterprise();
                world.running.push(MemberTask::new(cluster.clone(), task, definition, identity.clone(), is_enterprise));
            }
            if identity.is_some() || task.phase == TaskPhase::Stopped {
                world.observed.tasks.push(self.mesh_task(cluster, task, identity, definitions));
            }
        }
    }

    /// One tenancy for each partition of the deployment and of its tasks; on Enterprise, for each partition: a task that
    /// ECS no longer knows may have registered in any.
    async fn partitions(&self, clusters: &[ClusterArn], deadline: Deadline, world: &mut World) -> Vec<Tenancy> {
        let homes = self.scope.tenancies().into_keys().cloned();
        let known: Vec<Tenancy> = homes.chain(world.observed.tasks.iter().map(|task| task.tenancy.clone())).collect();
        let mut listed = Vec::new();
        if known.iter().any(|tenancy| tenancy.partition().is_some()) {
            match deadline.run(self.consul.partitions()).await {
                Ok(names) => listed.extend(names.into_iter().map(Tenancy::default_namespace_of)),
                Err(error) => world.mark_unread(clusters, None, error),
            }
        }
        let all = listed.iter().chain(&known);
        let by_name: BTreeMap<Option<&TenancyName>, &Tenancy> = all.map(|t| (t.partition(), t)).collect();
        // No name means the default partition, which must not be read twice.
        let names_default = by_name.keys().flatten().any(|name| name.as_str() == "default");
        by_name.into_iter().filter(|(name, _)| !(names_default && name.is_none())).map(|(_, t)| t.clone()).collect()
    }

    /// The deleted clusters that tokens, synthetic nodes and failed agents name by ARN, and that ECS did not list. A cluster
    /// that exists nevertheless is left to the next sweep; until then no service counts as idle.
    async fn find_unlisted(
        &self,
        order: &SweepOrder,
        clusters: &mut Clusters,
        deadline: Deadline,
        world: &mut World,
    ) -> Vec<ClusterArn> {
        let named = self.named_in_consul(order, clusters, world);
        if named.is_empty() {
            return named;
        }
        let statuses = match deadline.run(self.ecs.cluster_statuses(&named)).await {
            Ok(statuses) => statuses,
            Err(error) => {
                clusters.are_all_found = false;
                world.problems.push(Problem::new(None, error));
                return Vec::new();
            }
        };
        let mut deleted = Vec::new();
        for (cluster, status) in statuses {
            match status {
                ClusterStatus::Deleted => deleted.push(cluster),
                ClusterStatus::Unknown if order.treats_unknown_as_deleted(&cluster) => deleted.push(cluster),
                // Tasks choose what their logins name: such a cluster must not fail every sweep.
                ClusterStatus::Unknown => {
                    warn!(action = "sweep", outcome = "skipped", cluster_arn = %cluster,
                        "Consul has entries of a cluster that ECS does not know. If the cluster was deleted, sweep it \
                         with force");
                }
                ClusterStatus::Active { .. } => clusters.are_all_found = false,
            }
        }
        clusters.found.extend(deleted.iter().cloned());
        clusters.deleted.extend(deleted.iter().cloned());
        deleted
    }

    /// The clusters that entries in Consul name, and that ECS did not list: of each owner of entries at most [`CLUSTERS_OF_ONE`].
    fn named_in_consul(&self, order: &SweepOrder, clusters: &Clusters, world: &mut World) -> Vec<ClusterArn> {
        let selection = &self.scope.clusters;
        if !selection.has_wildcard() || !clusters.are_all_found {
            return Vec::new();
        }
        let is_unlisted = |cluster: &ClusterArn| {
            selection.contains(cluster) && order.includes(cluster) && !clusters.found.contains(cluster)
        };
        let tokens = world.observed.tokens.iter();
        let of_tokens =
            tokens.filter_map(|token| Some((EntryOwner::of_token(token), token.description.cluster()?.parse().ok()?)));
        let instances = world.observed.agents.iter().flat_map(|agent| &agent.node.instances);
        let of_instances = instances.filter_map(|instance| {
            Some((EntryOwner::of_instance(instance), selection.cluster_of(instance.task_arn.as_ref()?)?))
        });
        let owned: BTreeSet<(EntryOwner, ClusterArn)> =
            of_tokens.chain(of_instances).filter(|(_, cluster)| is_unlisted(cluster)).collect();
        let (named, waiting) = quota::divide(owned, CLUSTERS_OF_ONE, |count| fastrand::usize(..count));
        world.problems.extend(Problem::over_quota(waiting, "clusters that ECS does not list", CLUSTERS_OF_ONE, None));
        let mut named: BTreeSet<ClusterArn> = named.into_iter().collect();
        named.extend(std::mem::take(&mut world.synthetic_nodes).into_iter().filter(is_unlisted));
        Vec::from_iter(named)
    }
}

/// Whether an error shows that the role may read secrets: the value was read, or the secret itself is the cause.
fn has_read(error: &CallError) -> bool {
    use SecretsError::{MarkedForDeletion, NotOurs, Unusable};
    matches!(error, CallError::Secrets(NotOurs(_) | MarkedForDeletion { .. } | Unusable { .. }))
}
