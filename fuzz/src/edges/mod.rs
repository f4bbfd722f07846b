//! A fake world for events: one cluster, one mesh service with a running and a stopped task, and their state in Consul. Access to
//! anything else fails.

mod aws;
mod consul;

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use controller::{Edges, SystemClock, SystemEntropy};
use mesh::{
    arn::{ClusterArn, TaskArn},
    secret::SecretState,
};

/// The managed cluster.
pub const CLUSTER: &str = "arn:aws:ecs:us-east-1:123456789012:cluster/prod";
/// The running task.
pub const RUNNING: &str = "0123456789abcdef0123456789abcdef";
/// The stopped task.
pub const STOPPED: &str = "fedcba9876543210fedcba9876543210";
/// Everything outside the function.
#[derive(Default)]
pub struct World {
    secrets: Mutex<BTreeMap<String, SecretState>>,
}

/// The edges of a new world.
pub fn edges() -> Edges {
    let world = Arc::new(World::default());
    Edges {
        consul: world.clone(),
        bootstrap: world.clone(),
        ecs: world.clone(),
        iam: world.clone(),
        secrets: world.clone(),
        events: world.clone(),
        queue: world,
        clock: Arc::new(SystemClock),
        entropy: Arc::new(SystemEntropy),
    }
}

fn own_cluster() -> ClusterArn {
    CLUSTER.parse().expect("an ARN")
}

fn task(id: &str) -> TaskArn {
    TaskArn::in_cluster(&own_cluster(), &id.parse().expect("an ID"))
}

fn is_ours(cluster: &ClusterArn) {
    assert_eq!(cluster.as_str(), CLUSTER, "another cluster was read");
}
