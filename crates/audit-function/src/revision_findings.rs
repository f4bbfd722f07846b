//! The findings of a report by revision.

use std::collections::BTreeMap;

use uuid::Uuid;

use audit::report::{Report, Reported};
use mesh::arn::TaskDefinitionArn;

/// The UUID namespace of fingerprints.
const FINGERPRINTS: Uuid = Uuid::from_u128(0x616e_6e6f_756e_6365_642d_6669_6e64_696e);

/// The findings of a revision.
#[derive(Debug)]
pub(super) struct RevisionFindings<'r> {
    /// The revision.
    pub(super) revision: TaskDefinitionArn,
    /// The findings, by a fingerprint of their content. The report's own fingerprints also depend on the name in the
    /// order.
    pub(super) findings: BTreeMap<Uuid, &'r Reported>,
}

impl<'r> RevisionFindings<'r> {
    /// Groups the findings of `report` by revision. Findings without a revision are added to `reasons`.
    pub(super) fn all_in(report: &'r Report, reasons: &mut Vec<String>) -> Vec<Self> {
        let addresses: BTreeMap<(&str, &str), &str> =
            report.definitions.iter().map(|definition| (definition.group(), definition.address.as_str())).collect();
        let mut found: BTreeMap<TaskDefinitionArn, Self> = BTreeMap::new();
        for finding in &report.findings {
            let address = addresses.get(&finding.group()).copied().unwrap_or_default();
            match address.parse::<TaskDefinitionArn>() {
                Ok(revision) => {
                    let of_revision = found.entry(revision.clone());
                    let of_revision = of_revision.or_insert_with(|| Self { revision, findings: BTreeMap::new() });
                    of_revision.findings.entry(fingerprint(finding)).or_insert(finding);
                }
                Err(error) => reasons.push(format!("{}: not announced: {error}", finding.subject)),
            }
        }
        found.into_values().collect()
    }
}

fn fingerprint(finding: &Reported) -> Uuid {
    let container = finding.container.as_deref().unwrap_or_default();
    Uuid::new_v5(&FINGERPRINTS, [finding.rule.id, container, &finding.message].join("\n").as_bytes())
}
