//! The records of announced findings, in a bucket that several invocations write to concurrently.

use std::collections::{BTreeMap, BTreeSet};

use uuid::Uuid;

use crate::report_store::{ReportStore, StoreError, Stored};
use crate::{invocation::Invocation, record::Record, revision_findings::RevisionFindings};
use audit::report::Reported;
use mesh::arn::TaskDefinitionArn;

/// The most attempts to write a record that other invocations write concurrently.
const TRIES: usize = 8;

/// The findings that this invocation announces.
#[derive(Debug)]
pub(super) struct Claim<'r> {
    /// The revision.
    pub(super) revision: TaskDefinitionArn,
    /// The new findings.
    pub(super) fresh: BTreeMap<Uuid, &'r Reported>,
}

/// The records of announced findings.
pub(super) struct AnnouncementLog<'a> {
    pub(super) store: &'a dyn ReportStore,
    pub(super) invocation: &'a Invocation,
}

impl AnnouncementLog<'_> {
    /// Claims the new findings of a revision.
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
        for _ in 0..TRIES {
            let (mut record, stored) = self.read(&key).await?;
            let fresh = record.claim(revision_findings.findings.keys(), self.invocation);
            let is_written =
                fresh.is_empty() || self.store.replace(&key, render(&record), &stored.version).await?.is_some();
            if is_written {
                return Ok(claimed(&fresh));
            }
        }
        Err(contended(&key))
    }

    /// Records that the claimed findings were announced; or, if they were not, releases the claim.
    pub(super) async fn finish(&self, claim: &Claim<'_>, is_announced: bool) -> Result<(), StoreError> {
        let findings: BTreeSet<Uuid> = claim.fresh.keys().copied().collect();
        let key = key(&claim.revision);
        for _ in 0..TRIES {
            let (mut record, stored) = self.read(&key).await?;
            if is_announced {
                record.announced(&findings, self.invocation);
            } else {
                record.release(&findings, self.invocation);
            }
            if self.store.replace(&key, render(&record), &stored.version).await?.is_some() {
                return Ok(());
            }
        }
        Err(contended(&key))
    }

    async fn read(&self, key: &str) -> Result<(Record, Stored), StoreError> {
        let stored = self.store.read(key).await?;
        let record = serde_json::from_str(&stored.text)
            .map_err(|e| StoreError::new("reading", key, format!("not a record of announcements ({e}); delete it")))?;
        Ok((record, stored))
    }
}

fn key(revision: &TaskDefinitionArn) -> String {
    format!("announced/{}/{}.json", revision.family(), revision.revision())
}

fn render(record: &Record) -> String {
    serde_json::json!(record).to_string()
}

fn contended(key: &str) -> StoreError {
    StoreError::new("PutObject", key, format!("another invocation wrote it {TRIES} times in between"))
}
