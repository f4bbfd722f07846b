//! Which findings were announced: a record for each revision, in a bucket that several invocations write to concurrently.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use audit::report::{Report, Reported};
use backon::{ConstantBuilder, Retryable};
use jiff::Timestamp;
use mesh::arn::TaskDefinitionArn;
use serde::{Deserialize, Serialize};
use tracing::info;
use uuid::Uuid;

use crate::{
    handler::Invocation,
    report_store::{ReportStore, StoreError, Stored},
};

/// The most attempts to write a record that other invocations write concurrently.
const TRIES: usize = 8;

/// The findings that this invocation announces.
#[derive(Debug)]
pub(super) struct Claim<'r> {
    pub(super) revision: TaskDefinitionArn,
    pub(super) fresh: BTreeMap<Uuid, &'r Reported>,
}

pub(super) struct AnnouncementLog<'a> {
    pub(super) store: &'a dyn ReportStore,
    pub(super) invocation: &'a Invocation,
}

impl AnnouncementLog<'_> {
    pub(super) async fn claim<'r>(&self, revision_findings: &RevisionFindings<'r>) -> Result<Claim<'r>, StoreError> {
        let key = key(&revision_findings.revision);
        let claimed = |fresh: &BTreeSet<Uuid>| {
            let findings = revision_findings.findings.iter().filter(|(id, _)| fresh.contains(*id));
            Claim {
                revision: revision_findings.revision.clone(),
                fresh: findings.map(|(id, found)| (*id, *found)).collect(),
            }
        };
        // Created before it is read: without the permission to list the bucket, S3 does not distinguish missing objects
        // from forbidden ones.
        let mut record = Record::default();
        let fresh = record.claim(revision_findings.findings.keys(), self.invocation);
        if self.store.create(&key, render(&record)).await?.is_some() {
            return Ok(claimed(&fresh));
        }
        let fresh = self
            .update(&key, |record| {
                let RevisionFindings { revision, findings } = revision_findings;
                let is_adopted = record.adopt(findings.keys(), revision.as_str(), self.invocation);
                let fresh = record.claim(findings.keys(), self.invocation);
                (is_adopted || !fresh.is_empty(), fresh)
            })
            .await?;
        Ok(claimed(&fresh))
    }

    /// Records that the claimed findings were announced; or, if they were not, releases the claim.
    pub(super) async fn finish(&self, claim: &Claim<'_>, is_announced: bool) -> Result<(), StoreError> {
        let findings: BTreeSet<Uuid> = claim.fresh.keys().copied().collect();
        let key = key(&claim.revision);
        self.update(&key, |record| {
            if is_announced {
                record.announced(&findings, self.invocation);
            } else {
                record.release(&findings, self.invocation);
            }
            (true, ())
        })
        .await
    }

    /// Reads a record, changes it, and writes it if `change` returns that it differs. Retries if another invocation has replaced
    /// the record since.
    async fn update<T>(&self, key: &str, change: impl Fn(&mut Record) -> (bool, T)) -> Result<T, StoreError> {
        let attempt = || async {
            let (mut record, stored) = self.read(key).await?;
            let (is_changed, result) = change(&mut record);
            let is_done = !is_changed || self.store.replace(key, render(&record), &stored.version).await?.is_some();
            if is_done { Ok(result) } else { Err(StoreError::Contended { key: key.to_owned(), tries: TRIES }) }
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

/// What the IDs of findings in a record are derived from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Ids {
    /// The messages of the findings: a record of an earlier version, which did not say so.
    #[default]
    Messages,
    /// The places of the findings.
    Places,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
    #[serde(default)]
    ids: Ids,
    /// The findings that were announced, and when.
    #[serde(default)]
    announced: BTreeMap<Uuid, Timestamp>,
    /// The findings that are being announced.
    #[serde(default)]
    claimed: BTreeMap<Uuid, Claimed>,
}

impl Default for Record {
    fn default() -> Self {
        Self { ids: Ids::Places, announced: BTreeMap::new(), claimed: BTreeMap::new() }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Claimed {
    by: String,
    until: Timestamp,
}

impl Record {
    /// Replaces an earlier version's IDs with `found`, the IDs of the revision's findings now. Returns whether the record
    /// changed.
    ///
    /// A revision never changes, so the earlier version has announced the same findings, except for rules that it did not have:
    /// these count as announced too. Without this, an update would announce the findings of all revisions again. A record
    /// with a claim is not adopted: the announcement failed or is in progress, so the findings are announced, in the worst case
    /// twice.
    pub(super) fn adopt<'a>(
        &mut self,
        found: impl Iterator<Item = &'a Uuid>,
        revision: &str,
        invocation: &Invocation,
    ) -> bool {
        if self.ids == Ids::Places {
            return false;
        }
        let before = std::mem::take(self);
        if !before.announced.is_empty() && before.claimed.is_empty() {
            self.announced = found.map(|finding| (*finding, invocation.now)).collect();
            info!(action = "announce", outcome = "kept", task_definition = revision, findings = self.announced.len());
        }
        true
    }

    /// Claims the findings of `wanted` that are neither announced nor claimed by another running invocation, and
    /// returns them.
    pub(super) fn claim<'a>(
        &mut self,
        wanted: impl Iterator<Item = &'a Uuid>,
        invocation: &Invocation,
    ) -> BTreeSet<Uuid> {
        let mut fresh = BTreeSet::new();
        for finding in wanted {
            let is_announced = self.announced.contains_key(finding);
            let is_taken = self
                .claimed
                .get(finding)
                .is_some_and(|claimed| claimed.by != invocation.id && claimed.until > invocation.now);
            if !is_announced && !is_taken {
                let claimed = Claimed { by: invocation.id.clone(), until: invocation.until };
                self.claimed.insert(*finding, claimed);
                fresh.insert(*finding);
            }
        }
        fresh
    }

    pub(super) fn announced(&mut self, findings: &BTreeSet<Uuid>, invocation: &Invocation) {
        for finding in findings {
            self.claimed.remove(finding);
            self.announced.insert(*finding, invocation.now);
        }
    }

    pub(super) fn release(&mut self, findings: &BTreeSet<Uuid>, invocation: &Invocation) {
        self.claimed.retain(|finding, claimed| claimed.by != invocation.id || !findings.contains(finding));
    }
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
