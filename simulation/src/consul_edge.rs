//! Simulated Consul, as one environment reaches it.

use async_trait::async_trait;
use consul::{
    Acl, Agents, Catalog, ConsulBootstrap, ConsulError, Fields, NewToken, Object, Permissions, Token, TokenFilter,
};
use mesh::{
    arn::{ClusterArn, TaskId},
    catalog::{CatalogNode, HealthCheck, Member, ServiceInstance},
    permission::Permission,
    service_name::ServiceName,
    tenancy::{Tenancy, TenancyName},
    token::{AccessorId, ListedToken},
};

use super::{
    calls::{Connection, Fault, Service},
    world::World,
};

/// Consul's edge. The bootstrap is not simulated.
pub(crate) struct ConsulEdge(pub Connection);

fn failed(fault: Fault) -> ConsulError {
    let subject = "call".to_owned();
    match fault {
        Fault::Throttled => ConsulError::Throttled { subject, retry_after: None },
        Fault::Unavailable => {
            ConsulError::Unavailable { subject, reason: "No cluster leader".to_owned(), had_no_effect: false }
        }
        Fault::Credential => ConsulError::CredentialRejected { subject },
    }
}

impl ConsulEdge {
    async fn call<T: std::fmt::Debug + Send + 'static>(
        &self,
        label: impl FnOnce() -> String,
        effect: impl FnMut(&mut World) -> Result<T, ConsulError> + Send + 'static,
    ) -> Result<T, ConsulError> {
        self.0.call(Service::Consul, label, effect, failed).await
    }
}

#[async_trait]
impl Acl for ConsulEdge {
    async fn token(&self, tenancy: &Tenancy, accessor: AccessorId) -> Result<Option<Token>, ConsulError> {
        let tenancy = tenancy.clone();
        self.call(|| format!("GET token {accessor}"), move |world| Ok(world.token(&tenancy, accessor))).await
    }

    async fn create_token(&self, new: &NewToken) -> Result<Token, ConsulError> {
        let asked = new.clone();
        let label = || format!("PUT token {}: the check", new.pair.accessor);
        self.call(label, move |world| world.check_new_token(&asked)).await?;
        let (asked, mut is_done) = (new.clone(), false);
        let label = || format!("PUT token {} {:?}: the write", new.pair.accessor, new.description);
        let effect = move |world: &mut World| {
            // The client has retried its request.
            if std::mem::replace(&mut is_done, true) {
                world.check_new_token(&asked)?;
            }
            Ok(world.commit_token(&asked))
        };
        self.call(label, effect).await
    }

    async fn update_token(&self, token: &NewToken) -> Result<(), ConsulError> {
        let asked = token.clone();
        let label = || format!("PUT token {} {:?}: update", token.pair.accessor, token.description);
        self.call(label, move |world| world.update_token(&asked)).await
    }

    async fn delete_token(&self, _: &Tenancy, accessor: AccessorId) -> Result<(), ConsulError> {
        let effect = move |world: &mut World| {
            world.delete_token(accessor);
            Ok(())
        };
        self.call(|| format!("DELETE token {accessor}"), effect).await
    }

    async fn tokens(&self, tenancy: &Tenancy, keep: &TokenFilter<'_>) -> Result<Vec<ListedToken>, ConsulError> {
        let tenancy = tenancy.clone();
        let all = self.call(|| "GET tokens".to_owned(), move |world| Ok(world.listed_tokens(&tenancy))).await?;
        Ok(all.into_iter().filter(|token| keep(token)).collect())
    }

    async fn create_policy(&self, policy: &Object) -> Result<(), ConsulError> {
        let name = policy.name.clone();
        let effect = move |world: &mut World| {
            world.consul.policies.insert(name.clone());
            Ok(())
        };
        self.call(|| "PUT client policy".to_owned(), effect).await
    }

    async fn delete_policy(&self, policy: &Object) -> Result<bool, ConsulError> {
        let name = policy.name.clone();
        self.call(|| "DELETE client policy".to_owned(), move |world| Ok(world.delete_policy(&name))).await
    }
}

#[async_trait]
impl Catalog for ConsulEdge {
    async fn partitions(&self) -> Result<Vec<TenancyName>, ConsulError> {
        let effect = |world: &mut World| Ok(world.tenancy.partition().cloned().into_iter().collect());
        self.call(|| "GET partitions".to_owned(), effect).await
    }

