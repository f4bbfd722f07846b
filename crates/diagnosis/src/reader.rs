//! Reads clusters: first what Consul has, then what ECS runs, so that a task that starts meanwhile is not an instance
//! without a task.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use aws::ecs::{AwsEcs, Clusters as _, EcsError, TaskDefinitions as _, Tasks as _};
use consul::{Acl as _, Catalog as _, ConsulError, HttpConsul, Logins as _, Permissions as _};
use futures::{StreamExt, stream};
use mesh::{
    admission::TokenFacts,
    arn::{ClusterArn, TaskArn, TaskDefinitionArn, TaskId},
    catalog::CatalogNode,
    cluster_selection::ClusterSelection,
    consul_ecs::SERVICE_METHOD,
    definition::{MeshService, TaskDefinition},
    permissions::{Permission, Segment},
    repair::NodeReading,
    secret_name::{SecretNamePrefix, SecretNames},
    tenancy::Tenancy,
    token::ListedToken,
};

use crate::{
    observed::{CatalogReading, Observed, ObservedCluster},
    tokens::Tokens,
};

/// The most concurrent `DescribeTaskDefinition` calls: ECS limits them to about 20 per second.
const CONCURRENCY: usize = 8;

/// Reads clusters.
pub struct Reader<'a> {
    ecs: &'a AwsEcs,
    consul: &'a HttpConsul,
    scope: Scope,
}

impl<'a> Reader<'a> {
    pub fn new(ecs: &'a AwsEcs, consul: &'a HttpConsul, scope: Scope) -> Self {
        Self { ecs, consul, scope }
    }

    /// Reads clusters. `progress` is called with what is read next.
    pub async fn read(&self, clusters: &[ClusterArn], progress: &(dyn Fn(&str) + Sync)) -> Observed {
        progress("Consul");
        let (tenancies, problems) = match self.tenancies().await {
            Ok(tenancies) => (Some(tenancies), Vec::new()),
            Err(reason) => (None, vec![reason]),
        };
        self.read_clusters(clusters, tenancies.as_deref(), problems, progress).await
    }

    /// Reads what ECS runs in clusters, without Consul.
    pub async fn read_ecs(&self, clusters: &[ClusterArn], progress: &(dyn Fn(&str) + Sync)) -> Observed {
        // On the heap: `doctor` would carry the space of the reads of Consul.
        Box::pin(self.read_clusters(clusters, None, Vec::new(), progress)).await
    }

    /// Reads what ECS runs in clusters, and what Consul has of them in these tenancies.
    async fn read_clusters(
        &self,
        clusters: &[ClusterArn],
        tenancies: Option<&[Tenancy]>,
        problems: Vec<String>,
        progress: &(dyn Fn(&str) + Sync),
    ) -> Observed {
        let mut observed = Observed { clusters: Vec::new(), problems };
        for (number, cluster) in clusters.iter().enumerate() {
            progress(&format!("cluster {} ({} of {})", cluster.name(), number + 1, clusters.len()));
            let mut catalog = match tenancies {
                Some(tenancies) => known(self.catalog(cluster, tenancies).await, &mut observed.problems),
                None => None,
            };
            match self.cluster(cluster, &mut observed.problems).await {
                Ok(read) => {
                    let missed = self.registered_since(&read, catalog.as_ref(), tenancies).await;
                    match (known(missed, &mut observed.problems), &mut catalog) {
                        (Some(missed), Some(catalog)) => catalog.extend(missed),
                        (None, _) => catalog = None,
                        (Some(_), None) => {}
                    }
                    let agents = self.on_agents(&read, &mut catalog).await;
                    if known(agents, &mut observed.problems).is_none() {
                        catalog = None;
                    }
                    observed.clusters.push(ObservedCluster { catalog, ..read });
                }
                Err(error) => observed.problems.push(of_ecs(&error)),
            }
        }
        observed.problems = without_repetitions(observed.problems);
        observed
    }

