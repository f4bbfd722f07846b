//! The record of a revision: its announced findings, and those that an invocation is announcing.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::invocation::Invocation;

/// The record of a revision.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
    /// The findings that were announced, and when.
    #[serde(default)]
    announced: BTreeMap<Uuid, Timestamp>,
    /// The findings that are being announced.
    #[serde(default)]
    claimed: BTreeMap<Uuid, Claimed>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Claimed {
    by: String,
    until: Timestamp,
}

impl Record {
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

    /// Marks claimed findings as announced.
    pub(super) fn announced(&mut self, findings: &BTreeSet<Uuid>, invocation: &Invocation) {
        for finding in findings {
            self.claimed.remove(finding);
            self.announced.insert(*finding, invocation.now);
        }
    }

    /// Releases claimed findings.
    pub(super) fn release(&mut self, findings: &BTreeSet<Uuid>, invocation: &Invocation) {
        self.claimed.retain(|finding, claimed| claimed.by != invocation.id || !findings.contains(finding));
    }
}
