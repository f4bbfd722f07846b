//! Before anything else: can Consul be reached, and does the controller's own token suffice?

use std::{collections::BTreeMap, fmt, sync::Arc};

use consul::{ConsulBootstrap, ConsulError};
use mesh::{
    arn::ClusterArn,
    permission::{Permission, required},
    tenancy::{Tenancy, TenancyName},
};

use crate::scope::Scope;

/// Something that the controller's own token may not do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingPermission {
    /// What.
    pub permission: Permission,
    /// In which partition, and for which clusters (Enterprise).
    pub place: Option<(TenancyName, Vec<ClusterArn>)>,
}

impl fmt::Display for MissingPermission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.permission)?;
        let Some((partition, clusters)) = &self.place else { return Ok(()) };
        let names: Vec<&str> = clusters.iter().map(ClusterArn::as_str).collect();
        write!(f, " in partition {partition} (for {})", names.join(", "))
    }
}

/// Why the controller could not do its work.
#[derive(Debug, thiserror::Error)]
pub enum PreflightError {
    /// Its token may not do all that is needed.
    #[error(
        "the controller's Consul token lacks: {}; add them to its policy (see docs/deploy.md)",
        .0.iter().map(MissingPermission::to_string).collect::<Vec<_>>().join("; ")
    )]
    MissingPermissions(Vec<MissingPermission>),
    /// Consul cannot be reached, or does not know the token.
    #[error(transparent)]
    Consul(#[from] ConsulError),
}

/// Asks Consul what the controller's own token may do.
pub(crate) struct Preflight {
    pub(crate) scope: Arc<Scope>,
    pub(crate) consul: Arc<dyn ConsulBootstrap>,
}

impl Preflight {
    /// Proves that Consul answers, and that the controller's own token allows all that the controller may ever do,
    /// wherever the clusters' tasks live. Nothing is changed.
    ///
    /// # Errors
    /// Every missing permission by the rule that grants it; or why Consul could not be asked.
    pub(crate) async fn run(&self) -> Result<(), PreflightError> {
        let mut clusters: BTreeMap<&Tenancy, Vec<ClusterArn>> = BTreeMap::new();
        for cluster in &self.scope.clusters {
            clusters.entry(self.scope.tenancy_of(cluster)).or_default().push(cluster.clone());
        }
        // In a partition's policy there is no place for what is of the whole datacenter: that is asked for by itself.
        let local = clusters.remove(&Tenancy::Community).unwrap_or_default();
        let has_local = !local.is_empty();
        let whole = required(&local).into_iter().filter(|permission| has_local || permission.is_global()).collect();
        let mut missing = self.missing_in(&Tenancy::Community, whole, &local).await?;
        for (tenancy, clusters) in clusters {
            let local = required(&clusters).into_iter().filter(|permission| !permission.is_global()).collect();
            missing.extend(self.missing_in(tenancy, local, &clusters).await?);
        }
        if missing.is_empty() { Ok(()) } else { Err(PreflightError::MissingPermissions(missing)) }
    }

    async fn missing_in(
        &self,
        tenancy: &Tenancy,
        permissions: Vec<Permission>,
        clusters: &[ClusterArn],
    ) -> Result<Vec<MissingPermission>, ConsulError> {
        let missing = self.consul.missing_permissions(tenancy, &permissions).await?;
        let place = tenancy.partition().map(|partition| (partition.clone(), clusters.to_vec()));
        Ok(missing.into_iter().map(|permission| MissingPermission { permission, place: place.clone() }).collect())
    }
}