    /// The partitions that tasks may be in. Consul leaves out what a token may not read, and only newer versions say so:
    /// whether it may is asked first.
    async fn tenancies(&self) -> Result<Vec<Tenancy>, String> {
        let read_all = |resource| Permission { resource, access: "read", segment: Segment::All };
        let home = &self.scope.default_tenancy;
        let missing = self.consul.missing_permissions(home, &["node", "service"].map(read_all)).await;
        let missing = missing.map_err(|error| of_consul(&error))?;
        if !missing.is_empty() {
            let rules: Vec<String> = missing.iter().map(ToString::to_string).collect();
            return Err(format!(
                "Consul could not be read: the token in CONSUL_HTTP_TOKEN or CONSUL_HTTP_TOKEN_FILE lacks {}",
                rules.join(" and ")
            ));
        }
        if home.partition().is_none() {
            return Ok(vec![home.clone()]);
        }
        let partitions = self.consul.partitions().await.map_err(|error| of_consul(&error))?;
        Ok(partitions.into_iter().map(Tenancy::default_namespace_of).collect())
    }

    /// The tokens of tasks and services; `None` if ACLs are off.
    ///
    /// # Errors
    /// Why they could not be read, in one sentence.
    pub async fn tokens(&self) -> Result<Option<Tokens>, String> {
        let list = Permission { resource: "acl", access: "read", segment: Segment::Whole };
        let missing = self.consul.missing_permissions(&self.scope.default_tenancy, &[list]).await;
        if !missing.map_err(|error| of_consul(&error))?.is_empty() {
            return Err(
                "Consul's tokens could not be read: the token in CONSUL_HTTP_TOKEN lacks acl = \"read\"".to_owned()
            );
        }
        let is_wanted = |token: &ListedToken| {
            let is_login = token.login().is_some() || token.auth_method.as_deref() == Some(SERVICE_METHOD);
            is_login || token.mark().is_some()
        };
        let mut all = Vec::new();
        for tenancy in self.tenancies().await? {
            let listed = self.consul.tokens(&tenancy, &is_wanted).await;
            let Some(listed) = listed.map_err(|error| of_consul(&error))? else { return Ok(None) };
            all.extend(listed);
        }
        let facts = self.token_facts(&all).await.map_err(|error| of_consul(&error));
        Ok(Some(Tokens { facts, listed: all, consul_hosts: self.scope.consul_hosts.clone() }))
    }

    /// What decides what login tokens grant: the datacenter, and each role that one of them links. `None` with the default policy
    /// `allow`.
    async fn token_facts(&self, tokens: &[ListedToken]) -> Result<Option<TokenFacts>, ConsulError> {
        let datacenter = self.consul.datacenter().await?;
        if datacenter.allows_by_default {
            return Ok(None);
        }
        let logins = tokens.iter().filter(|token| token.login().is_some() && token.auth_method.is_some());
        let linked: BTreeSet<(Tenancy, String)> = logins.flat_map(ListedToken::linked_roles).collect();
        let mut roles = BTreeMap::new();
        for (tenancy, name) in linked {
            let grants = self.consul.role(&tenancy, &name).await?;
            roles.insert((tenancy, name), grants.unwrap_or_default());
        }
        Ok(Some(TokenFacts { datacenter: datacenter.name, roles }))
    }

    /// The node of a cluster, in each partition.
    async fn catalog(&self, cluster: &ClusterArn, tenancies: &[Tenancy]) -> Result<CatalogReading, ConsulError> {
        let mut reading = CatalogReading::default();
        for tenancy in tenancies {
            let (cluster, tenancy) = (cluster.clone(), tenancy.clone());
            // Consul finds a node by its name in any case.
            let node = self.consul.node(cluster.as_str(), &tenancy).await?;
            let Some(mut node) = node.filter(|node| node.name == cluster.as_str()) else {
                reading.nodes.push(NodeReading::missing(cluster, tenancy));
                continue;
            };
            reading.checks.extend(self.consul.node_checks(cluster.as_str(), &tenancy).await?);
            node.set_namesakes_aside(&cluster);
            let CatalogNode { instances, others, .. } = node;
            reading.instances.extend(instances);
            reading.nodes.push(NodeReading { cluster, tenancy, exists: true, others });
        }
        Ok(reading)
    }

