//! Reads what load balancers say of the tasks that they send requests to.

use std::collections::{BTreeMap, BTreeSet};

use aws::load_balancers::{AwsLoadBalancers, Target, TargetsError};

use crate::concurrency::concurrently_in_order;

/// The targets of target groups, by the ARN of the group.
#[derive(Debug, Clone, Default)]
pub struct TargetsReading(pub BTreeMap<String, Result<Vec<Target>, TargetsError>>);

/// The targets of these target groups: one request for each; none without a group.
pub async fn read_targets(balancers: &AwsLoadBalancers, groups: BTreeSet<String>) -> TargetsReading {
    let reads = groups.into_iter().map(|group| async move {
        let targets = balancers.targets(&group).await;
        (group, targets)
    });
    TargetsReading(concurrently_in_order(reads).await.into_iter().collect())
}
