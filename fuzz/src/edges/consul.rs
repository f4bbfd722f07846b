//! Consul of the fake world.

use async_trait::async_trait;
use consul::{
    Acl, Agents, Catalog, ConsulBootstrap, ConsulError, Datacenter, Fields, Logins, NewToken, Object, OwnToken,
    Permissions, Release, Token, TokenFilter,
};
use mesh::{
    admission::AuthMethod,
    arn::{ClusterArn, TaskId},
    catalog::{CatalogNode, CheckStatus, HealthCheck, Member, OtherService, ServiceInstance},
    consul_ecs::Registration,
    names::ServiceName,
    permissions::Permission,
    tenancy::{Tenancy, TenancyName},
    token::{AccessorId, Grants, ListedToken},
};

use super::{CLUSTER, RUNNING, STOPPED, World, is_ours, task};

/// The login tokens of the two tasks.
const RUNNING_LOGIN: &str = "6e4a3bde-6d1e-4d3c-a4cc-1f2d3c4b5a69";
const STOPPED_LOGIN: &str = "7f5b4cef-7e2f-4e4d-b5dd-2f3e4d5c6b7a";

/// A token that was created by hand.
const MADE_BY_HAND: &str = "11111111-2222-4333-8444-555555555555";

fn a_strangers() -> OtherService {
    OtherService {
        id: "a stranger's".to_owned(),
        name: "a stranger's".to_owned(),
        kind: String::new(),
        tenancy: Tenancy::Community,
    }
}

fn instance(id: &str) -> ServiceInstance {
    ServiceInstance {
        node: CLUSTER.to_owned(),
        id: format!("web-{id}"),
        name: "web".to_owned(),
        kind: String::new(),
        task: id.parse().expect("an ID"),
        task_arn: Some(task(id)),
        modify_index: 7,
        tenancy: Tenancy::Community,
    }
}

fn login(accessor: &str, id: &str) -> ListedToken {
    let meta = serde_json::json!({ "consul.hashicorp.com/task-id": id, "consul.hashicorp.com/cluster": CLUSTER });
    let description = format!("token created via login: {meta}");
    ListedToken {
        accessor: accessor.parse().expect("a UUID"),
        login: consul::login_mark(&description),
        description,
        auth_method: None,
        is_local: true,
        grants: Grants::default(),
        created_at: None,
        tenancy: Tenancy::Community,
    }
}

fn absent(subject: &str) -> ConsulError {
    ConsulError::NotFound { subject: subject.to_owned() }
}

#[async_trait]
impl Acl for World {
    async fn token(&self, _: &Tenancy, _: AccessorId) -> Result<Option<Token>, ConsulError> {
        Ok(None)
    }

    async fn create_token(&self, new: &NewToken) -> Result<Token, ConsulError> {
        assert!(new.description.contains(CLUSTER), "a token without the controller's mark: {}", new.description);
        Ok(Token {
            pair: new.pair.clone(),
            description: new.description.clone(),
            grants: serde_json::Map::new(),
            tenancy: new.tenancy.clone(),
        })
    }

    async fn update_token(&self, _: &NewToken) -> Result<(), ConsulError> {
        Ok(())
    }

    async fn delete_token(&self, _: &Tenancy, accessor: AccessorId) -> Result<(), ConsulError> {
        // An event may report either task as stopped; no other token may be deleted.
        assert!([RUNNING_LOGIN, STOPPED_LOGIN].contains(&accessor.to_string().as_str()), "{accessor} is not ours");
        Ok(())
    }

    async fn tokens(&self, tenancy: &Tenancy, keep: &TokenFilter<'_>) -> Result<Option<Vec<ListedToken>>, ConsulError> {
        let hand_made = ListedToken { description: "by hand".to_owned(), login: None, ..login(MADE_BY_HAND, STOPPED) };
        let mut tokens = vec![login(RUNNING_LOGIN, RUNNING), login(STOPPED_LOGIN, STOPPED), hand_made];
        for token in &mut tokens {
            token.tenancy = tenancy.clone();
        }
        tokens.retain(|token| keep(token));
        Ok(Some(tokens))
    }

