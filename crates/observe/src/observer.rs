//! Who reads.

use std::sync::Arc;

use aws::{
    ec2::Ec2,
    iam::IamRoles,
    secrets::{SecretReads, SecretsError},
};
use consul::CatalogReads;
use mesh::{
    arn::TaskDefinitionArn,
    catalog::{ClientAgent, Member},
    holder::TokenHolder,
    names::InvalidField,
    scope::Scope,
    secret::StoredSecret,
    secret_name,
    settings::TokenMode,
    tenancy::Tenancy,
};

use crate::{
    clock::{Clock, TimestampCache},
    concurrency::try_concurrently,
    edges::{ConsulReads, EcsReads, Reads},
    error::CallError,
};

/// Reads what a plan needs: of the tasks of events, and, with [`Observer::read_world`], of whole clusters.
pub struct Observer {
    pub(crate) scope: Arc<Scope>,
    pub consul: Arc<dyn ConsulReads>,
    pub ecs: Arc<dyn EcsReads>,
    pub iam: Arc<dyn IamRoles>,
    pub clock: Arc<dyn Clock>,
    pub(crate) ec2: Arc<dyn Ec2>,
    pub secrets: Arc<dyn SecretReads>,
    /// The definitions whose contradiction of the deployment's settings was logged, and when.
    pub(crate) contradictions: TimestampCache<TaskDefinitionArn>,
}

impl Observer {
    pub fn new(scope: Arc<Scope>, reads: Reads) -> Self {
        let Reads { consul, ecs, ec2, iam, secrets, clock } = reads;
        Self { scope, consul, ecs, iam, clock, ec2, secrets, contradictions: TimestampCache::default() }
    }

    /// Reads the secret of a holder.
    ///
    /// # Errors
    /// A failed read, or a name that [`Self::secret_name`] refuses.
    pub async fn read_secret(&self, holder: &TokenHolder) -> Result<StoredSecret, CallError> {
        Ok(self.secrets.read(&self.secret_name(holder)?).await?)
    }

    /// The name of the secret of a holder.
    ///
    /// # Errors
    /// A secret of another kind has this name; or a service whose secret has the name of the client token's.
    pub fn secret_name(&self, holder: &TokenHolder) -> Result<String, InvalidField> {
        let names = &self.scope.names;
        let name = names.of(holder);
        secret_name::check_reserved(&name, &names.start())?;
        match holder.service() {
            Some(service) if names.is_reserved(holder) => Err(InvalidField::new(
                "service name",
                service.name.as_str(),
                "a name whose secret is not the client token's; rename the service",
            )),
            _ => Ok(name),
        }
    }

    /// Whether the secret does not exist or has another creator: with [`TokenMode::AuthMethod`], the role may only read
    /// secrets with the controller's tag.
    pub fn is_out_of_reach(&self, error: &CallError) -> bool {
        let is_denied = matches!(error, CallError::Secrets(SecretsError::Denied { .. }));
        is_denied && self.scope.token_mode == TokenMode::AuthMethod
    }
}

/// Reads the services on the agents' nodes. Agents without a node in the catalog are left out.
pub(crate) async fn client_agents(
    consul: &dyn CatalogReads,
    members: Vec<Member>,
    tenancy: &Tenancy,
) -> Result<Vec<ClientAgent>, CallError> {
    let reads = members.into_iter().map(|member| async move {
        let node = consul.node(&member.name, tenancy).await?;
        // Consul finds a node by its name in any case.
        let node = node.filter(|node| node.name == member.name);
        Ok::<_, CallError>(node.map(|node| ClientAgent { member, node, tenancy: tenancy.clone() }))
    });
    Ok(try_concurrently(reads).await?.into_iter().flatten().collect())
}
