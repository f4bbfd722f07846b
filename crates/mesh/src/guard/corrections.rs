//! The guard over corrections: a sweep that would take a large share of a service out of rotation corrects nothing of it, and
//! no sweep takes the last instance of a small service. What ECS reports of many tasks at once may be wrong.

use std::collections::{BTreeMap, BTreeSet};

use super::{MIN_OBJECTS, MaxDeletePercent};
use crate::{
    catalog::{CheckStatus, HealthCheck},
    tenancy::Tenancy,
};

/// Why a correction towards critical is held back.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HeldBack {
    /// The sweep would take too large a share of a service of ten or more instances.
    #[error(
        "the sweep takes {taken} of {passing} passing instances of {service} out of rotation, more than MaxDeletePercent ({percent} %)"
    )]
    TooMany {
        service: String,
        /// How many passing instances the sweep takes.
        taken: usize,
        /// How many there are.
        passing: usize,
        percent: u8,
    },
    /// The service has less than ten instances, and no other one passes.
    #[error("ECS contradicts its passing check, which stays because no other instance of {service} passes")]
    LastPassing { service: String },
}

/// A service: its tenancy and name.
type Service<'a> = (&'a Tenancy, &'a str);
/// An instance: its node, tenancy and ID.
type Instance<'a> = (&'a str, &'a Tenancy, &'a str);

/// The corrections of one sweep.
#[derive(Debug)]
pub struct Corrections {
    /// `None`: an operator forces the sweep.
    limit: Option<MaxDeletePercent>,
    /// How many instances of each service it has taken out of rotation.
    taken: BTreeMap<(Tenancy, String), usize>,
}

impl Corrections {
    /// No corrections yet. Without a limit, an operator forces the sweep.
    pub fn new(limit: Option<MaxDeletePercent>) -> Self {
        Self { limit, taken: BTreeMap::new() }
    }

    /// Which of the corrections `wanted` are held back, with all checks as they are `now`. The others count as done. A
    /// correction towards passing is never held back.
    pub fn hold_back<'a>(
        &mut self,
        now: impl IntoIterator<Item = &'a HealthCheck>,
        wanted: &[&'a HealthCheck],
    ) -> Vec<(&'a HealthCheck, HeldBack)> {
        let mut services: BTreeMap<Service<'a>, BTreeMap<Instance<'a>, bool>> = BTreeMap::new();
        for check in now.into_iter().filter(|check| !check.service_id.is_empty()) {
            let passes = services.entry(service(check)).or_default().entry(instance(check)).or_insert(true);
            *passes &= check.status != CheckStatus::Critical;
        }
        let mut wanted_of: BTreeMap<Service<'a>, BTreeMap<Instance<'a>, Vec<&'a HealthCheck>>> = BTreeMap::new();
        for &check in wanted.iter().filter(|check| check.status == CheckStatus::Critical) {
            let passes = services.get(&service(check)).and_then(|all| all.get(&instance(check)));
            if passes.copied().unwrap_or_default() {
                wanted_of.entry(service(check)).or_default().entry(instance(check)).or_default().push(check);
            }
        }
        let mut held_back = Vec::new();
        for (service, taken) in wanted_of {
            let instances = services.get(&service);
            let passing = instances.map_or(0, |all| all.values().filter(|passes| **passes).count());
            let is_small = instances.is_none_or(|all| all.len() < MIN_OBJECTS);
            let held = self.held(service, taken.keys().copied().collect(), passing, is_small);
            let count = held.as_ref().map_or(0, |(held, _)| held.len());
            *self.taken.entry((service.0.clone(), service.1.to_owned())).or_default() += taken.len() - count;
            let Some((held, why)) = held else { continue };
            let checks =
                taken.into_iter().filter(|(instance, _)| held.contains(instance)).flat_map(|(_, checks)| checks);
            held_back.extend(checks.map(|check| (check, why.clone())));
        }
        held_back
    }

    /// Which of the passing instances `taken` stay in rotation, and why.
    fn held<'a>(
        &self,
        (tenancy, name): Service<'a>,
        taken: BTreeSet<Instance<'a>>,
        passing: usize,
        is_small: bool,
    ) -> Option<(BTreeSet<Instance<'a>>, HeldBack)> {
        let service = name.to_owned();
        if is_small {
            let stays = taken.first().copied().filter(|_| taken.len() >= passing)?;
            return Some((BTreeSet::from([stays]), HeldBack::LastPassing { service }));
        }
        let MaxDeletePercent(percent) = self.limit?;
        let before = self.taken.get(&(tenancy.clone(), service.clone())).copied().unwrap_or_default();
        let (count, passing) = (taken.len() + before, passing + before);
        let is_exceeded = count * 100 > passing * usize::from(percent);
        is_exceeded.then_some((taken, HeldBack::TooMany { service, taken: count, passing, percent }))
    }
}

