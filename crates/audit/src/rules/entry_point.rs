//! The entry points of the containers that run consul-ecs.

use super::{images::hashicorp_s, prelude::*};
use crate::subject::{ConsulEcs, is_consul_ecs, line_of_shell};
use mesh::consul_ecs::is_subcommand;

pub(super) static CONSUL_ECS_ENTRY_POINT: Rule =
    Rule::of_task(page!("consul-ecs-entry-point"), Applies::ConsulAndController, check_entry_point);

fn check_entry_point(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul_ecs) = subject.consul_ecs() else { return };
    for &container in &consul_ecs.containers {
        let directory = shared_directory(subject, &consul_ecs, container);
        let Some(what) = wrong_start(container, directory) else { continue };
        let place = &container.entry_point.place;
        let message = format!("the entry point of {} {what}", container.label());
        let help = "remove entryPoint: the image starts consul-ecs, and the command is its subcommand";
        // Without the entry point, the image would start discover-servers in place of the container's own subcommand.
        let is_meant = |words: &[&str]| words.len() == 1 && !words.contains(&"discover-servers");
        let fix = Fix::remove(place).filter(|_| match container.command.texts() {
            Some(words) => is_meant(&words),
            None => container.command.items.len() == 1,
        });
        findings.add(Draft::new(place.span, message, help).of(container).fix(fix));
    }
}

/// The directory to which this container writes the program, if it is the one that does.
fn shared_directory<'s>(
    subject: &'s Subject<'_>,
    consul_ecs: &ConsulEcs<'_, '_>,
    container: &Container,
) -> Option<&'s str> {
    let consul = subject.consul.as_ref()?;
    let is_first = consul.first().is_some_and(|first| std::ptr::eq(first, container));
    consul.shared_directory().filter(|_| is_first && consul_ecs.fits)
}

fn is_hashicorp_s(container: &Container) -> bool {
    hashicorp_s(container).is_some_and(|name| name.starts_with("consul-ecs"))
}

/// The programs of the mesh that are not consul-ecs.
const OTHERS: [&str; 3] = ["consul", "consul-dataplane", "envoy"];

/// What an entry point certainly does instead of starting consul-ecs with the subcommand in the command. `directory` is where
/// the container writes the program.
pub(super) fn wrong_start(container: &Container, directory: Option<&str>) -> Option<String> {
    if !is_consul_ecs(container) {
        return None;
    }
    let words = container.entry_point.texts()?;
    let program = *words.first()?;
    let name = program.rsplit('/').next()?;
    if OTHERS.contains(&name) {
        return Some(format!("is {name}, which is not in the image of consul-ecs"));
    }
    if name == "consul-ecs" && directory.is_some_and(|directory| program == format!("{directory}/consul-ecs")) {
        return Some(format!("is {program}, which the container writes itself"));
    }
    let is_in_image = program == "/bin/consul-ecs" || !program.contains('/');
    if name == "consul-ecs" && !is_in_image && is_hashicorp_s(container) && container.lacks_mount_above(program) {
        return Some(format!("is {program}, which is neither in the image nor on a volume"));
    }
    if name == "consul-ecs"
        && let Some(word @ ("envoy-entrypoint" | "app-entrypoint" | "net-dial")) = words.get(1).copied()
    {
        return Some(format!("runs {word}"));
    }
    let all = container.command_line()?;
    let (shell, line) = line_of_shell(&all)?;
    let first = line.split_whitespace().next().filter(|first| is_subcommand(first))?;
    Some(format!("is {shell}, which runs a program called {first}: there is none"))
}
