//! What could not be read, with the permission that is missing.

use std::collections::BTreeSet;

use observe::InspectionError;
use report::{Cause, ErrorLabel, Problem};

use super::{SurveyEvidence, report::Unread};
use crate::unread::{cluster_unknown, token_unknown, unread as in_words};

/// What could not be read, each once.
pub(super) fn unread(evidence: &SurveyEvidence<'_>) -> Vec<Unread> {
    let unknown: BTreeSet<&str> =
        evidence.unknown.iter().flat_map(|plan| &plan.clusters).map(|cluster| cluster.cluster_arn.as_str()).collect();
    // The second plan is about them, so that ECS does not know them is no gap.
    let is_planned = |problem: &&Problem| {
        let is_unknown = |arn| unknown.contains(arn);
        problem.cause == Some(Cause::UnknownCluster) && problem.cluster_arn.as_deref().is_some_and(is_unknown)
    };
    let of_first = evidence.plan.problems.iter().chain(&evidence.plan.faults).filter(|problem| !is_planned(problem));
    let of_second = evidence.unknown.into_iter().flat_map(|plan| plan.problems.iter().chain(&plan.faults));
    let of_plans = of_first.chain(of_second).map(of_plan);
    let read = evidence.datacenter;
    let of_datacenter = [
        read.version.as_ref().err(),
        read.settings.as_ref().err(),
        read.roots.as_ref().err(),
        read.certificates.as_ref().err(),
        read.intentions.as_ref().err(),
        read.clusters.as_ref().err(),
        evidence.tokens_unread,
    ];
    let admission = evidence.tokens.and_then(|tokens| tokens.facts.as_ref().err());
    let admission = admission.map(|error| InspectionError::Call(error.clone()));
    let inspected = evidence.inspection.problems.iter().chain(of_datacenter.into_iter().flatten()).chain(&admission);
    let of_definitions = evidence.definitions.problems.iter();
    let of_definitions = of_definitions.map(|problem| Unread { what: problem.to_string(), permission: None });
    let all = of_plans.chain(inspected.map(of_inspection)).chain(of_definitions);
    all.collect::<BTreeSet<_>>().into_iter().collect()
}

fn of_plan(problem: &Problem) -> Unread {
    let what = match (&problem.label, &problem.cause) {
        (ErrorLabel::ConsulCredentialRejected, _) => token_unknown(),
        (_, Some(Cause::UnknownCluster)) => cluster_unknown(problem.cluster_arn.as_deref().unwrap_or_default()),
        _ => problem.to_string(),
    };
    let permission = match &problem.cause {
        Some(Cause::Denied { permission }) => permission.clone(),
        _ => None,
    };
    Unread { what, permission }
}

fn of_inspection(error: &InspectionError) -> Unread {
    Unread { what: in_words(error), permission: error.missing_permission() }
}
