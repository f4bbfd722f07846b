//! The problems in reports.

use serde::Serialize;

use mesh::arn::ClusterArn;

use crate::error::ControllerError;

/// What could not be read or written.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ProblemReport {
    /// The cluster, if the problem concerns one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster_arn: Option<String>,
    /// A short label for metrics and log queries.
    pub label: &'static str,
    /// The reason.
    pub reason: String,
}

impl ProblemReport {
    pub(crate) fn new(cluster: Option<&ClusterArn>, error: &ControllerError) -> Self {
        Self { cluster_arn: cluster.map(ToString::to_string), label: error.label(), reason: error.to_string() }
    }
}
