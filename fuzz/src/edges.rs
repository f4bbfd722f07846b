//! A small world for events to happen in: one cluster, one mesh service with a living and a stopped task, and what they
//! left in Consul. Whoever touches anything else breaks a promise.

use std::{
    collections::BTreeMap,
    net::IpAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use ecs_mesh_controller::{
    consul::{Consul, ConsulBootstrap, ConsulError, Fields},
    controller::{Edges, SystemClock, SystemEntropy},
    ecs::{ClusterStatus, Ecs, EcsError, TaskList},
    mesh::{
        arn::{ClusterArn, TaskArn, TaskDefinitionArn, TaskId},
        bootstrap::object::Object,
        catalog::{CatalogNode, CheckStatus, CheckUpdate, HealthCheck, Member, ServiceInstance},
        identity::TaskDefinition,
        permission::Permission,
        phase::TaskPhase,
        secret::{SecretState, StoredSecret},
        service_name::ServiceName,
        tags::{MESH_TAG, Tags},
        task::DescribedTask,
        tenancy::{Tenancy, TenancyName},
        token::{AccessorId, ListedToken, NewToken, Token},
    },
    queue::{Queue, QueueError},
    secrets::{SecretStore, SecretsError},
};

/// The cluster that is looked after.
pub const CLUSTER: &str = "arn:aws:ecs:us-east-1:123456789012:cluster/prod";
/// The task that lives.
pub const LIVING: &str = "0123456789abcdef0123456789abcdef";
/// The task that does not.
pub const STOPPED: &str = "fedcba9876543210fedcba9876543210";
/// The login tokens of the two.
const LIVING_LOGIN: &str = "6e4a3bde-6d1e-4d3c-a4cc-1f2d3c4b5a69";
const STOPPED_LOGIN: &str = "7f5b4cef-7e2f-4e4d-b5dd-2f3e4d5c6b7a";

/// Everything outside of the function.
#[derive(Default)]
pub struct World {
    secrets: Mutex<BTreeMap<String, SecretState>>,
}

/// The edges that lead to a new world.
pub fn edges() -> Edges {
    let world = Arc::new(World::default());
    Edges {
        consul: world.clone(),
        bootstrap: world.clone(),
        ecs: world.clone(),
        secrets: world.clone(),
        queue: world,
        clock: Arc::new(SystemClock),
        entropy: Arc::new(SystemEntropy),
    }
}

fn own_cluster() -> ClusterArn {
    CLUSTER.parse().expect("an ARN")
}

fn task(id: &str) -> TaskArn {
    TaskArn::in_cluster(&own_cluster(), &id.parse().expect("an ID"))
}

fn is_ours(cluster: &ClusterArn) {
    assert_eq!(cluster.as_str(), CLUSTER, "another cluster is none of our business");
}

fn instance(id: &str) -> ServiceInstance {
    ServiceInstance {
        node: CLUSTER.to_owned(),
        id: format!("web-{id}"),
        name: "web".to_owned(),
        task: id.parse().expect("an ID"),
        task_arn: Some(task(id)),
        modify_index: 7,
        tenancy: Tenancy::Community,
    }
}

fn login(accessor: &str, id: &str) -> ListedToken {
    let meta = serde_json::json!({ "consul.hashicorp.com/task-id": id, "consul.hashicorp.com/cluster": CLUSTER });
    ListedToken {
        accessor: accessor.parse().expect("a UUID"),
        description: format!("token created via login: {meta}"),
        policies: Vec::new(),
        created_at: None,
        tenancy: Tenancy::Community,
    }
}

fn absent(subject: &str) -> ConsulError {
    ConsulError::NotFound { subject: subject.to_owned() }
}

#[async_trait]
impl Consul for World {
    async fn token(&self, _: &Tenancy, _: AccessorId) -> Result<Option<Token>, ConsulError> {
        Ok(None)
    }

    async fn create_token(&self, new: &NewToken) -> Result<Token, ConsulError> {
        assert!(new.description.contains(CLUSTER), "a token that nobody could know for ours: {}", new.description);
        Ok(Token { pair: new.pair.clone(), description: new.description.clone(), grants: serde_json::Map::new() })
    }

    async fn update_token(&self, _: &NewToken) -> Result<(), ConsulError> {
        Ok(())
    }

    async fn delete_token(&self, _: &Tenancy, accessor: AccessorId) -> Result<(), ConsulError> {
        // An event may say of either that it has stopped; of others there is no token of ours to delete.
        assert!([LIVING_LOGIN, STOPPED_LOGIN].contains(&accessor.to_string().as_str()), "{accessor} is not ours");
        Ok(())
    }

    async fn tokens(&self, tenancy: &Tenancy) -> Result<Vec<ListedToken>, ConsulError> {
        let hand_made = ListedToken { description: "by hand".to_owned(), ..login(CANARY_ACCESSOR, STOPPED) };
        let mut tokens = vec![login(LIVING_LOGIN, LIVING), login(STOPPED_LOGIN, STOPPED), hand_made];
        for token in &mut tokens {
            token.tenancy = tenancy.clone();
        }
        Ok(tokens)
    }

    async fn ensure_client_policy(&self, _: &Tenancy, _: &str) -> Result<(), ConsulError> {
        Ok(())
    }

    async fn delete_client_policy(&self, _: &Tenancy, _: &str) -> Result<bool, ConsulError> {
        Ok(false)
    }

    async fn partitions(&self) -> Result<Vec<TenancyName>, ConsulError> {
        Ok(Vec::new())
    }

    async fn instances(
        &self,
        cluster: &ClusterArn,
        _: &Tenancy,
        tasks: &[TaskId],
    ) -> Result<Vec<ServiceInstance>, ConsulError> {
        is_ours(cluster);
        let all = [LIVING, STOPPED].map(instance);
        Ok(all.into_iter().filter(|instance| tasks.contains(&instance.task)).collect())
    }

    async fn instances_of(
        &self,
        _: &ServiceName,
        _: &Tenancy,
        _: &[TaskId],
    ) -> Result<Vec<ServiceInstance>, ConsulError> {
        Ok(Vec::new())
    }

    async fn node(&self, name: &str, _: &Tenancy) -> Result<Option<CatalogNode>, ConsulError> {
        assert_eq!(name, CLUSTER, "another cluster's node is none of our business");
        let instances = [LIVING, STOPPED].map(instance).to_vec();
        Ok(Some(CatalogNode { is_synthetic: true, instances, others: vec!["a stranger's".to_owned()] }))
    }

    async fn node_checks(&self, _: &str, _: &Tenancy) -> Result<Vec<HealthCheck>, ConsulError> {
        Ok(Vec::new())
    }

    async fn members(&self, _: &Tenancy) -> Result<Vec<Member>, ConsulError> {
        Ok(Vec::new())
    }

    async fn force_leave(&self, node: &str, _: &Tenancy) -> Result<(), ConsulError> {
        panic!("there is no agent {node}");
    }

    async fn deregister_node(&self, node: &str, _: &Tenancy) -> Result<(), ConsulError> {
        panic!("nobody has deleted the cluster of node {node}");
    }

    async fn deregister_check(&self, check: &HealthCheck) -> Result<(), ConsulError> {
        panic!("check {} is not ours", check.id);
    }

    async fn checks(&self, instances: &[ServiceInstance]) -> Result<Vec<HealthCheck>, ConsulError> {
        let check = |instance: &ServiceInstance| HealthCheck {
            node: instance.node.clone(),
            id: format!("{}-app", instance.id),
            name: "Consul ECS health check synced".to_owned(),
            kind: "consul-ecs-health-check".to_owned(),
            notes: String::new(),
            service_id: instance.id.clone(),
            service_name: instance.name.clone(),
            status: CheckStatus::Passing,
            output: String::new(),
            definition: serde_json::Value::Null,
            tenancy: instance.tenancy.clone(),
        };
        Ok(instances.iter().map(check).collect())
    }

    async fn deregister(&self, instances: &[ServiceInstance]) -> Result<(), ConsulError> {
        assert!(instances.iter().all(|gone| gone.id != "a stranger's" && gone.node == CLUSTER), "{instances:?}");
        Ok(())
    }

    async fn set_checks(&self, updates: &[CheckUpdate]) -> Result<(), ConsulError> {
        assert!(updates.iter().all(|update| update.check.node == CLUSTER), "{updates:?}");
        Ok(())
    }
}

/// A token that somebody made by hand.
const CANARY_ACCESSOR: &str = "11111111-2222-4333-8444-555555555555";

#[async_trait]
impl ConsulBootstrap for World {
    async fn is_primary(&self) -> Result<bool, ConsulError> {
        Ok(true)
    }

    async fn namespaces(&self, _: &TenancyName) -> Result<Vec<TenancyName>, ConsulError> {
        Ok(Vec::new())
    }

    async fn read(&self, _: &Object) -> Result<Option<Fields>, ConsulError> {
        Ok(None)
    }

    async fn create(&self, object: &Object, _: Fields) -> Result<(), ConsulError> {
        Err(absent(&object.name))
    }

    async fn update(&self, object: &Object, _: Fields) -> Result<(), ConsulError> {
        Err(absent(&object.name))
    }

    async fn lacking(&self, _: &Tenancy, _: &[Permission]) -> Result<Vec<Permission>, ConsulError> {
        Ok(Vec::new())
    }
}

#[async_trait]
impl Ecs for World {
    async fn task_definition(&self, arn: &TaskDefinitionArn) -> Result<Arc<TaskDefinition>, EcsError> {
        Ok(Arc::new(TaskDefinition {
            arn: arn.clone(),
            tags: Tags::from_iter([(MESH_TAG, "true")]),
            config_json: None,
            containers: Vec::new(),
        }))
    }

    fn forget(&self, _: &TaskDefinitionArn) {}

    async fn cluster_statuses(&self, clusters: &[ClusterArn]) -> Result<BTreeMap<ClusterArn, ClusterStatus>, EcsError> {
        clusters.iter().for_each(is_ours);
        Ok(clusters.iter().map(|cluster| (cluster.clone(), ClusterStatus::Active)).collect())
    }

    async fn list_running(&self, cluster: &ClusterArn) -> Result<Vec<TaskArn>, EcsError> {
        is_ours(cluster);
        Ok(vec![task(LIVING)])
    }

    async fn list_tasks(&self, cluster: &ClusterArn) -> Result<TaskList, EcsError> {
        is_ours(cluster);
        Ok(TaskList { running: vec![task(LIVING)], stopped: vec![task(STOPPED)] })
    }

    async fn describe_tasks(&self, cluster: &ClusterArn, tasks: &[TaskArn]) -> Result<Vec<DescribedTask>, EcsError> {
        is_ours(cluster);
        let described = |id: &str, phase| DescribedTask {
            arn: task(id),
            definition: "arn:aws:ecs:us-east-1:123456789012:task-definition/web:7".parse().expect("an ARN"),
            phase,
            tags: Tags::default(),
            stopped_at: None,
            containers: Vec::new(),
        };
        let all = [described(LIVING, TaskPhase::Active), described(STOPPED, TaskPhase::Stopped)];
        Ok(all.into_iter().filter(|task| tasks.contains(&task.arn)).collect())
    }

    async fn addresses(&self, _: &str, _: &str) -> Result<Vec<IpAddr>, EcsError> {
        Ok(Vec::new())
    }
}

#[async_trait]
impl SecretStore for World {
    async fn read(&self, name: &str) -> Result<StoredSecret, SecretsError> {
        let held = self.secrets.lock().expect("one thread").get(name).cloned();
        let state = held.unwrap_or(SecretState::Missing);
        Ok(StoredSecret { state, version: None, written_at: None })
    }

    async fn write(&self, name: &str, _: &StoredSecret, state: &SecretState) -> Result<StoredSecret, SecretsError> {
        let legal = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-_".contains(&b);
        assert!(name.starts_with("consul-ecs-") && name.bytes().all(legal), "not a secret of ours: {name:?}");
        self.secrets.lock().expect("one thread").insert(name.to_owned(), state.clone());
        Ok(StoredSecret { state: state.clone(), version: None, written_at: None })
    }
}

#[async_trait]
impl Queue for World {
    async fn send_later(&self, _: &[String], _: Duration) -> Result<(), QueueError> {
        Ok(())
    }

    async fn return_after(&self, _: &[(String, Duration)]) -> Result<(), QueueError> {
        Ok(())
    }
}
