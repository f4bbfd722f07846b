//! The entry points of the containers that run consul-ecs.

use super::{images::hashicorp_s, prelude::*};
use crate::{
    spelling::{misspelt, nearest},
    subject::{ConsulEcs, go_flag, is_consul_ecs, is_shell, line_of_shell},
};
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
    let Some(consul) = &subject.consul else { return };
    let Some(directory) = consul.shared_directory() else { return };
    let proxies = consul.proxy().map(|proxy| (proxy, true));
    for (container, is_proxy) in consul.apps.iter().map(|app| (*app, false)).chain(proxies) {
        let Some((what, help)) = wrong_copy(container, directory, is_proxy) else { continue };
        let has_entry_point = !container.entry_point.items.is_empty();
        let place = if has_entry_point { &container.entry_point.place } else { &container.command.place };
        findings.add(Draft::new(place.span, format!("{} {what}", container.label()), help).of(container));
    }
}

/// The subcommands that run in containers of the user.
const FOR_OTHERS: [&str; 4] = ["app-entrypoint", "envoy-entrypoint", "net-dial", "version"];

/// The flags of `app-entrypoint`. Source:
/// <https://github.com/hashicorp/consul-ecs/blob/v0.10.0/subcommand/app-entrypoint/command_unix.go>
const FLAGS: [&str; 3] = ["shutdown-delay", "log-level", "log-json"];

/// Whether a path nearly is the one of the program that mesh-init copies.
pub(super) fn is_misspelt_copy(program: &str, directory: &str) -> bool {
    let name = program.strip_prefix(directory).and_then(|rest| rest.strip_prefix('/'));
    name.is_some_and(|name| name != PROGRAM && misspelt(name, [PROGRAM]).is_some())
}

const PROGRAM: &str = "consul-ecs";

/// What a container with the copy of consul-ecs does wrong, and what to do. Rules of their own judge the proxy's subcommand.
fn wrong_copy(container: &Container, directory: &str, is_proxy: bool) -> Option<(String, String)> {
    let words = container.command_line()?;
    let (program, rest) = words.split_first()?;
    if is_misspelt_copy(program, directory) {
        let what = format!("starts {program}, but mesh-init puts consul-ecs into {directory}");
        return Some((what, format!("write {directory}/{PROGRAM}")));
    }
    if is_proxy || *program != format!("{directory}/{PROGRAM}") {
        return None;
    }
    let (subcommand, options) = rest.split_first()?;
    if !FOR_OTHERS.contains(subcommand) && !is_subcommand(subcommand) {
        let meant = nearest(subcommand, FOR_OTHERS);
        let what = match meant {
            Some(_) => format!("runs {subcommand}, which consul-ecs does not know"),
            None => "runs a subcommand that consul-ecs does not know".to_owned(),
        };
        return Some((what, format!("did you mean {}?", meant.unwrap_or("app-entrypoint"))));
    }
    if *subcommand != "app-entrypoint" {
        return None;
    }
    let mut options = options.iter().copied();
    while let Some(option) = options.next() {
        let (name, value) = go_flag(option)?;
        if let Some(meant) = misspelt(name, FLAGS).filter(|meant| *meant != name) {
            let what = format!("gives app-entrypoint the flag -{name}, which it does not know");
            return Some((what, format!("write -{meant}")));
        }
        if value.is_none() && name != "log-json" && options.next().is_none() {
            return Some((format!("gives -{name} no value"), format!("write the value behind -{name}")));
        }
    }
    None
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
    if is_hashicorp_s(container) && name != PROGRAM && misspelt(name, [PROGRAM]).is_some() {
        return Some(format!("is {program}, which is not in the image of consul-ecs"));
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
    if let [shell, script, ..] = all.as_slice()
        && is_shell(shell)
        && (is_subcommand(script) || script.starts_with("consul-ecs "))
    {
        return Some(format!("is {shell}, which takes {script} for the name of a script"));
    }
    let (shell, line) = line_of_shell(&all)?;
    let first = line.split_whitespace().next().filter(|first| is_subcommand(first))?;
    Some(format!("is {shell}, which runs a program called {first}: there is none"))
}
