//! Containers of any task: names, entry points, health checks and host ports, and the network mode.

use std::ops::RangeInclusive;

use super::prelude::*;
use crate::{draft::NEEDS_SUBNETS, spelling::misspelt, subject::line_of_shell};
use audit_read::definition::{ContainerHealthCheck, LoadBalancer, PortMapping, TaskDefinition};

pub(super) static ECS_CONTAINER_NAME_DUPLICATE: Rule =
    Rule::of_task(page!("ecs-container-name-duplicate"), Applies::EveryTask, check_container_name_duplicate);

fn check_container_name_duplicate(subject: &Subject<'_>, findings: &mut Findings) {
    for container in &subject.definition.containers.items {
        let Some(name) = container.name.text() else { continue };
        let Maybe::Known(first) = subject.order().container(name) else { continue };
        if std::ptr::eq(first, container) {
            continue;
        }
        let message = format!("a second container has the name {name}");
        let draft = Draft::new(container.name.span(), message, "rename one of them, or remove it");
        findings.add(draft.of(container).note(first.name.span(), "the first one"));
    }
}

pub(super) static ECS_CONTAINER_NAME: Rule =
    Rule::of_task(page!("ecs-container-name"), Applies::EveryTask, check_container_name);

fn check_container_name(subject: &Subject<'_>, findings: &mut Findings) {
    let is_of_a_name = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    let is_valid = |name: &str| (1..=255).contains(&name.len()) && name.chars().all(is_of_a_name);
    for container in &subject.definition.containers.items {
        let message = match (container.name.is_absent(), container.name.text()) {
            (true, _) => "a container has no name".to_owned(),
            (false, Some(name)) if !is_valid(name) => format!("{name:?} is not a valid name of a container"),
            (false, _) => continue,
        };
        let help = "name it with letters, digits, - and _";
        findings.add(Draft::new(container.span(), message, help).of(container));
    }
}

pub(super) static ECS_LOAD_BALANCER_TARGET: Rule =
    Rule::of_task(page!("ecs-load-balancer-target"), Applies::EveryTask, check_load_balancer_target);

fn check_load_balancer_target(subject: &Subject<'_>, findings: &mut Findings) {
    for service in &subject.definition.services {
        for balancer in &service.load_balancers.items {
            let draft = wrong_target(subject.definition, &service.name, balancer);
            findings.extend(draft.map(|draft| draft.in_file(&service.file)));
        }
    }
}

fn wrong_target(definition: &TaskDefinition, service: &str, balancer: &LoadBalancer) -> Option<Draft> {
    let name = balancer.container.text()?;
    let container = match definition.container(name) {
        Maybe::Known(container) => container,
        Maybe::Absent => {
            let message = format!(
                "the load balancer of the service {service} has the target {name}, which is no container of the definition"
            );
            let help = "write the name of the container that gets the requests";
            return Some(Draft::new(balancer.container.span(), message, help));
        }
        Maybe::Unknown => return None,
    };
    let port = balancer.container_port.known()?;
    let may_be = |mapping: &PortMapping| mapping.container_port.known().is_none_or(|mapped| mapped == port);
    if !container.port_mappings.lacks(may_be) {
        return None;
    }
    let message = format!("the load balancer of the service {service} names port {port}, which {name} does not map");
    let help = format!("add the port to portMappings of {name}, or write one that it maps");
    Some(Draft::new(balancer.container_port.span(), message, help).of(container))
}

pub(super) static ECS_HEALTH_CHECK_COMMAND: Rule =
    Rule::of_task(page!("ecs-health-check-command"), Applies::EveryTask, check_health_check_command);

fn check_health_check_command(subject: &Subject<'_>, findings: &mut Findings) {
    for container in &subject.definition.containers.items {
        if let Some(check) = container.health_check.known() {
            check_command(container, check, findings);
        }
    }
}

/// Whether it would be `CMD` or `CMD-SHELL` in capital letters.
fn lacks_capitals(word: &str) -> bool {
    ["CMD", "CMD-SHELL"].into_iter().any(|form| word != form && word.eq_ignore_ascii_case(form))
}

