//! Hostile neighbours: a task whose definition reads a secret that cannot be used, that has a reserved name, or whose name is
//! spelled in many ways; and task definitions that were registered long ago and never used. They harm only themselves.

use fastrand::Rng;
use mesh::{holder::TokenHolder, settings::TokenMode};
use report::{Problem, SweepReport};
use serde_json::json;

use super::world::{World, service_name, time_at};

/// The numbers of their services. A schedule's own have lower numbers.
const NEIGHBOUR: usize = 90;
pub(crate) const RESERVED: usize = 91;
const FIRST_UNUSED: usize = 100;
/// How many definitions are never used: more than the guard's share begins with.
const UNUSED: usize = 11;
/// How many spellings one definition reads.
const SPELLINGS: usize = 7;

/// What the definition of the hostile task reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hostile {
    /// A secret with a value of another format.
    Foreign,
    /// A secret whose key the role may not use.
    Locked,
    /// A secret with a reserved name.
    Reserved,
    /// Many spellings of its service's secret.
    Spelled,
}

impl Hostile {
    pub(crate) fn draw(random: &mut Rng, mode: TokenMode, is_wanted: bool) -> Option<Self> {
        let all = [Self::Foreign, Self::Locked, Self::Reserved, Self::Spelled];
        all.get(random.usize(..16)).copied().filter(|_| is_wanted && mode == TokenMode::Auto)
    }

    /// The number of its service.
    pub(crate) fn service(self) -> usize {
        if self == Self::Reserved { RESERVED } else { NEIGHBOUR }
    }
}

impl World {
    /// The name of the hostile service's secret.
    fn hostile_secret(&self, hostile: Hostile) -> String {
        self.scope.names.of(&TokenHolder::Service(self.service(hostile.service())))
    }

    /// The names of the secrets that the definition with this number reads, if it is the hostile one.
    pub(crate) fn hostile_reads(&self, number: usize) -> Option<Vec<String>> {
        let hostile = self.scenario.hostile.filter(|hostile| hostile.service() == number)?;
        let name = self.hostile_secret(hostile);
        if hostile != Hostile::Spelled {
            return Some(vec![name]);
        }
        let service = self.service(number).secret_name();
        let start = name.strip_suffix(&service).unwrap_or_default();
        let spell = |spelling: usize| -> String {
            let letters = service.chars().enumerate();
            letters.map(|(at, c)| if at < 8 && spelling >> at & 1 == 1 { c.to_ascii_uppercase() } else { c }).collect()
        };
        Some((1..=SPELLINGS).map(|spelling| format!("{start}{}", spell(spelling))).collect())
    }

    /// Whether the role may not use the key of this secret.
    pub(crate) fn is_locked(&self, name: &str) -> bool {
        self.scenario.hostile == Some(Hostile::Locked) && name == self.hostile_secret(Hostile::Locked)
    }

    /// Whether these errors concern the hostile neighbour alone.
    pub(crate) fn are_of_neighbour(&self, faults: &[Problem]) -> bool {
        let name = self.scenario.hostile.map(|hostile| service_name(hostile.service()));
        let is_its = |fault: &Problem| {
            fault.owner.as_ref().zip(name.as_ref()).is_some_and(|(owner, name)| owner.contains(name.as_str()))
        };
        faults.iter().all(is_its)
    }

    /// Creates what hostile neighbours have before the schedule begins.
    pub(crate) fn create_hostile(&mut self) {
        if self.scenario.hostile == Some(Hostile::Foreign) {
            let name = self.hostile_secret(Hostile::Foreign);
            self.put_secret(&name, "first".to_owned(), json!({ "password": "none" }).to_string());
        }
        let unused = if self.scenario.has_unused { UNUSED } else { 0 };
        for number in FIRST_UNUSED..FIRST_UNUSED + unused {
            let holder = TokenHolder::Service(self.service(number));
            let description = holder.token_description(&self.clusters[0]);
            let description = description.for_secret(&self.scope.names.place_of(&holder));
            let record = self.new_record(description.with_unused_since(time_at(0)), false);
            let accessor = record.accessor.to_string();
            let text = json!({ "accessor_id": accessor, "token": record.secret, "nonce": format!("{accessor}/1") });
            let name = self.scope.names.of(&holder);
            self.consul.tokens.push(record);
            self.put_secret(&name, "first".to_owned(), text.to_string());
        }
    }

    /// Contained: tokens that no task has used hold nothing back. A schedule has fewer services than the share begins with.
    pub(crate) fn check_guard(&mut self, report: &SweepReport) {
        let mut reasons = report.clusters.iter().filter_map(|cluster| cluster.guard.as_ref());
        if let Some(reason) = reasons.find(|reason| reason.contains("services' tokens")).cloned() {
            self.broken(format!("contained: unused tokens hold others back: {reason}"));
        }
    }

    /// Contained: one definition with many spellings makes one secret.
    pub(crate) fn check_spellings(&mut self) {
        if self.scenario.hostile != Some(Hostile::Spelled) {
            return;
        }
        let name = self.hostile_secret(Hostile::Spelled);
        let made: Vec<&String> = self.secrets.held.keys().filter(|held| held.eq_ignore_ascii_case(&name)).collect();
        if made.len() > 1 {
            let how = format!("contained: one definition makes the secrets {made:?}");
            self.broken(how);
        }
    }
}
