//! Which clusters a person asks about.

use aws::ecs::{Clusters, EcsError};
use mesh::arn::ClusterArn;

/// Why the clusters are not known.
#[derive(Debug, thiserror::Error)]
pub enum SelectError {
    #[error(transparent)]
    Ecs(#[from] EcsError),
    #[error("no cluster {name:?} in this account and region; found {}", list(.known))]
    Unknown { name: String, known: Vec<String> },
}

fn list(names: &[String]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

/// The clusters of these ARNs and names; without any, all clusters. ECS lists its clusters only if one is not given by its ARN.
///
/// # Errors
/// ECS could not list its clusters, or a name is not among them.
pub async fn select_clusters(ecs: &dyn Clusters, wanted: &[String]) -> Result<Vec<ClusterArn>, SelectError> {
    let by_arn: Result<Vec<ClusterArn>, _> = wanted.iter().map(|text| text.parse()).collect();
    if let (Ok(clusters), false) = (by_arn, wanted.is_empty()) {
        return Ok(clusters);
    }
    let mut all = ecs.list_clusters().await?;
    all.sort();
    if wanted.is_empty() {
        return Ok(all);
    }
    let find = |text: &String| {
        let found = all.iter().find(|cluster| cluster.is_named_by(text)).cloned();
        found.or_else(|| text.parse().ok()).ok_or_else(|| SelectError::Unknown {
            name: text.clone(),
            known: all.iter().map(|cluster| cluster.name().to_owned()).collect(),
        })
    };
    wanted.iter().map(find).collect()
}
