//! The `reconcile` function, deployed from the template: sweeps, the guard, the custom resource, failed agents, and the clean-up.
//! Assertions are about the state of Consul and Secrets Manager.

mod agents;
mod deleted_cluster;
mod guard;
mod hostile;
mod many_clusters;
mod pre_provision;
mod setup;
mod sweeping;

use local_stack::{
    Stack,
    consul::Consul,
    deploy::{Deployed, install},
    world::World,
};
use tokio::sync::OnceCell;

use crate::fixture::shared;

/// The clusters of the deployment that most tests share: one for each test.
const CLUSTERS: [&str; 9] = [
    "lost-events",
    "fifty-stops",
    "foreign",
    "lost-policy",
    "guard-nothing",
    "pre-provision",
    "dead-agent",
    "hostile-secrets",
    "hostile-spellings",
];

/// Tokens are revoked at once.
const AT_ONCE: [(&str, &str); 1] = [("RevocationGraceSeconds", "0")];

/// A deployment whose tokens are revoked at once. `Err` is what the SAM CLI printed.
async fn deployment(
    consul: &Consul,
    name: &str,
    clusters: &[&str],
    token: &str,
    further: &[(&str, &str)],
) -> Result<Deployed, String> {
    let parameters = [&AT_ONCE, further].concat();
    install(&Stack::shared().await.aws, &consul.address, name, clusters, token, &parameters).await
}

/// A cluster of the shared deployment.
async fn world(name: &'static str) -> World<'static> {
    static DEPLOYED: OnceCell<Deployed> = OnceCell::const_new();
    shared(&DEPLOYED, "sweep", &CLUSTERS, name, &AT_ONCE).await
}
