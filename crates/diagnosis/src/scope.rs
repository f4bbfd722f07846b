//! How the deployment is configured.

use std::collections::BTreeSet;

use mesh::{secret_name::SecretNamePrefix, tenancy::Tenancy};

/// How the deployment is configured, as far as it matters here.
#[derive(Debug, Clone)]
pub struct Scope {
    /// The prefix of the names of secrets.
    pub secret_prefix: SecretNamePrefix,
    /// The tenancy of tasks without Enterprise tags.
    pub default_tenancy: Tenancy,
    /// The hosts of this Consul, as the controller and this reading address it, in lower case.
    pub consul_hosts: BTreeSet<String>,
}