/// Whether it is nearly `CMD` or `CMD-SHELL`: `CMD_SHELL`, `CMD-SHEL`, `SHELL`.
fn is_misspelt_form(word: &str) -> bool {
    let is_upper = !word.bytes().any(|byte| byte.is_ascii_lowercase());
    let is_near = || misspelt(word, ["CMD-SHELL"]).is_some() || matches!(word, "SHELL" | "COMMAND" | "CMD SHELL");
    is_upper && !["CMD", "CMD-SHELL", "NONE"].contains(&word) && is_near()
}

/// What joins two commands of a shell.
const OPERATORS: [&str; 4] = ["||", "&&", "|", ";"];

fn check_command(container: &Container, check: &ContainerHealthCheck, findings: &mut Findings) {
    let label = container.label();
    let Some(words) = check.command.texts() else { return };
    let (message, help) = match words.as_slice() {
        [] | ["CMD" | "CMD-SHELL"] => {
            (format!("the health check of {label} has no command to run"), "add the command after CMD or CMD-SHELL")
        }
        [first, ..] if lacks_capitals(first) => (
            format!("the health check of {label} takes {first} for the name of a program"),
            "write CMD and CMD-SHELL in capital letters",
        ),
        [first, ..] if is_misspelt_form(first) => (
            format!("the health check of {label} takes {first} for the name of a program"),
            "begin with CMD or CMD-SHELL",
        ),
        ["CMD-SHELL", line, rest @ ..] if !rest.is_empty() && !line.contains('$') => (
            format!("the health check of {label} runs one item and ignores the next {}", rest.len()),
            "write the complete line as one item after CMD-SHELL, or begin with CMD",
        ),
        ["CMD", program] if program.contains(' ') => (
            format!("the health check of {label} takes the complete line for the name of a program"),
            "write every argument as a separate item, or begin with CMD-SHELL",
        ),
        [first, rest @ ..] if *first != "CMD-SHELL" && rest.iter().any(|word| OPERATORS.contains(word)) => (
            format!("the health check of {label} has an operator of the shell, which only CMD-SHELL runs"),
            "write the complete line as one item after CMD-SHELL",
        ),
        [line] if *line != "NONE" && line.contains(' ') => (
            format!("the health check of {label} takes the complete line for the name of a program"),
            "put CMD-SHELL before the line",
        ),
        _ => return,
    };
    findings.add(Draft::new(check.command.place.span, message, help).of(container));
}

/// The value from which a time was probably meant in milliseconds.
const SECOND: u64 = 1000;

pub(super) static ECS_HEALTH_CHECK_RANGE: Rule =
    Rule::of_task(page!("ecs-health-check-range"), Applies::EveryTask, check_health_check_range);

fn check_health_check_range(subject: &Subject<'_>, findings: &mut Findings) {
    for container in &subject.definition.containers.items {
        let Some(ContainerHealthCheck { interval, timeout, retries, start_period, .. }) =
            container.health_check.known()
        else {
            continue;
        };
        check_range(container, ("interval", interval), 5..=300, findings);
        check_range(container, ("timeout", timeout), 2..=60, findings);
        check_range(container, ("retries", retries), 1..=10, findings);
        check_range(container, ("startPeriod", start_period), 0..=300, findings);
    }
}

fn check_range(
    container: &Container,
    (key, field): (&str, &Field<u64>),
    range: RangeInclusive<u64>,
    findings: &mut Findings,
) {
    let Some(value) = field.known().filter(|value| !range.contains(value)) else { return };
    let (least, most) = range.into_inner();
    let message = format!("the health check of {} has the {key} {value}", container.label());
    let help = format!("choose a value from {least} to {most}");
    let is_in_milliseconds = *value >= SECOND && key != "retries";
    let nearest = if is_in_milliseconds { *value / SECOND } else { (*value).clamp(least, most) };
    let fix = Fix::set(&field.place, nearest).filter(|_| (least..=most).contains(&nearest));
    findings.add(Draft::new(field.span(), message, help).of(container).fix(fix));
}

pub(super) static ECS_SHELL_ENTRY_POINT: Rule =
    Rule::of_task(page!("ecs-shell-entry-point"), Applies::EveryTask, check_shell_entry_point);

