//! Inspects clusters for a diagnosis: first what Consul has, then what ECS runs, so that a task that starts meanwhile is not an
//! instance without a task. What could not be read is a problem, and everything else is read.

use std::collections::{BTreeMap, BTreeSet};

use aws::ecs::{AwsEcs, EcsError};
use consul::{
    CatalogReads as _, ConsulError, HttpConsul, Logins as _, MeshEntry, OutlierDetection, Permissions as _,
    TokenReads as _,
};
use mesh::{
    admission::TokenFacts,
    arn::{ClusterArn, MOST_REVISIONS_BACK, TaskId},
    cluster_selection::ClusterSelection,
    consul_ecs::SERVICE_METHOD,
    identity::MeshService,
    permissions::{Permission, Segment},
    repair::NodeReading,
    secret_name::{SecretNamePrefix, SecretNames},
    tenancy::Tenancy,
    token::ListedToken,
};

use crate::{
    catalog::{ClusterNode, node_of, reading, roles_of},
    clock::Deadline,
    error::CallError,
    inspected::{CatalogReading, InspectedCluster, InspectionError},
    tasks::{ListedTasks, list_tasks, read_definitions},
};

/// Some clusters, as they were read.
#[derive(Debug, Clone, Default)]
pub struct Inspection {
    /// The clusters whose tasks and services could be read.
    pub clusters: Vec<InspectedCluster>,
    /// What could not be read.
    pub problems: Vec<InspectionError>,
}

/// The tokens of tasks and services in Consul, without their secret IDs.
#[derive(Debug, Clone)]
pub struct InspectedTokens {
    /// As Consul lists them.
    pub listed: Vec<ListedToken>,
    /// What decides what they grant; `None` with the default policy `allow`, where nothing has to be proven.
    pub facts: Result<Option<TokenFacts>, CallError>,
}

/// The tokens; `None` if ACLs are off.
pub type TokensReading = Result<Option<InspectedTokens>, InspectionError>;

/// Inspects clusters.
pub struct Inspector<'a> {
    pub ecs: &'a AwsEcs,
    pub consul: &'a HttpConsul,
    pub secret_prefix: SecretNamePrefix,
    /// The tenancy of tasks without Enterprise tags.
    pub default_tenancy: Tenancy,
    pub deadline: Deadline,
}

