//! What a survey reads: each with the same reads as the command that it comes from.

use std::env;

use audit::{
    audit,
    ignore::{self, Config},
    report::Report,
    severity::Threshold,
};
use audit_live::{LiveScope, gather_live};
use audit_read::input::Gathered;
use diagnosis::{SurveyEvidence, SurveyReport, Tokens, survey};
use jiff::Timestamp;
use mesh::{arn::ClusterArn, tenancy::Tenancy};
use observe::{CallError, DatacenterReading, Deadline, Inspection, InspectionError, Inspector};
use report::{SweepReport, SweptStatus};

use super::{Arguments, inventory::ReadInventory};
use crate::{
    clients::LONGEST_READING, config::working_directory, consul_variables::ConsulVariables, output::Progress,
    planner::LocalPlanner, streams::Failure,
};

/// What a survey has read.
pub(super) struct Reading {
    plan: SweepReport,
    unknown: Option<SweepReport>,
    inspection: Inspection,
    tokens: Result<Option<Tokens>, InspectionError>,
    datacenter: DatacenterReading,
    definitions: Report,
    tenancy: Tenancy,
    has_all_clusters: bool,
    options: Vec<(&'static str, String)>,
}

impl Reading {
    /// Reads what runs, then the plan of a sweep, then intentions and certificates.
    pub(super) async fn new(arguments: &Arguments, progress: &Progress) -> Result<Self, Failure> {
        let variables = ConsulVariables::read(|name| env::var(name).ok())?;
        let sdk = arguments.aws.sdk().await?;
        let prefix = &arguments.secret_name_prefix;
        let planner = LocalPlanner::new(&sdk, &variables, &arguments.cluster, prefix).await?;
        progress.say("reading the clusters");
        let ecs = planner.begin().await;
        let consul = variables.client()?;
        let inspector = Inspector {
            ecs: &planner.ecs,
            consul: &consul,
            secret_prefix: prefix.clone(),
            default_tenancy: variables.tenancy.clone(),
            deadline: Deadline::after(LONGEST_READING),
        };
        let say = |what: &str| progress.say(&format!("reading {what}"));
        let (inspection, tokens) = inspector.inspect(&ecs.existing(), &say).await;
        say("what a sweep would do");
        let mut plan = planner.plan_after(ecs.with_tasks_of(&inspection)).await;
        say("intentions and certificates");
        let datacenter = inspector.datacenter().await;
        let unknown = unknown(&planner, &datacenter, &mut plan).await;
        let definitions = definitions(&planner, &inspection, progress).await?;
        let hosts = variables.hosts();
        let tokens = tokens.map(|tokens| tokens.map(|tokens| Tokens::of_consul(tokens, hosts)));
        Ok(Self {
            plan,
            unknown,
            inspection,
            tokens,
            datacenter,
            definitions,
            has_all_clusters: arguments.cluster.is_empty(),
            options: arguments.aws.given(),
            tenancy: variables.tenancy,
        })
    }

    /// What is wrong; with `is_anonymous`, without names.
    pub(super) fn judge(&self, is_anonymous: bool) -> SurveyReport {
        let options: Vec<(&str, &str)> = self.options.iter().map(|(option, value)| (*option, value.as_str())).collect();
        let evidence = SurveyEvidence {
            plan: &self.plan,
            unknown: self.unknown.as_ref(),
            inspection: &self.inspection,
            tokens: self.tokens.as_ref().ok().and_then(Option::as_ref),
            tokens_unread: self.tokens.as_ref().err(),
            definitions: &self.definitions,
            datacenter: &self.datacenter,
            tenancy: &self.tenancy,
            has_all_clusters: self.has_all_clusters,
            options: &options,
        };
        let report = survey(&evidence, Timestamp::now());
        if is_anonymous { report.anonymous() } else { report }
    }
}

/// The clusters of a plan that exist, and whose tasks could be read.
fn existing(plan: &SweepReport) -> Vec<ClusterArn> {
    let active = plan.clusters.iter().filter(|cluster| cluster.status == SweptStatus::Active);
    active.filter_map(|cluster| cluster.cluster_arn.parse().ok()).collect()
}

/// The plan for clusters that have a node in Consul, and that ECS does not know. It assumes that they were deleted.
async fn unknown(
    planner: &LocalPlanner,
    datacenter: &DatacenterReading,
    plan: &mut SweepReport,
) -> Option<SweepReport> {
    let known = existing(plan);
    let in_consul = datacenter.clusters.as_ref().ok()?;
    let others: Vec<ClusterArn> = in_consul.iter().filter(|it| !known.contains(it)).cloned().collect();
    match planner.unknown(&others).await {
        Ok(unknown) if unknown.is_empty() => None,
        Ok(unknown) => {
            plan.clusters.retain(|it| !unknown.iter().any(|cluster| cluster.as_str() == it.cluster_arn));
            Some(planner.plan_unknown(unknown).await)
        }
        Err(error) => {
            plan.problems.push(CallError::from(error).problem(None));
            None
        }
    }
}

/// The audit of the definitions that run in clusters.
async fn definitions(planner: &LocalPlanner, read: &Inspection, progress: &Progress) -> Result<Report, Failure> {
    let show = |done, total| progress.say(&format!("{done} of {total} task definitions read"));
    let clusters: Vec<String> = read.clusters.iter().map(|cluster| cluster.arn.to_string()).collect();
    let scope = LiveScope { clusters, ..LiveScope::default() };
    let inventory = ReadInventory { clusters: &read.clusters, ecs: &planner.ecs };
    // Without a cluster, the scope would be every family.
    let gathered =
        if scope.clusters.is_empty() { Gathered::default() } else { gather_live(&inventory, &scope, &show).await };
    let (config, directory) = (Config::default(), working_directory()?);
    let sorted = ignore::sort(audit(&gathered.material), &gathered.material, &config, &directory);
    Ok(Report::new(&gathered, &sorted, Threshold::Error))
}
