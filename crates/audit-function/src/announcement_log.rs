//! The records of what was announced, in a bucket that several invocations write to at the same time.

use std::collections::{BTreeMap, BTreeSet};

use uuid::Uuid;

use crate::report_store::{ReportStore, StoreError, Stored};
use crate::{invocation::Invocation, record::Record, revision_findings::RevisionFindings};
use audit::report::Reported;
use mesh::arn::TaskDefinitionArn;

/// How often a record is read again because somebody else wrote it meanwhile. Hardly ever are there two of them.
const TRIES: usize = 8;

/// What may be announced, by us alone.
#[derive(Debug)]
pub(super) struct Claim<'r> {
    /// The revision.
    pub(super) revision: TaskDefinitionArn,
    /// The findings that are new.
    pub(super) fresh: BTreeMap<Uuid, &'r Reported>,
}

/// The records.
pub(super) struct AnnouncementLog<'a> {
    pub(super) store: &'a dyn ReportStore,
    pub(super) invocation: &'a Invocation,
}

impl AnnouncementLog<'_> {
    /// Claims what is new of `revision_findings`.
    pub(super) async fn claim<'r>(&self, revision_findings: &RevisionFindings<'r>) -> Result<Claim<'r>, StoreError> {
        let key = key(&revision_findings.revision);
        let claimed = |fresh: &BTreeSet<Uuid>| {
            let findings = revision_findings.findings.iter().filter(|(id, _)| fresh.contains(*id));
            Claim {
                revision: revision_findings.revision.clone(),
                fresh: findings.map(|(id, found)| (*id, *found)).collect(),
            }
        };
        // Written before it is read: who may not list a bucket cannot tell a missing object from a forbidden one.
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

    /// Remembers that a claim was announced; or, where it was not, lets others announce it.
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
            .map_err(|e| StoreError::new("reading", key, format!("not a record of ours ({e}); delete it")))?;
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
    StoreError::new("PutObject", key, format!("somebody else wrote it {TRIES} times meanwhile"))
}
