//! The order in which the containers of a task start: who waits for whom, directly or through others.
//!
//! Each question costs one walk over the dependencies, however long their chains are.

use std::collections::{HashMap, HashSet};

use super::{
    container::{Container, Dependency},
    field::Maybe,
    task::TaskDefinition,
};

/// The containers of a definition by name, and their dependencies.
#[derive(Debug)]
pub struct Order<'d> {
    containers: &'d [Container],
    by_name: HashMap<&'d str, usize>,
    /// The containers whose names are not known completely.
    unnamed: Vec<&'d Container>,
    /// Whether all containers are known.
    is_complete: bool,
    waits: Vec<Vec<Wait<'d>>>,
    /// For each container, those that wait for it.
    waiting: Vec<Vec<usize>>,
}

/// Whether a container without a known name may be meant by `name`: another rule reports one without any.
fn may_be(unnamed: &Container, name: &str) -> bool {
    unnamed.name.is_absent() || unnamed.name.may_be(name)
}

/// A dependency of a container.
#[derive(Debug, Clone, Copy)]
struct Wait<'d> {
    dependency: &'d Dependency,
    /// The number of the other container, if there certainly is one of this name.
    on: Option<usize>,
}

impl Wait<'_> {
    /// Whether it certainly is a dependency on the container called `name` with `condition`.
    fn is_on(&self, name: &str, condition: Option<&str>) -> bool {
        self.dependency.container.text() == Some(name)
            && condition.is_none_or(|condition| self.dependency.condition.text() == Some(condition))
    }

    /// Whether it may be one.
    fn may_be_on(&self, name: &str) -> bool {
        match self.dependency.container.text() {
            Some(other) => other == name && self.dependency.condition.text().is_none(),
            None => true,
        }
    }
}

