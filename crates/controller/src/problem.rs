//! What could not be read or done, for people and for scripts.

use serde::Serialize;

use mesh::arn::ClusterArn;

use crate::error::ControllerError;

/// What could not be read or done.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ProblemReport {
    /// Where, if it is about one cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster_arn: Option<String>,
    /// A short label for metrics and log queries.
    pub label: &'static str,
    /// Why.
    pub reason: String,
}

impl ProblemReport {
    pub(crate) fn new(cluster: Option<&ClusterArn>, error: &ControllerError) -> Self {
        Self { cluster_arn: cluster.map(ToString::to_string), label: error.label(), reason: error.to_string() }
    }
}
