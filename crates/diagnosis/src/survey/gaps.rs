//! What could not be read, with the permission that is missing.

use std::collections::BTreeSet;

use audit::spelling::nearest;
use mesh::arn::ClusterArn;
use observe::InspectionError;
use report::{Cause, Problem};

use super::{
    SurveyEvidence,
    report::{Unread, name_of},
};
use crate::unread::{cluster_unknown, no_consul, token_unknown, unread as in_words};

/// What strangers learn of something that could not be read.
const LEFT_OUT: &str = "left out: it can have names";
const TOKEN_UNKNOWN: &str = "Consul does not know the token";
const TOKEN_UNUSABLE: &str = "the token of Consul is not usable";
const NOT_CONSUL: &str = "what answers at CONSUL_HTTP_ADDR is not what Consul would answer";
const CONSUL_SILENT: &str = "Consul could not be read at CONSUL_HTTP_ADDR";
const CLUSTER_UNKNOWN: &str = "ECS does not know a cluster that was asked for";
const DENIED: &str = "a permission is missing";

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
    let of_plans = of_first.chain(of_second).map(|problem| of_problem(problem, evidence));
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
    let of_definitions =
        of_definitions.map(|problem| Unread { what: problem.to_string(), permission: None, nameless: LEFT_OUT });
    let all = of_plans.chain(inspected.map(|error| of_inspection(error, evidence))).chain(of_definitions);
    all.collect::<BTreeSet<_>>().into_iter().collect()
}

fn of_problem(problem: &Problem, evidence: &SurveyEvidence<'_>) -> Unread {
    let said = problem.to_string();
    let (what, permission, nameless) = match &problem.cause {
        Some(Cause::Denied { permission }) => (said, permission.clone(), DENIED),
        Some(Cause::UnknownCluster) => {
            (mistyped(problem.cluster_arn.as_deref().unwrap_or_default(), evidence), None, CLUSTER_UNKNOWN)
        }
        Some(Cause::UnknownToken) => (token_unknown(), None, TOKEN_UNKNOWN),
        Some(Cause::UnusableToken) => (said, None, TOKEN_UNUSABLE),
        Some(Cause::NoAnswer { reason }) => (no_consul(reason), None, CONSUL_SILENT),
        Some(Cause::MalformedAnswer { reason }) => (no_consul(reason), None, NOT_CONSUL),
        Some(Cause::Other) | None => (said, None, LEFT_OUT),
    };
    Unread { what, permission, nameless }
}

/// Says what the same error says in a plan, so that it is said once.
fn of_inspection(error: &InspectionError, evidence: &SurveyEvidence<'_>) -> Unread {
    if let InspectionError::Call(error) = error {
        return of_problem(&error.problem(None), evidence);
    }
    let (permission, nameless) = match error.cause() {
        Some(Cause::Denied { permission }) => (permission, DENIED),
        _ => (None, LEFT_OUT),
    };
    Unread { what: in_words(error), permission, nameless }
}

/// That ECS does not know the cluster with this ARN, with the nearest one that has a node in Consul.
fn mistyped(arn: &str, evidence: &SurveyEvidence<'_>) -> String {
    let known = evidence.datacenter.clusters.iter().flatten().map(ClusterArn::name);
    match nearest(name_of(arn), known) {
        Some(near) => format!("{}; the nearest cluster with a node in Consul is {near}", cluster_unknown(arn)),
        None => cluster_unknown(arn),
    }
}