    /// What Consul has by now of the running tasks that it did not have: they may have been registered between the two readings.
    async fn registered_since(
        &self,
        read: &ObservedCluster,
        catalog: Option<&CatalogReading>,
        tenancies: Option<&[Tenancy]>,
    ) -> Result<CatalogReading, ConsulError> {
        let (Some(catalog), Some(tenancies)) = (catalog, tenancies) else { return Ok(CatalogReading::default()) };
        let known: BTreeSet<&TaskId> = catalog.instances.iter().map(|instance| &instance.task).collect();
        let running =
            read.tasks.iter().filter(|member| member.task.is_running() && !member.definition.runs_client_agent());
        let absent: BTreeSet<&TaskId> =
            running.map(|member| member.task.arn.id()).filter(|task| !known.contains(task)).collect();
        if absent.is_empty() {
            return Ok(CatalogReading::default());
        }
        Ok(self.catalog(&read.arn, tenancies).await?.of_tasks(&absent))
    }

    /// Adds the instances on client agents (consul-ecs up to 0.6).
    async fn on_agents(&self, read: &ObservedCluster, catalog: &mut Option<CatalogReading>) -> Result<(), ConsulError> {
        let Some(catalog) = catalog else { return Ok(()) };
        let on_agents = read.tasks.iter().filter(|member| member.definition.runs_client_agent());
        let services: BTreeSet<&MeshService> = on_agents.map(|member| &member.identity.service).collect();
        for service in services {
            let tasks = read.tasks.iter().map(|member| member.task.arn.id());
            let tasks: BTreeSet<_> = tasks.collect();
            for (instance, checks) in self.consul.service_health(&service.name, &service.tenancy).await? {
                if instance.node != read.arn.as_str() && tasks.contains(&instance.task) {
                    catalog.instances.push(instance);
                    catalog.checks.extend(checks);
                }
            }
        }
        Ok(())
    }

    /// What ECS runs in a cluster.
    async fn cluster(&self, arn: &ClusterArn, problems: &mut Vec<String>) -> Result<ObservedCluster, EcsError> {
        let listed = self.ecs.list_tasks(arn).await?;
        let all: BTreeSet<TaskArn> = listed.running.into_iter().chain(listed.stopped).collect();
        let tasks = self.ecs.describe_tasks(arn, &Vec::from_iter(all.clone())).await?;
        let services = self.ecs.service_states(arn).await?;
        let used = tasks.iter().filter_map(|task| task.definition.as_ref());
        let wanted = services.iter().filter_map(|service| service.definition.as_ref());
        let definitions = self.definitions(used.chain(wanted).cloned().collect(), problems).await;
        let malformed = |source| EcsError::Malformed { subject: format!("cluster {arn}"), source };
        let home = ClusterSelection::parse(arn.as_str(), None).map_err(malformed)?;
        let Scope { secret_prefix, default_tenancy, .. } = &self.scope;
        let names = SecretNames::new(secret_prefix.clone(), None, default_tenancy.clone(), &home);
        let mut read = ObservedCluster::new(arn.clone(), names, definitions);
        read.keep_undescribed(&all, &tasks, problems);
        read.sort(tasks, services, default_tenancy, problems);
        Ok(read)
    }

