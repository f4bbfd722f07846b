//! The `reconcile` function, deployed from the template: sweeps, the guard, the custom resource, failed agents, and the clean-up.
//! Assertions are about the state of Consul and Secrets Manager.

mod agents;
mod deleted_cluster;
mod guard;
mod many_clusters;
mod pre_provision;
mod setup;
mod sweeping;

use local_stack::{
    Stack,
    consul::Consul,
    deploy::{Deployed, deploy, try_deploy},
    world::{World, documented_policy},
};
use tokio::sync::OnceCell;

/// The clusters of the deployment that most tests share: one for each test.
const CLUSTERS: [&str; 9] = [
    "lost-events",
    "fifty-stops",
    "foreign",
    "forgotten",
    "lost-policy",
    "guard-nothing",
    "pre-provision",
    "dead-agent",
    "dead-agent-event",
];

/// The parameters of a deployment without a grace period and without scheduled sweeps.
async fn parameters(
    stack: &Stack,
    consul: &Consul,
    name: &str,
    clusters: &[&str],
    token: &str,
) -> Vec<(String, String)> {
    // The clusters of a pattern are the test's own
    for cluster in clusters.iter().filter(|name| !name.contains('*')) {
        stack.aws.ecs().create_cluster().cluster_name(*cluster).send().await.expect("CreateCluster");
    }
    let secret = stack.aws.secrets().create_secret().name(format!("{name}-controller")).secret_string(token);
    let secret = secret.send().await.expect("CreateSecret").arn.expect("an ARN");
    let parameters = [
        ("ConsulHttpAddr", consul.address.clone()),
        ("ConsulHttpTokenSecretArn", secret),
        ("EcsClusterArns", clusters.join(",")),
        ("SecretNamePrefix", name.to_owned()),
        ("RevocationGraceSeconds", "0".to_owned()),
        ("ReconcileRate", "rate(1 day)".to_owned()),
    ];
    parameters.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

/// A deployment with further parameters, or the output of its failure.
async fn deployment(
    consul: &Consul,
    name: &str,
    clusters: &[&str],
    token: &str,
    further: &[(&str, &str)],
) -> Result<Deployed, String> {
    let stack = Stack::shared().await;
    let mut all = parameters(stack, consul, name, clusters, token).await;
    all.extend(further.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())));
    let all: Vec<(&str, &str)> = all.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
    // The SAM CLI wraps lines in tables.
    try_deploy(&stack.aws, name, &all).await.map_err(|said| said.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// A cluster of the shared deployment.
async fn world(name: &'static str) -> World<'static> {
    static DEPLOYED: OnceCell<Deployed> = OnceCell::const_new();
    assert!(CLUSTERS.contains(&name), "{name} is not among the deployment's clusters");
    let stack = Stack::shared().await;
    let deployed = DEPLOYED
        .get_or_init(|| async {
            let token = stack.consul.token_with_rules("sweep", &documented_policy()).await;
            let all = parameters(stack, &stack.consul, "sweep", &CLUSTERS, &token.secret_id).await;
            let all: Vec<(&str, &str)> = all.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
            deploy(&stack.aws, "sweep", &all).await
        })
        .await;
    World::new(stack, deployed, "sweep", name)
}
