//! The rules, each in one file.

mod appmesh;
mod awsvpc;
mod consul;
mod ecs;

#[cfg(test)]
mod tests;

use super::rule::Rule;

/// All rules, by group.
pub fn rules() -> impl Iterator<Item = &'static Rule> {
    let groups = [
        consul::task::RULES,
        consul::client::RULES,
        consul::dataplane::RULES,
        consul::gateway::RULES,
        consul::configuration::RULES,
        consul::releases::RULES,
        consul::tags::RULES,
        appmesh::task::RULES,
        appmesh::resources::RULES,
        ecs::RULES,
    ];
    groups.into_iter().flatten().copied()
}

/// The rule called `id`.
pub fn rule(id: &str) -> Option<&'static Rule> {
    rules().find(|rule| rule.id == id)
}
