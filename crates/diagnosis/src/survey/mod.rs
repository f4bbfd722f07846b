//! What is wrong with a mesh, for a person who has installed nothing: the plan of a sweep, the status of services, the audit of
//! definitions, and what Consul says of intentions and certificates, as findings by severity.
//!
//! ```text
//!  controller::Planner ─▶ SweepReport ──┬▶ of_plan          leftovers, lost tasks, dead agents, what is held back
//!  observe::Inspection, Tokens ─────────┼▶ of_mesh          services, lost tags, containers that AWS adds
//!  audit::Report ───────────────────────┼▶ of_definitions   ended and withdrawn releases, definitions with errors
//!  observe::DatacenterReading ──────────┴▶ of_consul        intentions, certificates
//!                                           └─▶ SurveyReport ─▶ anonymous
//! ```

mod anonymous;
mod gaps;
mod of_consul;
mod of_definitions;
mod of_mesh;
mod of_plan;
mod report;
#[cfg(test)]
mod tests;

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
};

use ::report::{ClusterReport, SweepReport, SweptStatus};
use audit::report::Report;
use jiff::Timestamp;
use mesh::{arn::ClusterArn, tenancy::Tenancy};
use observe::{DatacenterReading, Inspection, InspectionError};

pub use self::report::{SurveyFinding, SurveyObject, SurveyReport, SurveyedCluster, Unread};
use crate::{doctor::word, status::status, tokens::Tokens};

/// What a survey has read.
pub struct SurveyEvidence<'a> {
    /// The plan of a sweep of the clusters that ECS knows, or has deleted.
    pub plan: &'a SweepReport,
    /// The plan for the clusters that Consul has entries of, and that ECS does not know.
    pub unknown: Option<&'a SweepReport>,
    pub inspection: &'a Inspection,
    /// `None` if ACLs are off, or the tokens could not be read.
    pub tokens: Option<&'a Tokens>,
    /// Why the tokens could not be read.
    pub tokens_unread: Option<&'a InspectionError>,
    pub definitions: &'a Report,
    pub datacenter: &'a DatacenterReading,
    /// The tenancy of tasks without Enterprise tags.
    pub tenancy: &'a Tenancy,
    /// Whether these are all clusters of the account and region.
    pub has_all_clusters: bool,
    /// The options that named the account and region, each with its value: the commands need them as well.
    pub options: &'a [(&'static str, &'a str)],
}

/// What is wrong, at `now`.
pub fn survey(evidence: &SurveyEvidence<'_>, now: Timestamp) -> SurveyReport {
    let status = status(evidence.inspection, evidence.tokens, now);
    let mut findings = of_plan::findings(evidence);
    findings.extend(of_mesh::findings(evidence, &status));
    findings.extend(of_definitions::findings(evidence.definitions, evidence.inspection));
    findings.extend(of_consul::findings(evidence, &status, now));
    // The order within a severity is the order of what hurts most.
    findings.sort_by_key(|finding| Reverse(finding.severity));
    let commands = findings.iter_mut().flat_map(|finding| &mut finding.commands);
    commands.for_each(|command| add_options(command, evidence.options));
    let place = evidence.plan.clusters.iter().find_map(|cluster| cluster.cluster_arn.parse::<ClusterArn>().ok());
    SurveyReport {
        read_at: now,
        account: place.as_ref().map(|cluster| cluster.account().to_owned()),
        region: place.as_ref().map(|cluster| cluster.region().to_owned()),
        consul: evidence.datacenter.version.as_ref().ok().filter(|version| !version.is_empty()).cloned(),
        unread: gaps::unread(evidence),
        clusters: clusters(evidence),
        findings,
    }
}

/// Adds options to a command that calls AWS. `explain` prints a page of the program.
fn add_options(command: &mut String, options: &[(&str, &str)]) {
    if !command.starts_with("ecs-mesh ") || command.starts_with("ecs-mesh explain ") {
        return;
    }
    for (option, value) in options {
        if !command.contains(&format!(" {option} ")) {
            *command = format!("{command} {option} {}", word(value));
        }
    }
}

/// The clusters of the plans, with what was inspected of them.
fn clusters(evidence: &SurveyEvidence<'_>) -> Vec<SurveyedCluster> {
    let plans = [Some(evidence.plan), evidence.unknown];
    let swept = plans.into_iter().flatten().flat_map(|plan| &plan.clusters);
    let swept = swept.filter(|cluster| cluster.status != SweptStatus::NotRead);
    let inspected: BTreeMap<&str, _> = evidence.inspection.clusters.iter().map(|it| (it.arn.as_str(), it)).collect();
    let cluster = |swept: &ClusterReport| {
        let read = inspected.get(swept.cluster_arn.as_str());
        let members = read.iter().flat_map(|read| &read.tasks).filter(|it| it.task.phase.is_living());
        let services = read.iter().flat_map(|read| read.revisions()).map(|(service, _)| service);
        let controllers = read.iter().flat_map(|read| &read.controllers).map(|it| it.image.clone());
        SurveyedCluster {
            arn: swept.cluster_arn.clone(),
            status: swept.status,
            tasks: swept.found.get("livingTasks").copied().unwrap_or_default(),
            mesh_tasks: members.count(),
            unsorted_tasks: read.iter().map(|read| read.unsorted.len()).sum(),
            services: services.collect::<BTreeSet<_>>().len(),
            controllers: controllers.collect(),
        }
    };
    swept.map(cluster).collect()
}
