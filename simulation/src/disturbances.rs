//! What people do behind the controller's back: they empty a secret, make an older version of it current again, delete a token
//! in Consul, or restore that from an older snapshot. Until a sweep has passed, what tasks find is then not the controller's doing.

use std::collections::{BTreeMap, BTreeSet};

use secrecy::ExposeSecret;
use uuid::Uuid;

use super::{
    consul::Record,
    schedule::LONGEST_CALL,
    secrets::{Secret, Version},
    world::{World, note},
};

/// How long people leave a secret alone after it was written, in milliseconds: its writer has ended by then.
const UNTOUCHED: u64 = 2 * LONGEST_CALL + 60_000;

/// What people have done.
#[derive(Default)]
pub(crate) struct Disturbances {
    /// When each service, by its number, was last disturbed and by no complete sweep since seen to.
    pub(crate) unmended: BTreeMap<usize, u64>,
    /// The secrets in which an older version is current again.
    pub(crate) moved_back: BTreeSet<usize>,
    /// The secret halves that a restored Consul has lost, or that a person has deleted there.
    pub(crate) lost: BTreeSet<String>,
    /// Consul's tokens, as the snapshot has them.
    snapshot: Option<Vec<Record>>,
}

impl World {
    /// A person changes something.
    pub(crate) fn disturb(&mut self) {
        let number = self.random.usize(..self.scenario.services);
        let name = self.secret_name(number);
        let is_fresh = |version: &Version| version.written_at + UNTOUCHED > self.now;
        if self.secrets.held.get(&name).is_none_or(|secret| secret.versions.iter().any(is_fresh)) {
            return;
        }
        match self.random.u32(..6) {
            0 => {
                note!(self, "somebody empties the secret of service {number}");
                self.empty_by_hand(number, "{}".to_owned());
            }
            1 => {
                if self.move_back(&name) {
                    note!(self, "somebody makes an older version of the secret of service {number} current");
                    self.disturbances.moved_back.insert(number);
                    self.disturbances.unmended.insert(number, self.now);
                }
            }
            2 => {
                note!(self, "a snapshot of Consul is taken");
                self.disturbances.snapshot = Some(self.consul.tokens.clone());
            }
            3 => self.delete_by_hand(number),
            4 => {
                note!(self, "somebody takes the token out of the secret of service {number}");
                let emptied = self.secrets.held.get(&name).and_then(Secret::emptied);
                self.empty_by_hand(number, emptied.unwrap_or_else(|| "{}".to_owned()));
            }
            _ => self.restore_snapshot(),
        }
    }

    fn empty_by_hand(&mut self, number: usize, value: String) {
        let id = Uuid::from_u128(self.random.u128(..)).to_string();
        let name = self.secret_name(number);
        self.put_secret(&name, id, value);
        self.disturbances.unmended.insert(number, self.now);
    }

    /// A person deletes the token in Consul that the secret names.
    fn delete_by_hand(&mut self, number: usize) {
        let held = self.secret(&self.secret_name(number));
        let Some(half) = held.pair().map(|pair| pair.secret.expose_secret().to_owned()) else { return };
        note!(self, "somebody deletes the token of service {number} in Consul");
        self.consul.tokens.retain(|record| record.secret != half);
        self.disturbances.lost.insert(half);
        self.disturbances.unmended.insert(number, self.now);
    }

    fn restore_snapshot(&mut self) {
        let Some(snapshot) = self.disturbances.snapshot.take() else { return };
        self.mishaps += snapshot.len();
        note!(self, "Consul is restored from the snapshot");
        let kept: Vec<String> = snapshot.iter().map(|record| record.secret.clone()).collect();
        let lost = self.consul.tokens.iter().filter(|record| !kept.contains(&record.secret));
        self.disturbances.lost.extend(lost.map(|record| record.secret.clone()));
        // What tasks have logged in for is theirs, and not the subject here.
        let is_login = |record: &&Record| record.description.starts_with("token created via login");
        let logins: Vec<Record> = self.consul.tokens.iter().filter(is_login).cloned().collect();
        self.consul.tokens = snapshot.into_iter().filter(|record| !is_login(&record)).chain(logins).collect();
        for number in 0..self.scenario.services {
            self.disturbances.unmended.insert(number, self.now);
        }
    }

    /// What only a person can mend, a person has mended: a secret whose older version is current gets a new value.
    pub(crate) fn mend_by_hand(&mut self) {
        for number in std::mem::take(&mut self.disturbances.moved_back) {
            note!(self, "somebody gives the secret of service {number} a new value");
            self.empty_by_hand(number, "{}".to_owned());
        }
    }

    /// A complete sweep that began at `began` has seen to what was done before, and every attempt that was under way then has ended.
    pub(crate) fn swept_since(&mut self, began: u64) {
        let moved_back = self.disturbances.moved_back.clone();
        self.disturbances.unmended.retain(|number, at| *at + UNTOUCHED >= began || moved_back.contains(number));
    }

    pub(crate) fn is_disturbed(&self, number: usize) -> bool {
        self.disturbances.unmended.contains_key(&number)
    }

    /// Whether a living task of the service holds this secret half.
    pub(crate) fn holder_of(&self, half: &str) -> Option<usize> {
        self.ecs.tasks.iter().position(|task| task.is_living() && task.read.as_deref() == Some(half))
    }

    /// Whether the service's secret shows a token that Consul has.
    pub(crate) fn shows_valid_token(&self, number: usize) -> bool {
        let held = self.secret(&self.secret_name(number));
        held.shown().is_some_and(|pair| self.is_valid(pair.secret.expose_secret()))
    }
}
