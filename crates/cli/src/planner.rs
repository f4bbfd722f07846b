//! The plan of a sweep, made in the command instead of the deployed function. It has only clients that read.

use std::{collections::BTreeMap, sync::Arc};

use aws::{
    ec2::AwsEc2,
    ecs::{AwsEcs, ClusterStatus, Clusters as _},
    iam::AwsIam,
    installation::AwsInstallation,
    sdk::SdkConfig,
    secrets::AwsSecrets,
};
use controller::{Planner, settings::without_deployment};
use mesh::{arn::ClusterArn, cluster_selection::ClusterSelection, secret_name::SecretNamePrefix};
use observe::{Deadline, EcsError, EcsReading, Reads, SystemClock};
use report::SweepReport;

use crate::{clients::LONGEST_READING, consul_variables::ConsulVariables, streams::Failure};

pub(super) struct LocalPlanner {
    planner: Planner,
    pub(super) ecs: Arc<AwsEcs>,
    pub(super) selection: ClusterSelection,
}

impl LocalPlanner {
    /// A planner for clusters by name or ARN; for every cluster of the account and region, without any.
    pub(super) async fn new(
        sdk: &SdkConfig,
        variables: &ConsulVariables,
        clusters: &[String],
        prefix: &SecretNamePrefix,
    ) -> Result<Self, Failure> {
        let selection = selection(sdk, clusters).await?;
        let scope = without_deployment(selection.clone(), &variables.addresses(), prefix, &variables.tenancy);
        let ecs = Arc::new(AwsEcs::new(sdk).keeping_definitions());
        let reads = Reads {
            consul: Arc::new(variables.client()?.accepting_hidden_secrets()),
            ecs: ecs.clone(),
            ec2: Arc::new(AwsEc2::new(sdk)),
            iam: Arc::new(AwsIam::new(sdk)),
            secrets: Arc::new(AwsSecrets::new(sdk, None, BTreeMap::new())),
            clock: Arc::new(SystemClock),
        };
        Ok(Self { planner: Planner::new(scope.map_err(Failure::new)?, reads), ecs, selection })
    }

    /// What a sweep of the selected clusters would do.
    pub(super) async fn plan(&self, force: bool) -> SweepReport {
        self.planner.plan(Vec::new(), force, deadline()).await
    }

    /// The statuses of the selected clusters in ECS, for [`Self::plan_after`].
    pub(super) async fn begin(&self) -> EcsReading {
        self.planner.begin(deadline()).await
    }

    /// What a sweep of the selected clusters would do, without a second read of what `ecs` has.
    pub(super) async fn plan_after(&self, ecs: EcsReading) -> SweepReport {
        self.planner.plan_after(ecs, deadline()).await
    }

    /// What a sweep would do with clusters that ECS does not know.
    pub(super) async fn plan_unknown(&self, clusters: Vec<ClusterArn>) -> SweepReport {
        self.planner.plan(clusters, true, deadline()).await
    }

    /// Which of these clusters are selected, and unknown to ECS.
    pub(super) async fn unknown(&self, named: &[ClusterArn]) -> Result<Vec<ClusterArn>, EcsError> {
        let selected: Vec<ClusterArn> = named.iter().filter(|it| self.selection.contains(it)).cloned().collect();
        let statuses = self.ecs.cluster_statuses(&selected).await?;
        Ok(statuses.into_iter().filter(|(_, it)| *it == ClusterStatus::Unknown).map(|(cluster, _)| cluster).collect())
    }
}

fn deadline() -> Deadline {
    Deadline::after(LONGEST_READING)
}

/// The clusters with these names or ARNs, which ECS need not know; every cluster, without any.
async fn selection(sdk: &SdkConfig, named: &[String]) -> Result<ClusterSelection, Failure> {
    let text = if named.is_empty() { "*".to_owned() } else { named.join(",") };
    // An ARN says where all of them are.
    let prefix = if named.iter().any(|name| name.starts_with("arn:")) { None } else { Some(home(sdk).await?) };
    ClusterSelection::parse(&text, prefix.as_deref()).map_err(Failure::new)
}

/// The start of the ARNs of clusters in this account and region.
async fn home(sdk: &SdkConfig) -> Result<String, Failure> {
    let caller = AwsInstallation::new(sdk).caller().await.map_err(Failure::new)?;
    let partition = caller.arn.split(':').nth(1).unwrap_or("aws");
    let region = sdk.region().map(ToString::to_string).unwrap_or_default();
    Ok(format!("arn:{partition}:ecs:{region}:{}:cluster/", caller.account))
}
