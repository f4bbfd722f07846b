//! Before anything else: can Consul be reached, and does the controller's own token suffice?

use super::Controller;
use crate::{
    consul::ConsulError,
    mesh::{
        permission::{Permission, required},
        tenancy::Tenancy,
    },
};

/// Why the controller could not do its work.
#[derive(Debug, thiserror::Error)]
pub enum PreflightError {
    /// Its token may not do all that is needed.
    #[error(
        "the controller's Consul token lacks: {}; add them to its policy (see the README)",
        .0.iter().map(Permission::to_string).collect::<Vec<_>>().join("; ")
    )]
    Lacks(Vec<Permission>),
    /// Consul cannot be reached, or does not know the token.
    #[error(transparent)]
    Consul(#[from] ConsulError),
}

impl Controller {
    /// Proves that Consul answers, and that the controller's own token allows all that the controller may ever do.
    /// Nothing is changed.
    ///
    /// # Errors
    /// Every missing permission by the rule that grants it; or why Consul could not be asked.
    pub async fn preflight(&self) -> Result<(), PreflightError> {
        let tenancy = &self.scope.default_tenancy;
        let required = required(&self.scope.clusters);
        // In a partition's policy there is no place for what is of the whole datacenter: that is asked for by itself.
        let questions = match tenancy {
            Tenancy::Community => vec![(Tenancy::Community, required)],
            Tenancy::Enterprise { .. } => {
                let (global, local) = required.into_iter().partition(Permission::is_global);
                vec![(Tenancy::Community, global), (tenancy.clone(), local)]
            }
        };
        let mut lacking = Vec::new();
        for (tenancy, permissions) in questions {
            lacking.extend(self.edges.bootstrap.lacking(&tenancy, &permissions).await?);
        }
        if lacking.is_empty() { Ok(()) } else { Err(PreflightError::Lacks(lacking)) }
    }
}