    async fn create_policy(&self, _: &Object) -> Result<(), ConsulError> {
        Ok(())
    }

    async fn delete_policy(&self, _: &Object) -> Result<bool, ConsulError> {
        Ok(false)
    }
}

#[async_trait]
impl Catalog for World {
    async fn partitions(&self) -> Result<Vec<TenancyName>, ConsulError> {
        Ok(Vec::new())
    }

    async fn synthetic_nodes(&self, _: &Tenancy) -> Result<Vec<String>, ConsulError> {
        Ok(vec![CLUSTER.to_owned()])
    }

    async fn instances(
        &self,
        cluster: &ClusterArn,
        _: &Tenancy,
        tasks: &[TaskId],
    ) -> Result<Vec<ServiceInstance>, ConsulError> {
        is_ours(cluster);
        let all = [RUNNING, STOPPED].map(instance);
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
        assert_eq!(name, CLUSTER, "another cluster's node was read");
        let instances = [RUNNING, STOPPED].map(instance).to_vec();
        Ok(Some(CatalogNode { is_synthetic: true, instances, others: vec![a_strangers()] }))
    }

    async fn node_checks(&self, _: &str, _: &Tenancy) -> Result<Vec<HealthCheck>, ConsulError> {
        Ok(Vec::new())
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
            modify_index: 7,
            tenancy: instance.tenancy.clone(),
        };
        Ok(instances.iter().map(check).collect())
    }

    async fn deregister(&self, instances: &[ServiceInstance]) -> Result<(), ConsulError> {
        assert!(instances.iter().all(|gone| gone.id != "a stranger's" && gone.node == CLUSTER), "{instances:?}");
        Ok(())
    }

    async fn set_checks(&self, checks: &[HealthCheck]) -> Result<(), ConsulError> {
        assert!(checks.iter().all(|check| check.node == CLUSTER), "{checks:?}");
        Ok(())
    }

    async fn register(&self, registration: &Registration) -> Result<(), ConsulError> {
        panic!("{} is registered, and none of the tasks runs mesh-init", registration.id);
    }

    async fn deregister_service(&self, node: &str, id: &str, _: &Tenancy) -> Result<(), ConsulError> {
        panic!("service {id} on {node} was not registered by a sweep");
    }

    async fn deregister_node(&self, node: &str, _: &Tenancy) -> Result<(), ConsulError> {
        panic!("the cluster of node {node} is not deleted");
    }
}

#[async_trait]
impl Agents for World {
    async fn members(&self, _: &Tenancy) -> Result<Vec<Member>, ConsulError> {
        Ok(Vec::new())
    }

    async fn force_leave(&self, node: &str, _: &Tenancy) -> Result<(), ConsulError> {
        panic!("there is no agent {node}");
    }
}

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
}

#[async_trait]
impl Permissions for World {
    async fn missing_permissions(&self, _: &Tenancy, _: &[Permission]) -> Result<Vec<Permission>, ConsulError> {
        Ok(Vec::new())
    }

    async fn own_token(&self) -> Result<Option<OwnToken>, ConsulError> {
        Ok(None)
    }
}

#[async_trait]
impl Release for World {
    async fn version(&self) -> Result<String, ConsulError> {
        Err(absent("Consul's release"))
    }
}

#[async_trait]
impl Logins for World {
    async fn datacenter(&self) -> Result<Datacenter, ConsulError> {
        Ok(Datacenter { name: "dc1".to_owned(), is_primary: true, allows_by_default: false })
    }

    async fn auth_method(&self, _: &Tenancy, _: &str) -> Result<Option<AuthMethod>, ConsulError> {
        Ok(None)
    }

    async fn role(&self, _: &Tenancy, _: &str) -> Result<Option<Grants>, ConsulError> {
        Ok(None)
    }
}