impl Inspector<'_> {
    /// What ECS runs in clusters, what Consul has of it, and then the tokens. `progress` is called with what is read next.
    pub async fn inspect(
        &self,
        clusters: &[ClusterArn],
        progress: &(dyn Fn(&str) + Sync),
    ) -> (Inspection, TokensReading) {
        progress("Consul");
        let tenancies = self.tenancies().await;
        let mut inspection = self.inspect_in(clusters, tenancies.as_deref().ok(), progress).await;
        if let Err(error) = &tenancies {
            inspection.problems.insert(0, error.clone());
        }
        progress("tokens");
        (inspection, self.tokens(tenancies).await)
    }

    /// What ECS runs in clusters, without Consul.
    pub async fn inspect_ecs(&self, clusters: &[ClusterArn], progress: &(dyn Fn(&str) + Sync)) -> Inspection {
        // On the heap: `doctor` would carry the space of the reads of Consul.
        Box::pin(self.inspect_in(clusters, None, progress)).await
    }

    /// The config entry `mesh` of the partition of tasks without Enterprise tags; `None` if Consul has none. One request, and another
    /// one for the token if Consul has no such entry.
    ///
    /// # Errors
    /// It could not be read.
    pub async fn mesh_entry(&self) -> Result<Option<MeshEntry>, ConsulError> {
        self.consul.mesh_entry(&self.default_tenancy).await
    }

    /// Adds what Consul has of clusters that were inspected without it: one request for the permissions, one for the partitions
    /// (Enterprise), and two for each cluster and partition.
    ///
    /// # Errors
    /// Consul, or a part of it, could not be read. The clusters after it have no catalog.
    pub async fn add_catalogs(&self, clusters: &mut [InspectedCluster]) -> Result<(), InspectionError> {
        let tenancies = self.tenancies().await?;
        for cluster in clusters {
            cluster.catalog = Some(self.catalog(&cluster.arn, &tenancies).await?);
        }
        Ok(())
    }

    /// What ECS runs in clusters, and what Consul has of it in these tenancies.
    async fn inspect_in(
        &self,
        clusters: &[ClusterArn],
        tenancies: Option<&[Tenancy]>,
        progress: &(dyn Fn(&str) + Sync),
    ) -> Inspection {
        let mut inspection = Inspection::default();
        for (number, arn) in clusters.iter().enumerate() {
            progress(&format!("cluster {} ({} of {})", arn.name(), number + 1, clusters.len()));
            let catalog = match tenancies {
                Some(tenancies) => known(self.catalog(arn, tenancies).await, &mut inspection.problems),
                None => None,
            };
            let cluster = self.cluster(arn, &mut inspection.problems).await;
            let Some(mut cluster) = known(cluster, &mut inspection.problems) else { continue };
            if let (Some(tenancies), Some(mut catalog)) = (tenancies, catalog) {
                let completed = self.complete(&cluster, tenancies, &mut catalog).await;
                cluster.catalog = known(completed, &mut inspection.problems).map(|()| catalog);
                cluster.outlier_detection = self.outlier_detection(&cluster).await;
            }
            inspection.clusters.push(cluster);
        }
        inspection
    }

    /// The partitions that tasks may be in. Consul leaves out what a token may not read, and only newer versions say so:
    /// whether it may is asked first.
    pub(crate) async fn tenancies(&self) -> Result<Vec<Tenancy>, InspectionError> {
        let read_all = |resource| Permission { resource, access: "read", segment: Segment::All };
        let home = &self.default_tenancy;
        let missing = self.consul.missing_permissions(home, &["node", "service"].map(read_all)).await?;
        if !missing.is_empty() {
            return Err(InspectionError::CatalogNotPermitted(missing));
        }
        if home.partition().is_none() {
            return Ok(vec![home.clone()]);
        }
        let partitions = self.consul.partitions().await?;
        Ok(partitions.into_iter().map(Tenancy::default_namespace_of).collect())
    }

    /// The tokens of tasks and services in these tenancies.
    async fn tokens(&self, tenancies: Result<Vec<Tenancy>, InspectionError>) -> TokensReading {
        let list = Permission { resource: "acl", access: "read", segment: Segment::Whole };
        let missing = self.consul.missing_permissions(&self.default_tenancy, &[list]).await?;
        if let Some(missing) = missing.into_iter().next() {
            return Err(InspectionError::TokensNotPermitted(missing));
        }
        let is_wanted = |token: &ListedToken| {
            let is_login = token.login().is_some() || token.auth_method.as_deref() == Some(SERVICE_METHOD);
            is_login || token.mark().is_some()
        };
        let mut all = Vec::new();
        for tenancy in tenancies? {
            let Some(listed) = self.consul.tokens(&tenancy, &is_wanted).await? else { return Ok(None) };
            all.extend(listed);
        }
        Ok(Some(InspectedTokens { facts: self.token_facts(&all).await, listed: all }))
    }

    /// What decides what login tokens grant: the datacenter, and each role that one of them links. `None` with the default policy
    /// `allow`.
    async fn token_facts(&self, tokens: &[ListedToken]) -> Result<Option<TokenFacts>, CallError> {
        let datacenter = self.consul.datacenter().await?;
        if datacenter.allows_by_default {
            return Ok(None);
        }
        let logins = tokens.iter().filter(|token| token.login().is_some() && token.auth_method.is_some());
        let mut roles = BTreeMap::new();
        for (role, grants) in roles_of(self.consul, logins, self.deadline).await {
            roles.insert(role, grants?);
        }
        Ok(Some(TokenFacts { datacenter: datacenter.name, roles }))
    }

    /// The node of a cluster, in each partition.
    async fn catalog(&self, cluster: &ClusterArn, tenancies: &[Tenancy]) -> Result<CatalogReading, ConsulError> {
        let mut catalog = CatalogReading::default();
        for tenancy in tenancies {
            let ClusterNode::Found(node) = node_of(self.consul, cluster, tenancy).await? else {
                catalog.nodes.push(NodeReading::missing(cluster.clone(), tenancy.clone()));
                continue;
            };
            catalog.checks.extend(self.consul.every_node_check(cluster.as_str(), tenancy).await?);
            catalog.nodes.push(reading(cluster, tenancy, &node));
            catalog.instances.extend(node.instances);
        }
        Ok(catalog)
    }

    /// Adds what Consul has by now of the running tasks that it did not have, because they may have been registered between the two
    /// readings; and the instances on client agents (consul-ecs up to 0.6).
    async fn complete(
        &self,
        cluster: &InspectedCluster,
        tenancies: &[Tenancy],
        catalog: &mut CatalogReading,
    ) -> Result<(), ConsulError> {
        let known: BTreeSet<&TaskId> = catalog.instances.iter().map(|instance| &instance.task).collect();
        let running =
            cluster.tasks.iter().filter(|member| member.task.is_running() && !member.definition.runs_client_agent());
        let absent: BTreeSet<&TaskId> =
            running.map(|member| member.task.arn.id()).filter(|task| !known.contains(task)).collect();
        if !absent.is_empty() {
            catalog.extend(self.catalog(&cluster.arn, tenancies).await?.of_tasks(&absent));
        }
        let on_agents = cluster.tasks.iter().filter(|member| member.definition.runs_client_agent());
        let services: BTreeSet<&MeshService> = on_agents.map(|member| &member.identity.service).collect();
        let tasks: BTreeSet<&TaskId> = cluster.tasks.iter().map(|member| member.task.arn.id()).collect();
        for service in services {
            for (instance, checks) in self.consul.service_health(&service.name, &service.tenancy).await? {
                if instance.node != cluster.arn.as_str() && tasks.contains(&instance.task) {
                    catalog.instances.push(instance);
                    catalog.checks.extend(checks);
                }
            }
        }
        Ok(())
    }

    /// The outlier detection that Consul has for the services whose tasks bring some: one request for each of them, and another one
    /// for the token if Consul has none.
    async fn outlier_detection(
        &self,
        cluster: &InspectedCluster,
    ) -> BTreeMap<MeshService, Result<Option<OutlierDetection>, ConsulError>> {
        let mut found = BTreeMap::new();
        for service in cluster.brought_outlier_detection().map(|(service, ..)| service) {
            if !found.contains_key(service) {
                found.insert(service.clone(), self.consul.outlier_detection(service).await);
            }
        }
        found
    }

    /// What ECS runs in a cluster.
    async fn cluster(
        &self,
        arn: &ClusterArn,
        problems: &mut Vec<InspectionError>,
    ) -> Result<InspectedCluster, EcsError> {
        let listed = list_tasks(self.ecs, arn).await?;
        let services = self.ecs.service_states(arn).await?;
        let used = listed.described.iter().filter_map(|task| task.definition.as_ref());
        let wanted = services.iter().filter_map(|service| service.definition.as_ref());
        let mut definitions = read_definitions(self.ecs, used.chain(wanted), self.deadline).await;
        problems.extend(definitions.errors().cloned().map(InspectionError::Call));
        for _ in 0..MOST_REVISIONS_BACK {
            let earlier = definitions.before_untagged();
            if earlier.is_empty() {
                break;
            }
            let earlier = read_definitions(self.ecs, &earlier, self.deadline).await;
            // What ECS has deleted had no tag that is still known.
            let unread = earlier.errors().filter(|error| !error.is_unknown_definition());
            problems.extend(unread.cloned().map(InspectionError::Call));
            definitions.extend(earlier);
        }
        let malformed = |source| EcsError::Malformed { subject: format!("cluster {arn}"), source };
        let home = ClusterSelection::parse(arn.as_str(), None).map_err(malformed)?;
        let names = SecretNames::new(self.secret_prefix.clone(), None, self.default_tenancy.clone(), &home);
        let mut cluster = InspectedCluster::new(arn.clone(), names, definitions);
        let ListedTasks { described, undescribed } = &listed;
        cluster.keep_undescribed(undescribed.running.iter().chain(&undescribed.stopped), problems);
        cluster.sort(described.clone(), services, &self.default_tenancy, problems);
        cluster.listed = listed;
        Ok(cluster)
    }
}

fn known<T>(answer: Result<T, impl Into<InspectionError>>, problems: &mut Vec<InspectionError>) -> Option<T> {
    answer.map_err(|error| problems.push(error.into())).ok()
}
