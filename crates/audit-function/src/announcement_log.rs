//! Which findings were announced: a record for each revision, in a bucket that several invocations write to concurrently.
//!
//! Two invocations at the same moment may announce a finding twice. Both announcements have its fingerprint.

use std::{collections::BTreeMap, time::Duration};

use audit::report::{Report, Reported};
use backon::{ConstantBuilder, Retryable};
use jiff::Timestamp;
use mesh::arn::TaskDefinitionArn;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::report_store::{ReportStore, StoreError, Stored};

/// The most attempts to write a record that other invocations write concurrently.
const TRIES: usize = 8;

pub(super) struct AnnouncementLog<'a> {
    pub(super) store: &'a dyn ReportStore,
    pub(super) now: Timestamp,
}

impl AnnouncementLog<'_> {
    /// The findings of a revision that were not announced.
    pub(super) async fn fresh<'r>(&self, found: &RevisionFindings<'r>) -> Result<RevisionFindings<'r>, StoreError> {
        let key = key(&found.revision);
        // Created before it is read: without the permission to list the bucket, S3 does not distinguish missing objects
        // from forbidden ones.
        let is_new = self.store.create(&key, render(&Record::default())).await?.is_some();
        let record = if is_new { Record::default() } else { self.read(&key).await?.0 };
        let is_fresh = |(id, _): &(&Uuid, &&Reported)| !record.announced.contains_key(id);
        let fresh = found.findings.iter().filter(is_fresh).map(|(id, finding)| (*id, *finding));
        Ok(RevisionFindings { revision: found.revision.clone(), findings: fresh.collect() })
    }

    /// Records that findings were announced. Retries if another invocation has replaced the record since it was read.
    pub(super) async fn record(&self, announced: &RevisionFindings<'_>) -> Result<(), StoreError> {
        let key = key(&announced.revision);
        let attempt = || async {
            let (mut record, stored) = self.read(&key).await?;
            record.announced.extend(announced.findings.keys().map(|finding| (*finding, self.now)));
            let is_done = self.store.replace(&key, render(&record), &stored.version).await?.is_some();
            if is_done { Ok(()) } else { Err(StoreError::Contended { key: key.clone(), tries: TRIES }) }
        };
        let at_once = ConstantBuilder::default().with_delay(Duration::ZERO).with_max_times(TRIES - 1);
        attempt.retry(at_once).when(|error| matches!(error, StoreError::Contended { .. })).await
    }

    async fn read(&self, key: &str) -> Result<(Record, Stored), StoreError> {
        let stored = self.store.read(key).await?;
        let record = serde_json::from_str(&stored.text).map_err(|e| {
            let reason = format!("not a record of announcements ({e}). Delete the object");
            StoreError::new("reading", key, reason)
        })?;
        Ok((record, stored))
    }
}

fn key(revision: &TaskDefinitionArn) -> String {
    format!("announced/{}/{}.json", revision.family(), revision.revision())
}

fn render(record: &Record) -> String {
    serde_json::json!(record).to_string()
}

/// The announced findings of a revision.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Record {
    /// When each was announced.
    #[serde(default)]
    announced: BTreeMap<Uuid, Timestamp>,
}

/// The UUID namespace of fingerprints.
const FINGERPRINTS: Uuid = Uuid::from_u128(0x616e_6e6f_756e_6365_642d_6669_6e64_696e);

#[derive(Debug)]
pub(super) struct RevisionFindings<'r> {
    pub(super) revision: TaskDefinitionArn,
    /// The findings, by the place in the revision and their number there. The report's own fingerprints also depend on the
    /// name in the order.
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
                    of_revision.findings.insert(Uuid::new_v5(&place(finding), &finding.nth.to_be_bytes()), finding);
                }
                Err(error) => reasons.push(format!("{}: not announced: {error}", finding.subject)),
            }
        }
        found.into_values().collect()
    }
}

/// The rule, and the place in the revision.
fn place(finding: &Reported) -> Uuid {
    let container = finding.container.as_deref().unwrap_or_default();
    Uuid::new_v5(&FINGERPRINTS, [finding.rule.id, container, &finding.path].join("\n").as_bytes())
}
