//! The preflight check: whether Consul can be reached, and whether the controller's own token has the required
//! permissions.

use std::{fmt, sync::Arc};

use consul::{ConsulError, Permissions};
use mesh::{
    cluster_selection::ClusterPattern,
    mode::Mode,
    permission::{Permission, required, required_to_observe},
    tenancy::{Tenancy, TenancyName},
};

use crate::scope::Scope;

/// A permission that the controller's own token does not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingPermission {
    /// The permission.
    pub permission: Permission,
    /// The partition, and the names and patterns of the clusters in it (Enterprise).
    pub place: Option<(TenancyName, Vec<ClusterPattern>)>,
}

impl fmt::Display for MissingPermission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.permission)?;
        let Some((partition, clusters)) = &self.place else { return Ok(()) };
        let names: Vec<String> = clusters.iter().map(ClusterPattern::to_string).collect();
        write!(f, " in partition {partition} (for the clusters {})", names.join(", "))
    }
}

/// Why the preflight check failed.
#[derive(Debug, thiserror::Error)]
pub enum PreflightError {
    /// The token does not have all required permissions.
    #[error(
        "the controller's Consul token lacks: {}; add them to its policy (see docs/deploy.md)",
        .0.iter().map(MissingPermission::to_string).collect::<Vec<_>>().join("; ")
    )]
    MissingPermissions(Vec<MissingPermission>),
    /// Consul cannot be reached, or does not know the token.
    #[error(transparent)]
    Consul(#[from] ConsulError),
}

/// Runs the preflight check.
pub(crate) struct Preflight {
    pub(crate) scope: Arc<Scope>,
    pub(crate) consul: Arc<dyn Permissions>,
}

impl Preflight {
    /// Checks that Consul answers, and that the controller's own token has every required permission in the clusters'
    /// partitions. Changes nothing.
    ///
    /// # Errors
    /// The missing permissions, as the rules that grant them; or why Consul could not be asked.
    pub(crate) async fn run(&self) -> Result<(), PreflightError> {
        let mut tenancies = self.scope.tenancies();
        let required = |patterns: &[ClusterPattern]| {
            let scope = &self.scope;
            match scope.operation {
                Mode::Act => required(&scope.clusters, patterns, scope.needs_operator()),
                Mode::Observe => required_to_observe(),
            }
        };
        // The policy of a partition cannot grant permissions of the whole datacenter: these are checked separately.
        let local = tenancies.remove(&Tenancy::Community).unwrap_or_default();
        let has_local = !local.is_empty();
        let whole = required(&local).into_iter().filter(|permission| has_local || permission.is_global()).collect();
        let mut missing = self.missing_in(&Tenancy::Community, whole, &local).await?;
        for (tenancy, clusters) in tenancies {
            let local = required(&clusters).into_iter().filter(|permission| !permission.is_global()).collect();
            missing.extend(self.missing_in(tenancy, local, &clusters).await?);
        }
        if missing.is_empty() { Ok(()) } else { Err(PreflightError::MissingPermissions(missing)) }
    }

    async fn missing_in(
        &self,
        tenancy: &Tenancy,
        permissions: Vec<Permission>,
        clusters: &[ClusterPattern],
    ) -> Result<Vec<MissingPermission>, ConsulError> {
        let missing = self.consul.missing_permissions(tenancy, &permissions).await?;
        let place = tenancy.partition().map(|partition| (partition.clone(), clusters.to_vec()));
        Ok(missing.into_iter().map(|permission| MissingPermission { permission, place: place.clone() }).collect())
    }
}
