//! Replaces the names of a survey, so that it can be shown to strangers.

use std::collections::{BTreeMap, BTreeSet};

use observe::Inspection;
use report::PlannedAction;

use super::{
    SurveyEvidence,
    report::{SurveyReport, name_of},
};

/// The names of an account, its clusters and its services, each with the name that stands for it: the same in every place.
pub struct Pseudonyms {
    /// The longest name first, so that no name is replaced within another one.
    names: Vec<(String, String)>,
}

impl Pseudonyms {
    /// The names in what a survey has read.
    pub fn of(evidence: &SurveyEvidence<'_>) -> Self {
        let plans = [Some(evidence.plan), evidence.unknown];
        let planned = plans.into_iter().flatten().flat_map(|plan| &plan.clusters);
        let arns = planned.map(|cluster| cluster.cluster_arn.as_str());
        let nodes = evidence.datacenter.clusters.iter().flatten().map(mesh::arn::ClusterArn::as_str);
        let arns: BTreeSet<&str> = arns.chain(nodes).collect();
        let accounts: BTreeSet<&str> = arns.iter().filter_map(|arn| arn.split(':').nth(4)).collect();
        let clusters: BTreeSet<&str> = arns.iter().map(|arn| name_of(arn)).collect();
        let services = services(evidence.inspection, evidence);
        let accounts = numbered(accounts.into_iter().map(str::to_owned), |number| format!("{number:012}"));
        let clusters = numbered(clusters.into_iter().map(str::to_owned), |number| format!("cluster-{number}"));
        let services = numbered(services.into_iter(), |number| format!("service-{number}"));
        // A name of several things is that of the first one.
        let mut all: BTreeMap<String, String> = BTreeMap::new();
        for (name, pseudonym) in accounts.chain(clusters).chain(services) {
            all.entry(name).or_insert(pseudonym);
        }
        let mut names: Vec<(String, String)> = all.into_iter().filter(|(name, _)| !name.is_empty()).collect();
        names.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
        Self { names }
    }

    /// The report with these names. The titles and the costs of findings have no names.
    pub fn hide_in(&self, report: &mut SurveyReport) {
        for unread in &mut report.unread {
            self.hide(&mut unread.what);
        }
        for cluster in &mut report.clusters {
            self.hide(&mut cluster.arn);
            cluster.controllers.iter_mut().for_each(|image| self.hide(image));
        }
        for finding in &mut report.findings {
            for object in &mut finding.objects {
                let controller = object.controller.iter_mut();
                let texts = object.cluster.iter_mut().chain([&mut object.name, &mut object.why]).chain(controller);
                texts.for_each(|text| self.hide(text));
            }
            finding.commands.iter_mut().for_each(|command| self.hide(command));
        }
    }

    /// Replaces each whole word that is a name, and the identity in an ARN of IAM or STS.
    fn hide(&self, text: &mut String) {
        for (name, pseudonym) in &self.names {
            *text = replaced(text, name, pseudonym);
        }
        *text = without_identities(text);
    }
}

/// Names with numbers, in their order.
fn numbered(
    names: impl Iterator<Item = String>,
    pseudonym: impl Fn(usize) -> String,
) -> impl Iterator<Item = (String, String)> {
    names.enumerate().map(move |(index, name)| (name, pseudonym(index + 1)))
}

/// The names of services in Consul and in ECS, and of families.
fn services(inspection: &Inspection, evidence: &SurveyEvidence<'_>) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for cluster in &inspection.clusters {
        names.extend(cluster.revisions().map(|(service, _)| service.name.to_string()));
        names.extend(cluster.services.iter().map(|it| it.state.name.clone()));
        names.extend(cluster.outside.services.iter().map(|state| state.name.clone()));
        names.extend(cluster.revisions().map(|(_, definition)| definition.arn.family().as_str().to_owned()));
        names.extend(cluster.untagged.iter().map(|it| it.member.definition.arn.family().as_str().to_owned()));
        names.extend(cluster.untagged.iter().map(|it| it.member.identity.service.name.to_string()));
        let instances = cluster.catalog.iter().flat_map(|catalog| &catalog.instances);
        names.extend(instances.map(|it| it.name.clone()));
    }
    names.extend(evidence.definitions.definitions.iter().map(|it| family(&it.label).to_owned()));
    names.extend(evidence.definitions.findings.iter().map(|it| family(&it.subject).to_owned()));
    names.extend(
        evidence
            .tokens
            .iter()
            .flat_map(|tokens| &tokens.listed)
            .flat_map(|token| token.grants.services.iter().map(|grant| grant.service.clone()).collect::<Vec<_>>()),
    );
    let plans = [Some(evidence.plan), evidence.unknown];
    let clusters = plans.into_iter().flatten().flat_map(|plan| &plan.clusters);
    names.extend(clusters.flat_map(|cluster| cluster.planned.iter().filter_map(name_in)));
    names.extend(
        evidence
            .datacenter
            .intentions
            .iter()
            .flatten()
            .flat_map(|it| [it.source_name.clone(), it.destination_name.clone()]),
    );
    names.remove("*");
    names
}

/// The name in an action of a plan: of the service of an instance (`web-TASK`, or `web-TASK-sidecar-proxy`), or of an agent.
fn name_in(action: &PlannedAction) -> Option<String> {
    match action {
        PlannedAction::Deregister { service_id, task_id } => {
            let (service, _) = service_id.split_once(task_id.as_str())?;
            Some(service.trim_end_matches('-').to_owned())
        }
        PlannedAction::ForceLeave { node } => Some(node.clone()),
        _ => None,
    }
}

/// The family in `family:revision`.
fn family(label: &str) -> &str {
    label.split(':').next().unwrap_or_default()
}

/// The text with each whole word `name` replaced.
fn replaced(text: &str, name: &str, pseudonym: &str) -> String {
    let is_part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let (mut out, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once(name) {
        let is_word = !is_part(before.chars().next_back()) && !is_part(after.chars().next());
        out.push_str(before);
        out.push_str(if is_word { pseudonym } else { name });
        rest = after;
    }
    out + rest
}

/// The text without the names of IAM's users and roles.
fn without_identities(text: &str) -> String {
    let hide = |word: &str| {
        let is_identity = word.starts_with("arn:") && (word.contains(":iam::") || word.contains(":sts::"));
        if is_identity { "(an IAM identity)".to_owned() } else { word.to_owned() }
    };
    text.split(' ').map(hide).collect::<Vec<_>>().join(" ")
}
