//! Manual changes: people empty a secret, make an older version of it current, delete a token in Consul, change the catalog, or
//! restore Consul from a snapshot. Until the next complete sweep, the promises about what tasks read do not apply to the services concerned.

use std::collections::{BTreeMap, BTreeSet};

use secrecy::ExposeSecret;
use uuid::Uuid;

use super::{
    catalog_changes::CatalogSnapshot,
    consul::Record,
    healing::RepairReads,
    schedule::LONGEST_CALL,
    secrets::{Secret, Version},
    world::{World, note},
};

/// How long after a write people do not change a secret, in milliseconds: its writer has ended by then.
const UNTOUCHED: u64 = 2 * LONGEST_CALL + 60_000;

/// The manual changes so far.
#[derive(Default)]
pub(crate) struct ManualChanges {
    /// The time of the last manual change for each service, by its number, without a complete sweep since.
    pub(crate) unrepaired: BTreeMap<usize, u64>,
    /// The services whose secret a person has to give a new value: its current version is an older one, or Consul has lost the token
    /// of another creator in it.
    pub(crate) replaced: BTreeSet<usize>,
    /// The secret halves that Consul has lost by a restore, or that a person has deleted there.
    pub(crate) lost: BTreeSet<String>,
    /// The tokens in the snapshot of Consul.
    snapshot: Option<Vec<Record>>,
    /// The catalog in another snapshot.
    pub(crate) catalog_snapshot: Option<CatalogSnapshot>,
    /// Whether a person has changed the catalog.
    pub(crate) is_catalog_changed: bool,
}

impl World {
    /// Makes one random manual change.
    pub(crate) fn change_by_hand(&mut self) {
        let number = self.random.usize(..self.scenario.services);
        let name = self.secret_name(number);
        let is_fresh = |version: &Version| version.written_at + UNTOUCHED > self.now;
        if self.secrets.held.get(&name).is_none_or(|secret| secret.versions.iter().any(is_fresh)) {
            return;
        }
        match self.random.u32(..6) {
            0 => {
                note!(self, "a person empties the secret of service {number}");
                self.empty_by_hand(number, "{}".to_owned());
            }
            1 => {
                if self.roll_back(&name) {
                    note!(self, "a person makes an older version of the secret of service {number} current");
                    self.manual_changes.replaced.insert(number);
                    self.manual_changes.unrepaired.insert(number, self.now);
                }
            }
            2 => {
                note!(self, "a snapshot of Consul is taken");
                self.manual_changes.snapshot = Some(self.consul.tokens.clone());
            }
            3 => self.delete_by_hand(number),
            4 => {
                note!(self, "a person removes the token from the secret of service {number}");
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
        self.manual_changes.unrepaired.insert(number, self.now);
    }

    /// A person deletes the token in Consul that the secret names.
    fn delete_by_hand(&mut self, number: usize) {
        let held = self.secret(&self.secret_name(number));
        let Some(half) = held.pair().map(|pair| pair.secret.expose_secret().to_owned()) else { return };
        note!(self, "a person deletes the token of service {number} in Consul");
        self.consul.tokens.retain(|record| record.secret != half);
        self.manual_changes.lost.insert(half);
        self.manual_changes.unrepaired.insert(number, self.now);
        self.needs_new_value_unless_own(number);
    }

    fn restore_snapshot(&mut self) {
        let Some(snapshot) = self.manual_changes.snapshot.take() else { return };
        self.possible_leftovers += snapshot.len();
        note!(self, "Consul is restored from the snapshot");
        let kept: Vec<String> = snapshot.iter().map(|record| record.secret.clone()).collect();
        let lost = self.consul.tokens.iter().filter(|record| !kept.contains(&record.secret));
        self.manual_changes.lost.extend(lost.map(|record| record.secret.clone()));
        // Login tokens are kept: the controller cannot restore them.
        let is_login = |record: &&Record| record.description.as_str().starts_with("token created via login");
        let logins: Vec<Record> = self.consul.tokens.iter().filter(is_login).cloned().collect();
        self.consul.tokens = snapshot.into_iter().filter(|record| !is_login(&record)).chain(logins).collect();
        for number in 0..self.scenario.services {
            self.manual_changes.unrepaired.insert(number, self.now);
            self.needs_new_value_unless_own(number);
        }
    }

    /// A token that another creator wrote into its secret is not created again.
    fn needs_new_value_unless_own(&mut self, number: usize) {
        let name = self.secret_name(number);
        let is_lost = self.secret(&name).pair().is_some_and(|pair| !self.is_valid(pair.secret.expose_secret()));
        if is_lost && !self.is_own_secret(&name) {
            self.manual_changes.replaced.insert(number);
        }
    }

    /// A person writes a new value to each secret that the controller does not overwrite.
    pub(crate) fn fix_by_hand(&mut self) {
        for number in std::mem::take(&mut self.manual_changes.replaced) {
            note!(self, "a person writes a new value to the secret of service {number}");
            self.empty_by_hand(number, "{}".to_owned());
        }
    }

    /// A complete sweep that began at `began` has repaired earlier changes, and every attempt that ran during them has ended.
    pub(crate) fn swept_since(&mut self, began: u64, repairs: &RepairReads) {
        let replaced = self.manual_changes.replaced.clone();
        self.manual_changes.unrepaired.retain(|number, at| *at + UNTOUCHED >= began || replaced.contains(number));
        for instance in self.consul.instances.iter_mut().filter(|it| repairs.nodes.contains_key(&it.node)) {
            instance.unproven_since = instance.unproven_since.filter(|at| *at + UNTOUCHED >= began);
        }
    }

    pub(crate) fn is_changed_by_hand(&self, number: usize) -> bool {
        self.manual_changes.unrepaired.contains_key(&number)
    }

    /// The task that holds this secret half and has not stopped.
    pub(crate) fn holder_of(&self, half: &str) -> Option<usize> {
        self.ecs.tasks.iter().position(|task| task.is_living() && task.read.as_deref() == Some(half))
    }

    /// Whether the service's secret shows a token that exists in Consul.
    pub(crate) fn shows_valid_token(&self, number: usize) -> bool {
        let held = self.secret(&self.secret_name(number));
        held.shown().is_some_and(|pair| self.is_valid(pair.secret.expose_secret()))
    }
}
