//! How many findings each rule has.

use std::{cmp::Reverse, collections::BTreeMap};

use audit::report::{Report, Reported};

use crate::{
    rules::tone,
    sheet::{Cell, Medium, NOTHING_TO_SAY, Sheet, Tone},
};

/// A row for each rule with findings, the most frequent one first.
pub(super) fn text(report: &Report, medium: Medium) -> String {
    let mut by_rule: BTreeMap<&str, Vec<&Reported>> = BTreeMap::new();
    for finding in &report.findings {
        by_rule.entry(finding.rule.id).or_default().push(finding);
    }
    if by_rule.is_empty() {
        return String::new();
    }
    let mut counted: Vec<Vec<&Reported>> = by_rule.into_values().collect();
    counted.sort_by_key(|findings| Reverse(findings.len()));
    let mut sheet = Sheet::new(&["rule", "count", "severity", "fix", "what a correct definition has"]);
    counted.iter().filter_map(|findings| row(findings)).for_each(|row| sheet.add(row));
    sheet.text(medium)
}

fn row(findings: &[&Reported]) -> Option<Vec<Cell>> {
    let first = findings.first()?;
    let fixed = match findings.iter().filter(|finding| finding.is_fixable).count() {
        0 => NOTHING_TO_SAY.to_owned(),
        all if all == findings.len() => "all".to_owned(),
        some => some.to_string(),
    };
    Some(vec![
        Cell::new(first.rule.id, Tone::Strong),
        Cell::plain(findings.len().to_string()),
        Cell::new(first.severity.as_str(), tone(first.severity)),
        Cell::plain(fixed),
        Cell::plain(first.rule.summary),
    ])
}
