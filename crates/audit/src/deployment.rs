//! The deployment of the controller whose tasks are checked, if it is known: the deployed audit function knows its own.

use mesh::{
    secret_name::SecretNames,
    settings::{TokenMode, TokenSettings},
    tenancy::Tenancy,
};

/// The settings of a deployment that decide which tokens its tasks get.
#[derive(Debug, Clone)]
pub struct Deployment {
    /// How tasks get their tokens.
    pub mode: TokenMode,
    /// How secrets are named.
    pub names: SecretNames,
    /// The tenancy of tasks without Enterprise tags; `None` if it depends on the cluster.
    pub default_tenancy: Option<Tenancy>,
}

impl Deployment {
    /// What decides which tokens a task requires.
    pub fn tokens(&self) -> TokenSettings<'_> {
        TokenSettings { mode: self.mode, names: &self.names }
    }
}