    async fn instances(
        &self,
        cluster: &ClusterArn,
        tenancy: &Tenancy,
        tasks: &[TaskId],
    ) -> Result<Vec<ServiceInstance>, ConsulError> {
        let (node, tenancy, asked) = (cluster.as_str().to_owned(), tenancy.clone(), tasks.to_vec());
        let label = || format!("GET instances of {tasks:?}");
        self.call(label, move |world| Ok(world.instances_on(&node, &tenancy, &asked))).await
    }

    async fn instances_of(
        &self,
        service: &ServiceName,
        tenancy: &Tenancy,
        tasks: &[TaskId],
    ) -> Result<Vec<ServiceInstance>, ConsulError> {
        let (name, tenancy, asked) = (service.to_string(), tenancy.clone(), tasks.to_vec());
        let label = || format!("GET instances of {service}, {tasks:?}");
        self.call(label, move |world| Ok(world.instances_of(&name, &tenancy, &asked))).await
    }

    async fn node(&self, name: &str, tenancy: &Tenancy) -> Result<Option<CatalogNode>, ConsulError> {
        let (asked, tenancy) = (name.to_owned(), tenancy.clone());
        self.call(|| format!("GET node {name}"), move |world| Ok(world.node(&asked, &tenancy))).await
    }

    async fn node_checks(&self, node: &str, _: &Tenancy) -> Result<Vec<HealthCheck>, ConsulError> {
        let asked = node.to_owned();
        self.call(|| format!("GET checks of {node}"), move |world| Ok(world.node_checks(&asked))).await
    }

    async fn checks(&self, instances: &[ServiceInstance]) -> Result<Vec<HealthCheck>, ConsulError> {
        if instances.is_empty() {
            return Ok(Vec::new());
        }
        let asked = instances.to_vec();
        self.call(|| "GET checks".to_owned(), move |world| Ok(world.checks_of(&asked))).await
    }

    async fn deregister(&self, instances: &[ServiceInstance]) -> Result<(), ConsulError> {
        let asked = instances.to_vec();
        let label = || format!("PUT txn: delete {:?}", instances.iter().map(|i| &i.id).collect::<Vec<_>>());
        self.call(label, move |world| world.deregister(&asked)).await
    }

    async fn set_checks(&self, checks: &[HealthCheck]) -> Result<(), ConsulError> {
        let asked = checks.to_vec();
        let label = || format!("PUT checks {:?}", checks.iter().map(|check| &check.id).collect::<Vec<_>>());
        self.call(label, move |world| world.set_checks(&asked)).await
    }

    async fn deregister_node(&self, node: &str, _: &Tenancy) -> Result<(), ConsulError> {
        let asked = node.to_owned();
        let effect = move |world: &mut World| {
            world.deregister_node(&asked);
            Ok(())
        };
        self.call(|| format!("PUT deregister node {node}"), effect).await
    }

    async fn deregister_check(&self, check: &HealthCheck) -> Result<(), ConsulError> {
        let gone = check.clone();
        let effect = move |world: &mut World| {
            world.deregister_check(&gone);
            Ok(())
        };
        self.call(|| format!("PUT deregister check {}", check.id), effect).await
    }
}

#[async_trait]
impl Agents for ConsulEdge {
    async fn members(&self, _: &Tenancy) -> Result<Vec<Member>, ConsulError> {
        self.call(|| "GET members".to_owned(), |world| Ok(world.members())).await
    }

    async fn force_leave(&self, node: &str, _: &Tenancy) -> Result<(), ConsulError> {
        let asked = node.to_owned();
        let effect = move |world: &mut World| {
            world.force_leave(&asked);
            Ok(())
        };
        self.call(|| format!("PUT force-leave {node}"), effect).await
    }
}

fn not_simulated() -> ConsulError {
    ConsulError::Refused { subject: "set-up".to_owned(), status: 500, reason: "not simulated".to_owned() }
}

#[async_trait]
impl ConsulBootstrap for ConsulEdge {
    async fn is_primary(&self) -> Result<bool, ConsulError> {
        Err(not_simulated())
    }

    async fn namespaces(&self, _: &TenancyName) -> Result<Vec<TenancyName>, ConsulError> {
        Err(not_simulated())
    }

    async fn read(&self, _: &Object) -> Result<Option<Fields>, ConsulError> {
        Err(not_simulated())
    }

    async fn create(&self, _: &Object, _: Fields) -> Result<(), ConsulError> {
        Err(not_simulated())
    }

    async fn update(&self, _: &Object, _: Fields) -> Result<(), ConsulError> {
        Err(not_simulated())
    }
}

#[async_trait]
impl Permissions for ConsulEdge {
    async fn missing_permissions(&self, _: &Tenancy, _: &[Permission]) -> Result<Vec<Permission>, ConsulError> {
        Err(not_simulated())
    }
}
