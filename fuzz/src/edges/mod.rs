//! A small world for events to happen in: one cluster, one mesh service with a living and a stopped task, and what they
//! left in Consul. Whoever touches anything else breaks a promise.

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

/// The cluster that is looked after.
pub const CLUSTER: &str = "arn:aws:ecs:us-east-1:123456789012:cluster/prod";
/// The task that lives.
pub const LIVING: &str = "0123456789abcdef0123456789abcdef";
/// The task that does not.
pub const STOPPED: &str = "fedcba9876543210fedcba9876543210";
/// Everything outside of the function.
#[derive(Default)]
pub struct World {
    secrets: Mutex<BTreeMap<String, SecretState>>,
}

/// The edges that lead to a new world.
pub fn edges() -> Edges {
    let world = Arc::new(World::default());
    Edges {
        consul: world.clone(),
        bootstrap: world.clone(),
        ecs: world.clone(),
        secrets: world.clone(),
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
    assert_eq!(cluster.as_str(), CLUSTER, "another cluster is none of our business");
}
