//! Simulated Consul, as one environment reaches it.

use async_trait::async_trait;
use ecs_mesh_controller::{
    consul::{Consul, ConsulBootstrap, ConsulError, Fields},
    mesh::{
        arn::{ClusterArn, TaskId},
        bootstrap::object::Object,
        catalog::{CatalogNode, CheckUpdate, HealthCheck, Member, ServiceInstance},
        permission::Permission,
        service_name::ServiceName,
        tenancy::{Tenancy, TenancyName},
        token::{AccessorId, ListedToken, NewToken, Token},
    },
};

use super::{
    board::{Fault, Line, Service},
    world::World,
};

/// Consul's edge; what setting up needs is not simulated.
pub(crate) struct ConsulEdge(pub(crate) Line);

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
impl Consul for ConsulEdge {
    async fn token(&self, _: &Tenancy, accessor: AccessorId) -> Result<Option<Token>, ConsulError> {
        self.call(|| format!("GET token {accessor}"), move |world| Ok(world.token(accessor))).await
    }

    async fn create_token(&self, new: &NewToken) -> Result<Token, ConsulError> {
        let asked = new.clone();
        let label = || format!("PUT token {}: the check", new.pair.accessor);
        self.call(label, move |world| world.check_new_token(&asked)).await?;
        let (asked, mut is_done) = (new.clone(), false);
        let label = || format!("PUT token {} {:?}: the write", new.pair.accessor, new.description);
        let effect = move |world: &mut World| {
            // The client has repeated its request.
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

    async fn tokens(&self, _: &Tenancy) -> Result<Vec<ListedToken>, ConsulError> {
        self.call(|| "GET tokens".to_owned(), |world| Ok(world.listed_tokens())).await
    }

    async fn ensure_client_policy(&self, _: &Tenancy, _: &str) -> Result<(), ConsulError> {
        self.call(|| "PUT client policy".to_owned(), |_| Ok(())).await
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
        let (node, asked) = (cluster.as_str().to_owned(), tasks.to_vec());
        self.call(|| format!("GET instances of {tasks:?}"), move |world| Ok(world.instances_on(&node, &asked))).await
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
        let asked = name.to_owned();
        self.call(|| format!("GET node {name}"), move |world| Ok(Some(world.node(&asked)))).await
    }

    async fn node_checks(&self, _: &str, _: &Tenancy) -> Result<Vec<HealthCheck>, ConsulError> {
        Ok(Vec::new())
    }

    async fn members(&self, _: &Tenancy) -> Result<Vec<Member>, ConsulError> {
        self.call(|| "GET members".to_owned(), |_| Ok(Vec::new())).await
    }

    async fn force_leave(&self, _: &str, _: &Tenancy) -> Result<(), ConsulError> {
        Ok(())
    }

    async fn deregister_node(&self, _: &str, _: &Tenancy) -> Result<(), ConsulError> {
        Ok(())
    }

    async fn deregister_check(&self, _: &HealthCheck) -> Result<(), ConsulError> {
        Ok(())
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

    async fn set_checks(&self, updates: &[CheckUpdate]) -> Result<(), ConsulError> {
        let asked = updates.to_vec();
        let label = || format!("PUT checks {:?}", updates.iter().map(|u| &u.check.id).collect::<Vec<_>>());
        self.call(label, move |world| world.set_checks(&asked)).await
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

    async fn lacking(&self, _: &Tenancy, _: &[Permission]) -> Result<Vec<Permission>, ConsulError> {
        Err(not_simulated())
    }
}