fn service(check: &HealthCheck) -> Service<'_> {
    (&check.tenancy, check.service_name.as_str())
}

fn instance(check: &HealthCheck) -> Instance<'_> {
    (check.node.as_str(), &check.tenancy, check.service_id.as_str())
}

#[cfg(test)]
mod tests {
    use CheckStatus::{Critical, Passing};

    use super::*;
    use crate::examples;

    fn check(service: &str, number: u8, container: &str, status: CheckStatus) -> HealthCheck {
        examples::check(&examples::instance_of("prod", service, number), container, status)
    }

    /// Instances of `web` whose checks pass.
    fn passing(count: u8) -> Vec<HealthCheck> {
        let of_one = |number| ["app", "consul-dataplane"].map(|container| check("web", number, container, Passing));
        (0..count).flat_map(of_one).collect()
    }

    /// The corrections of the first instances towards critical.
    fn lowered(count: u8) -> Vec<HealthCheck> {
        passing(count).into_iter().map(|check| HealthCheck { status: Critical, ..check }).collect()
    }

    fn corrections() -> Corrections {
        Corrections::new(MaxDeletePercent::new(30))
    }

    /// The instances of which something is held back, and the first reason.
    fn held(corrections: &mut Corrections, now: &[HealthCheck], wanted: &[HealthCheck]) -> (usize, Option<HeldBack>) {
        let held = corrections.hold_back(now, &wanted.iter().collect::<Vec<_>>());
        let instances: BTreeSet<&str> = held.iter().map(|(check, _)| check.service_id.as_str()).collect();
        (instances.len(), held.first().map(|(_, why)| why.clone()))
    }

    #[test]
    fn large_share_of_a_service_of_ten_is_held_back_as_a_whole() {
        assert_eq!(held(&mut corrections(), &passing(10), &lowered(3)), (0, None));
        let (count, why) = held(&mut corrections(), &passing(10), &lowered(4));
        let text =
            "the sweep takes 4 of 10 passing instances of web out of rotation, more than MaxDeletePercent (30 %)";
        assert_eq!((count, why.unwrap().to_string()), (4, text.to_owned()));
        // A forced sweep corrects them
        assert_eq!(held(&mut Corrections::new(None), &passing(10), &lowered(10)), (0, None));
    }

    #[test]
    fn share_counts_what_the_sweep_has_taken_before() {
        let mut corrections = corrections();
        assert_eq!(held(&mut corrections, &passing(10), &lowered(2)).0, 0);
        let mut now = passing(10);
        now[..4].iter_mut().for_each(|check| check.status = Critical);
        let further: Vec<HealthCheck> = lowered(4).split_off(4);
        assert_eq!(held(&mut corrections, &now, &further).0, 2);
    }

    #[test]
    fn share_is_one_of_passing_instances() {
        // Of twelve instances, six pass
        let mut now = passing(12);
        now[12..].iter_mut().for_each(|check| check.status = Critical);
        assert_eq!(held(&mut corrections(), &now, &lowered(1)).0, 0);
        assert_eq!(held(&mut corrections(), &now, &lowered(2)).0, 2);
    }

    #[test]
    fn last_passing_instance_of_a_small_service_stays() {
        assert_eq!(held(&mut corrections(), &passing(9), &lowered(8)), (0, None));
        let (count, why) = held(&mut corrections(), &passing(9), &lowered(9));
        assert_eq!((count, why), (1, Some(HeldBack::LastPassing { service: "web".to_owned() })));
        assert_eq!(held(&mut Corrections::new(None), &passing(1), &lowered(1)).0, 1, "also of a forced sweep");
        // An instance that does not pass counts for nothing
        let mut now = passing(2);
        now[2].status = Critical;
        assert_eq!(held(&mut corrections(), &now, &lowered(1)).0, 1);
        assert_eq!(held(&mut corrections(), &now, &[lowered(2).remove(3)]).0, 0);
    }

    #[test]
    fn corrections_towards_passing_and_of_other_services_are_not_held_back() {
        let now = [passing(1), vec![check("api", 1, "app", Critical), check("db", 1, "app", Passing)]].concat();
        let wanted = [lowered(1), vec![check("api", 1, "app", Passing)]].concat();
        let mut corrections = corrections();
        let held = corrections.hold_back(&now, &wanted.iter().collect::<Vec<_>>());
        assert!(held.len() == 2 && held.iter().all(|(check, _)| check.service_name == "web"), "{held:?}");
    }
}
