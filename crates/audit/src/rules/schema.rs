//! Checks the configuration against the fields of consul-ecs.

#[cfg(test)]
mod tests;

use mesh::consul_ecs::{Check, Problem, ROOT, Releases};

use crate::subject::{Configuration, ConsulEcs};
use audit_read::document::{Node, Span};

/// The defects of a task's configuration, in the order of the file.
pub(super) fn problems<'c>(consul_ecs: &ConsulEcs<'c, '_>) -> Vec<Problem<'c, Node>> {
    let Some(json) = consul_ecs.configuration.and_then(Configuration::json) else { return Vec::new() };
    // A tag such as 0.9 moves to the newest release of its line.
    let image = consul_ecs.version.filter(|_| consul_ecs.fits);
    let image = image.map(|version| consul_ecs.release.unwrap_or(version.in_line()));
    Check::run(json, &ROOT, image.map(Releases::only), image.unwrap_or(consul_ecs.presumed))
}

/// The bytes of a defect: the key, if the key is wrong.
pub(super) fn span_of(problem: &Problem<'_, Node>) -> Span {
    let entry = problem.key.and_then(|key| problem.value.entries().iter().find(|entry| entry.key == key));
    entry.map_or(problem.value.place.span, |entry| entry.key_span)
}
