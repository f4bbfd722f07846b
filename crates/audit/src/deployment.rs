//! The deployment of the controller.

use mesh::{
    secret_name::SecretNames,
    settings::{TokenMode, TokenSettings},
    tenancy::Tenancy,
};

/// The settings of the controller's deployment that decide which tokens its tasks get. The deployed audit function knows its
/// own.
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