impl<'d> Order<'d> {
    pub fn of(definition: &'d TaskDefinition) -> Self {
        let containers = definition.containers.items.as_slice();
        let mut by_name = HashMap::with_capacity(containers.len());
        for (number, container) in containers.iter().enumerate() {
            if let Some(name) = container.name.text() {
                by_name.entry(name).or_insert(number);
            }
        }
        let wait = |dependency: &'d Dependency| Wait {
            dependency,
            on: dependency.container.text().and_then(|name| by_name.get(name).copied()),
        };
        let waits: Vec<Vec<Wait<'d>>> =
            containers.iter().map(|container| container.depends_on.items.iter().map(wait).collect()).collect();
        let mut waiting = vec![Vec::new(); containers.len()];
        for (number, waits) in waits.iter().enumerate() {
            for on in waits.iter().filter_map(|wait| wait.on) {
                if let Some(waiting) = waiting.get_mut(on) {
                    waiting.push(number);
                }
            }
        }
        let unnamed = containers.iter().filter(|container| container.name.text().is_none()).collect();
        Self { containers, by_name, unnamed, is_complete: definition.containers.is_complete, waits, waiting }
    }

    /// The container called `name`; of several, the first.
    pub fn container(&self, name: &str) -> Maybe<&'d Container> {
        match self.by_name.get(name).and_then(|number| self.containers.get(*number)) {
            Some(container) => Maybe::Known(container),
            None if self.is_complete && !self.unnamed.iter().any(|other| may_be(other, name)) => Maybe::Absent,
            None => Maybe::Unknown,
        }
    }

    /// The containers that each container waits for, by number, with the dependency.
    pub fn waits(&self) -> impl Iterator<Item = impl Iterator<Item = (&'d Dependency, Option<usize>)>> {
        self.waits.iter().map(|waits| waits.iter().map(|wait| (wait.dependency, wait.on)))
    }

    /// Every dependency between two containers: the waiting container, the dependency, the other container.
    pub fn pairs(&self) -> impl Iterator<Item = (&'d Container, &'d Dependency, &'d Container)> {
        self.containers.iter().zip(&self.waits).flat_map(move |(container, waits)| {
            waits.iter().filter_map(move |wait| Some((container, wait.dependency, self.containers.get(wait.on?)?)))
        })
    }

    /// The containers that wait for a container, with their dependencies on it.
    pub fn waiting_for(&self, container: &Container) -> impl Iterator<Item = (&'d Container, &'d Dependency)> {
        let numbers = self.waiting.get(container.number).into_iter().flatten();
        numbers.flat_map(move |number| {
            let waits = self.waits.get(*number).into_iter().flatten();
            let waits = waits.filter(|wait| wait.on == Some(container.number));
            waits.filter_map(|wait| Some((self.containers.get(*number)?, wait.dependency)))
        })
    }

    /// The containers that start only after the container called `name` has reached `condition` (any condition, if there is
    /// none).
    pub fn after(&self, name: &str, condition: Option<&str>) -> After {
        let certain = self.reaching(|_, waits| waits.iter().any(|wait| wait.is_on(name, condition)));
        let may_be_hidden = !self.is_complete || !self.unnamed.is_empty();
        let unclear = self.reaching(|container, waits| {
            let is_unclear = |wait: &Wait<'_>| wait.may_be_on(name) || (wait.on.is_none() && may_be_hidden);
            !container.depends_on.is_complete || waits.iter().any(is_unclear)
        });
        After { certain, unclear }
    }

    /// The containers that lead to one of the `wanted` along their dependencies.
    fn reaching(&self, wanted: impl Fn(&Container, &[Wait<'d>]) -> bool) -> Vec<bool> {
        let found = self.containers.iter().zip(&self.waits).map(|(container, waits)| wanted(container, waits));
        let mut reaching: Vec<bool> = found.collect();
        let mut next: Vec<usize> =
            reaching.iter().enumerate().filter_map(|(number, is_one)| is_one.then_some(number)).collect();
        while let Some(number) = next.pop() {
            for waiting in self.waiting.get(number).into_iter().flatten() {
                if let Some(is_known) = reaching.get_mut(*waiting).filter(|is_known| !**is_known) {
                    *is_known = true;
                    next.push(*waiting);
                }
            }
        }
        reaching
    }

    /// What `containers` wait for.
    pub fn before<'c>(&self, containers: impl IntoIterator<Item = &'c Container>) -> Before<'d> {
        let mut next: Vec<usize> = containers.into_iter().map(|container| container.number).collect();
        let mut seen: HashSet<usize> = next.iter().copied().collect();
        let mut before = Before { names: HashSet::new(), is_certain: true };
        while let Some(number) = next.pop() {
            before.is_certain &= self.containers.get(number).is_some_and(|container| container.depends_on.is_complete);
            for wait in self.waits.get(number).into_iter().flatten() {
                let name = wait.dependency.container.text();
                before.is_certain &= name.is_some() && (wait.on.is_some() || self.is_complete);
                before.names.extend(name);
                next.extend(wait.on.filter(|on| seen.insert(*on)));
            }
        }
        before
    }
}

/// The containers that start after another one.
#[derive(Debug)]
pub struct After {
    certain: Vec<bool>,
    unclear: Vec<bool>,
}

impl After {
    /// Whether `container` is one of them; `None` if it is known only at deployment.
    pub fn has(&self, container: &Container) -> Option<bool> {
        let is_in = |numbers: &[bool]| numbers.get(container.number).copied().unwrap_or_default();
        match (is_in(&self.certain), is_in(&self.unclear)) {
            (true, _) => Some(true),
            (false, true) => None,
            (false, false) => Some(false),
        }
    }
}

/// The names of the containers that others wait for.
#[derive(Debug)]
pub struct Before<'d> {
    names: HashSet<&'d str>,
    is_certain: bool,
}

