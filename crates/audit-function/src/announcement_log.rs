//! The records of announced findings, in a bucket that several invocations write to concurrently.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use backon::{ConstantBuilder, Retryable};
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
        let fresh = self
            .update(&key, |record| {
                let fresh = record.claim(revision_findings.findings.keys(), self.invocation);
                (!fresh.is_empty(), fresh)
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