fn check_shell_entry_point(subject: &Subject<'_>, findings: &mut Findings) {
    for container in &subject.definition.containers.items {
        if subject.is_of_the_mesh(container)
            || container.is_essential() != Some(true)
            || container.entry_point.items.is_empty()
        {
            continue;
        }
        if container.command_line().is_some_and(|words| keeps_the_signal(&words)) {
            let label = container.label();
            let place =
                if container.command.is_present { &container.command.place } else { &container.entry_point.place };
            let message = format!("{label} runs in a shell that does not exec it");
            findings
                .add(Draft::new(place.span, message, "write exec before the last command of the script").of(container));
        }
    }
}

/// Whether these words start a shell with a script of several commands that certainly keeps running. A script with
/// `exec` or `trap` is not reported.
fn keeps_the_signal(words: &[&str]) -> bool {
    let Some((_, script)) = line_of_shell(words) else { return false };
    let takes_care =
        script.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| matches!(word, "exec" | "trap"));
    let plain = without_redirections(&without_quotes(script));
    let commands = plain.split(['\n', ';', '&']).filter(|command| !command.trim().is_empty()).count();
    !takes_care && commands > 1
}

/// A script without its quoted parts: characters in quotes do not separate commands.
fn without_quotes(script: &str) -> String {
    let mut quote = None;
    let mut is_escaped = false;
    let is_outside = |c: &char| {
        let escaped = std::mem::take(&mut is_escaped);
        match (quote, *c) {
            _ if escaped => quote.is_none(),
            (None | Some('"'), '\\') => {
                is_escaped = true;
                false
            }
            (None, '\'' | '"') => {
                quote = Some(*c);
                // A placeholder for the quoted part.
                true
            }
            (Some(open), c) if c == open => {
                quote = None;
                true
            }
            (found, _) => found.is_none(),
        }
    };
    script.chars().filter(is_outside).collect()
}

/// A script without redirections such as `2>&1` and `>&-`.
fn without_redirections(script: &str) -> String {
    script.replace(">&", ">").replace("<&", "<").replace("&>", ">")
}

pub(super) static CONSUL_NETWORK_MODE: Rule =
    Rule::once_per_task(page!("consul-network-mode"), Applies::Consul, check_consul_network_mode);

fn check_consul_network_mode(subject: &Subject<'_>) -> Option<Draft> {
    other_network_mode(subject.definition)
}

pub(super) static APPMESH_NETWORK_MODE: Rule =
    Rule::once_per_task(page!("appmesh-network-mode", in APP_MESH), Applies::AppMesh, check_app_mesh_network_mode);

fn check_app_mesh_network_mode(subject: &Subject<'_>) -> Option<Draft> {
    subject.proxy_configuration().and_then(|_| other_network_mode(subject.definition))
}

pub(super) static ECS_HOST_PORT: Rule = Rule::of_task(page!("ecs-host-port"), Applies::EveryTask, check_host_port);

fn check_host_port(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(mode @ ("awsvpc" | "host")) = subject.definition.network_mode.text() else { return };
    for container in &subject.definition.containers.items {
        for mapping in &container.port_mappings.items {
            let (Some(port), Some(host)) = (mapping.container_port.known(), mapping.host_port.known()) else {
                continue;
            };
            // Zero counts as absent.
            if *host == 0 || host == port {
                continue;
            }
            let message =
                format!("{} maps its port {port} to {host}, which the mode {mode} does not support", container.label());
            let draft = Draft::new(mapping.host_port.span(), message, "remove hostPort").of(container);
            findings.add(draft.fix(Fix::remove(&mapping.host_port.place)));
        }
    }
}

/// The draft for a definition that certainly has another network mode.
fn other_network_mode(definition: &TaskDefinition) -> Option<Draft> {
    let mode = &definition.network_mode;
    let message = match (mode.text(), mode.is_absent()) {
        (Some("awsvpc"), _) | (None, false) => return None,
        (Some(other), _) => format!("the network mode is {other}"),
        (None, true) => "no network mode is set, which means bridge".to_owned(),
    };
    let is_enough = definition.suits_awsvpc();
    let help = if is_enough {
        "set networkMode to awsvpc"
    } else {
        "set networkMode to awsvpc, and remove what ECS refuses then: EXTERNAL, links, hostname, extraHosts, DNS settings, disableNetworking, and host ports that differ from the container's"
    };
    let fix = Fix::set(&mode.place, "awsvpc").filter(|_| is_enough).map(|fix| fix.needing(NEEDS_SUBNETS));
    Some(Draft::new(mode.span(), message, help).fix(fix))
}
