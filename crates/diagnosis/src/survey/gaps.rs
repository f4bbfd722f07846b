//! What could not be read, with the permission that is missing.

use std::collections::BTreeSet;

use observe::InspectionError;
use report::{ErrorLabel, Problem};

use super::{SurveyEvidence, report::Unread};
use crate::{status::StatusReport, unread::unread as in_words};

/// What could not be read, each once.
pub(super) fn unread(evidence: &SurveyEvidence<'_>, status: &StatusReport) -> Vec<Unread> {
    let unknown: BTreeSet<&str> =
        evidence.unknown.iter().flat_map(|plan| &plan.clusters).map(|cluster| cluster.cluster_arn.as_str()).collect();
    // The second plan is about them, so that ECS does not know them is no gap.
    let is_planned = |problem: &&Problem| {
        let is_unknown = |arn| unknown.contains(arn);
        problem.label == ErrorLabel::Ecs && problem.cluster_arn.as_deref().is_some_and(is_unknown)
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
    ];
    let of_datacenter = of_datacenter.into_iter().flatten().map(of_inspection);
    let of_inspection = evidence.inspection.problems.iter().map(of_inspection);
    let others = evidence.tokens_unread.into_iter().chain(status.admission_unknown.as_deref()).map(Unread::because);
    let of_definitions = evidence.definitions.problems.iter().map(|problem| Unread::because(&problem.to_string()));
    let all = of_plans.chain(of_inspection).chain(of_datacenter).chain(others).chain(of_definitions);
    all.collect::<BTreeSet<_>>().into_iter().collect()
}

/// A problem of a plan, in the words of the person who asked: the plan speaks of the controller's token and role.
fn of_plan(problem: &Problem) -> Unread {
    let text = problem.to_string();
    let text = ADVICE.iter().fold(text.as_str(), |text, advice| text.split(*advice).next().unwrap_or(text)).to_owned();
    let text = WORDS.iter().fold(text, |text, (theirs, ours)| text.replace(theirs, ours));
    let text = if problem.label == ErrorLabel::ConsulCredentialRejected {
        "Consul could not be read: it does not know the token in CONSUL_HTTP_TOKEN or CONSUL_HTTP_TOKEN_FILE".to_owned()
    } else {
        text
    };
    Unread::because(&text)
}

/// What follows is advice for the deployed functions.
const ADVICE: [&str; 4] = [
    "; compare its policy with the one in",
    ". Allow it in the role's policies",
    ". Correct ECS_CLUSTER_ARNS",
    ". Let the function's role use",
];
/// What the functions say, and what it is here.
const WORDS: [(&str, &str); 4] = [
    ("the permissions of the controller's own token", "the permissions of the token in CONSUL_HTTP_TOKEN"),
    ("the controller's ACL token", "the token in CONSUL_HTTP_TOKEN"),
    ("the controller's own Consul ACL token", "the token in CONSUL_HTTP_TOKEN"),
    ("IAM denied the function's role this call", "IAM denied this call"),
];

fn of_inspection(error: &InspectionError) -> Unread {
    let permission = match error {
        InspectionError::CatalogNotPermitted(missing) => {
            let rules: Vec<String> = missing.iter().map(ToString::to_string).collect();
            Some(rules.join(" and "))
        }
        InspectionError::TokensNotPermitted(missing) => Some(missing.to_string()),
        _ => None,
    };
    let because = Unread::because(&in_words(error));
    Unread { permission: permission.or(because.permission), ..because }
}

impl Unread {
    /// What could not be read, and the permission that the reason names.
    fn because(what: &str) -> Self {
        Self { what: what.to_owned(), permission: permission_in(what) }
    }
}

/// The permission that AWS or Consul says is missing.
fn permission_in(reason: &str) -> Option<String> {
    let quoted = |rest: &str| rest.split('\'').next().map(str::to_owned);
    let of_consul = reason.split_once("lacks permission '").and_then(|(_, rest)| quoted(rest));
    let of_aws = || {
        let (_, rest) = reason.split_once("not authorized to perform: ")?;
        let action = rest.split([' ', ';', ',']).next()?.trim_end_matches('.');
        action.contains(':').then(|| action.to_owned())
    };
    of_consul.or_else(of_aws)
}
