//! What is wrong with the task definitions that run: one finding for each rule of the auditor. Definitions outside Consul's mesh are
//! not this survey's.

use std::collections::{BTreeMap, BTreeSet};

use audit::{
    report::{Report, Reported, plain},
    severity::Severity,
};
use observe::Inspection;

use super::report::{SurveyFinding, SurveyObject};
use crate::doctor::word;

/// The rule about releases whose support has ended: of those that only inform, the one that a survey shows.
const ENDED: &str = "consul-end-of-support";

pub(super) fn findings(report: &Report, inspection: &Inspection) -> Vec<SurveyFinding> {
    let in_mesh: BTreeSet<&str> = report
        .definitions
        .iter()
        .filter(|definition| definition.mesh.contains("Consul"))
        .map(|definition| definition.label.as_str())
        .collect();
    let mut rules: BTreeMap<&str, Vec<&Reported>> = BTreeMap::new();
    let counts = |finding: &&Reported| {
        let is_ours = finding.rule.id.starts_with("consul-") || in_mesh.contains(finding.subject.as_str());
        is_ours && (finding.severity > Severity::Info || finding.rule.id == ENDED)
    };
    for finding in report.findings.iter().filter(counts) {
        rules.entry(finding.rule.id).or_default().push(finding);
    }
    let clusters: Vec<String> =
        inspection.clusters.iter().map(|cluster| format!(" --cluster {}", word(cluster.arn.name()))).collect();
    let check = format!("ecs-mesh check{}", clusters.concat());
    rules.into_values().filter_map(|found| finding(&found, inspection, &check)).collect()
}

fn finding(found: &[&Reported], inspection: &Inspection, check: &str) -> Option<SurveyFinding> {
    let first = found.first()?;
    let severity = found.iter().map(|finding| finding.severity).max()?;
    let effects: BTreeSet<&str> = found.iter().map(|finding| finding.effect.as_str()).collect();
    let has_one_effect = effects.len() == 1;
    let why = |finding: &Reported| {
        if has_one_effect {
            finding.message.clone()
        } else {
            format!("{}. At run time: {}", finding.message, finding.effect)
        }
    };
    let objects = found.iter().flat_map(|finding| {
        clusters_of(finding, inspection).into_iter().map(|cluster| SurveyObject {
            cluster,
            name: finding.subject.clone(),
            why: why(finding),
            ..SurveyObject::default()
        })
    });
    let texts = first.rule.texts();
    let cost = if has_one_effect { first.effect.as_str() } else { texts.effect };
    let title = plain(texts.title);
    let commands = [format!("ecs-mesh explain {}", first.rule.id), check.to_owned()];
    Some(SurveyFinding::new(first.rule.id, severity, title, &sentence(cost), objects.collect()).with_commands(commands))
}

/// The names of the clusters that run the revision; `None` of a revision whose last task has ended since.
fn clusters_of(finding: &Reported, inspection: &Inspection) -> Vec<Option<String>> {
    // What a definition was asked by is the file of its findings.
    let clusters = inspection.clusters.iter().filter(|cluster| cluster.uses(&finding.file));
    let names: Vec<Option<String>> = clusters.map(|cluster| Some(cluster.arn.name().to_owned())).collect();
    if names.is_empty() { vec![None] } else { names }
}

/// A phrase as a sentence.
fn sentence(phrase: &str) -> String {
    let mut characters = phrase.chars();
    let first = characters.next().map(|first| first.to_uppercase().collect::<String>()).unwrap_or_default();
    format!("{first}{}.", characters.as_str().trim_end_matches('.'))
}