    async fn definitions(
        &self,
        wanted: BTreeSet<TaskDefinitionArn>,
        problems: &mut Vec<String>,
    ) -> BTreeMap<TaskDefinitionArn, Arc<TaskDefinition>> {
        let reads = wanted.into_iter().map(|arn| async move { (self.ecs.task_definition(&arn).await, arn) });
        let mut reads = stream::iter(reads).buffered(CONCURRENCY);
        let mut found = BTreeMap::new();
        while let Some((answer, arn)) = reads.next().await {
            match answer {
                Ok(definition) => drop(found.insert(arn, definition)),
                Err(error) => problems.push(of_ecs(&error)),
            }
        }
        found
    }
}

fn known<T>(answer: Result<T, ConsulError>, problems: &mut Vec<String>) -> Option<T> {
    answer.map_err(|error| problems.push(of_consul(&error))).ok()
}

/// One cause often affects several clusters.
fn without_repetitions(mut problems: Vec<String>) -> Vec<String> {
    let mut said = BTreeSet::new();
    problems.retain(|problem| said.insert(problem.clone()));
    problems
}

/// Why the clusters are not known.
#[derive(Debug, thiserror::Error)]
pub enum SelectError {
    #[error(transparent)]
    Ecs(#[from] EcsError),
    #[error("no cluster {name:?} in this account and region; found {}", list(.known))]
    Unknown {
        /// The name.
        name: String,
        known: Vec<String>,
    },
}

fn list(names: &[String]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

/// The clusters of these ARNs and names; without any, all clusters. ECS lists its clusters only if one is not given by its ARN.
///
/// # Errors
/// ECS could not list its clusters, or a name is not among them.
pub async fn select_clusters(ecs: &AwsEcs, wanted: &[String]) -> Result<Vec<ClusterArn>, SelectError> {
    let by_arn: Result<Vec<ClusterArn>, _> = wanted.iter().map(|text| text.parse()).collect();
    if let (Ok(clusters), false) = (by_arn, wanted.is_empty()) {
        return Ok(clusters);
    }
    let mut all = ecs.list_clusters().await?;
    all.sort();
    if wanted.is_empty() {
        return Ok(all);
    }
    let find = |text: &String| {
        let found = all.iter().find(|cluster| cluster.is_named_by(text)).cloned();
        found.or_else(|| text.parse().ok()).ok_or_else(|| SelectError::Unknown {
            name: text.clone(),
            known: all.iter().map(|cluster| cluster.name().to_owned()).collect(),
        })
    };
    wanted.iter().map(find).collect()
}

/// What matters here of the deployment's configuration.
#[derive(Debug, Clone)]
pub struct Scope {
    /// The prefix of the names of secrets.
    pub secret_prefix: SecretNamePrefix,
    /// The tenancy of tasks without Enterprise tags.
    pub default_tenancy: Tenancy,
    /// The hosts of this Consul, as the controller and this reading address it, in lower case.
    pub consul_hosts: BTreeSet<String>,
}

/// Why ECS could not be read.
pub(crate) fn of_ecs(error: &EcsError) -> String {
    match error {
        EcsError::UnknownCluster(cluster) => format!("cluster {cluster}: ECS does not know it"),
        other => other.to_string(),
    }
}

/// Why Consul could not be read.
pub fn of_consul(error: &ConsulError) -> String {
    match error {
        ConsulError::CredentialRejected { .. } => {
            "Consul could not be read: it does not know the token in CONSUL_HTTP_TOKEN or CONSUL_HTTP_TOKEN_FILE"
                .to_owned()
        }
        ConsulError::PermissionDenied { subject, reason } => {
            format!(
                "Consul could not be read: {subject}: the token in CONSUL_HTTP_TOKEN or CONSUL_HTTP_TOKEN_FILE lacks a permission: {reason}"
            )
        }
        ConsulError::Unavailable { reason, .. } => {
            format!("Consul could not be read at CONSUL_HTTP_ADDR: {reason}")
        }
        other => format!("Consul could not be read: {other}"),
    }
}