impl Before<'_> {
    /// Whether the container called `name` certainly or possibly is one of them.
    pub fn may_have(&self, name: &str) -> bool {
        !self.is_certain || self.names.contains(name)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::input::ecs_definition;
    use document::{Route, SourceFile, parse_json};
    use serde_json::{Value, json};

    /// A definition with these containers: name and dependencies.
    fn definition(containers: &[(&str, Value)]) -> TaskDefinition {
        let containers: Vec<Value> =
            containers.iter().map(|(name, waits)| json!({ "name": name, "dependsOn": waits })).collect();
        let file = SourceFile::new("f.json", json!({ "family": "f", "containerDefinitions": containers }).to_string());
        let node = parse_json(&file.text, &Route::default()).unwrap();
        ecs_definition(Arc::new(file), &node).0.unwrap()
    }

    fn waits(name: &str, condition: &str) -> Value {
        json!([{ "containerName": name, "condition": condition }])
    }

    fn comes_after(definition: &TaskDefinition, name: &str, first: &str, condition: &str) -> Option<bool> {
        let container = definition.containers.items.iter().find(|container| container.is_called(name)).unwrap();
        Order::of(definition).after(first, Some(condition)).has(container)
    }

    #[test]
    fn dependencies_count_directly_and_indirectly() {
        let definition = definition(&[
            ("app", waits("migration", "SUCCESS")),
            ("migration", waits("proxy", "HEALTHY")),
            ("proxy", waits("init", "SUCCESS")),
            ("init", json!([])),
            ("early", waits("proxy", "START")),
        ]);
        let after = |name: &str, condition: &str| comes_after(&definition, name, "proxy", condition);
        assert_eq!(after("app", "HEALTHY"), Some(true));
        assert_eq!(after("migration", "HEALTHY"), Some(true));
        assert_eq!(after("early", "HEALTHY"), Some(false));
        assert_eq!(after("early", "START"), Some(true));
        assert_eq!(after("init", "HEALTHY"), Some(false));
        let order = Order::of(&definition);
        let before = order.before(definition.containers.items.iter().filter(|one| one.is_called("app")));
        assert!(before.may_have("init") && before.may_have("proxy") && !before.may_have("early"));
    }

    #[test]
    fn cycles_end_and_unknown_dependencies_are_uncertain() {
        let containers = [("a", waits("b", "START")), ("b", waits("a", "START")), ("c", json!([]))];
        let mut definition = definition(&containers);
        assert_eq!(comes_after(&definition, "a", "c", "HEALTHY"), Some(false));
        definition.containers.items.get_mut(1).unwrap().depends_on.is_complete = false;
        assert_eq!(comes_after(&definition, "a", "c", "HEALTHY"), None);
    }

    #[test]
    fn an_unknown_condition_matters_only_where_it_could_be_the_wanted_one() {
        let unknown = |name: &str| json!([{ "containerName": name, "condition": "${CONDITION}" }]);
        let definition = definition(&[("a", unknown("b")), ("b", waits("c", "START")), ("c", json!([]))]);
        assert_eq!(comes_after(&definition, "a", "b", "HEALTHY"), None);
        assert_eq!(comes_after(&definition, "a", "c", "HEALTHY"), Some(false));
    }

    #[test]
    fn a_long_chain_is_walked_once_for_each_question() {
        // With a walk from each container, or a search for each name, this takes hours.
        const LENGTH: usize = 100_000;
        let name = |number: usize| format!("c{number}");
        let chain: Vec<(String, Value)> = (0..LENGTH)
            .map(|number| (name(number), if number == 0 { json!([]) } else { waits(&name(number - 1), "START") }))
            .collect();
        let chain: Vec<(&str, Value)> = chain.iter().map(|(name, waits)| (name.as_str(), waits.clone())).collect();
        let definition = definition(&chain);
        let order = Order::of(&definition);
        let after = order.after("c0", Some("START"));
        let late = definition.containers.items.iter().filter(|container| after.has(container) == Some(true)).count();
        assert_eq!((late, order.pairs().count()), (LENGTH - 1, LENGTH - 1));
        assert!(order.before(definition.containers.items.last()).may_have("c0"));
    }
}
