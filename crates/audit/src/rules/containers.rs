//! Containers of any task: names, entry points, health checks and host ports, and the network mode.

use std::ops::RangeInclusive;

use super::prelude::*;
use crate::{draft::NEEDS_SUBNETS, subject::line_of_shell};
use audit_read::definition::{ContainerHealthCheck, LoadBalancer, PortMapping, TaskDefinition};

pub(super) static ECS_CONTAINER_NAME_DUPLICATE: Rule = Rule {
    id: "ecs-container-name-duplicate",
    summary: "the names of containers are unique",
    effect: "ECS refuses to register the definition",
    explanation: "\
Dependencies, volumes, load balancers and overrides refer to a container by its name, so names must be unique in a \
definition. Two containers with the same name often result from a merge.",
    sources: &[pages::ECS_CONTAINER],
    example: Some(
        Base::Plain
            .wrong(
                "containerDefinitions[archive]",
                r#"{ "name": "migrate", "image": "example/report:3.1", "essential": false }"#,
            )
            .repaired_to(r#"{ "name": "archive", "image": "example/report:3.1", "essential": false }"#),
    ),
    ..Rule::of_task(Applies::EveryTask, check_container_name_duplicate)
};

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

pub(super) static ECS_CONTAINER_NAME: Rule = Rule {
    id: "ecs-container-name",
    summary: "every container has a name",
    effect: "ECS refuses to register the definition",
    explanation: "\
The name of a container is required: up to 255 letters, digits, `-` and `_`. Dependencies, load balancers and ECS Exec \
refer to it.",
    sources: &[pages::ECS_CONTAINER],
    example: Some(Base::Plain.missing("containerDefinitions[cache].name")),
    ..Rule::of_task(Applies::EveryTask, check_container_name)
};

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

pub(super) static ECS_LOAD_BALANCER_TARGET: Rule = Rule {
    id: "ecs-load-balancer-target",
    summary: "a service's load balancer names a container of the definition, and a port that it has",
    effect: "ECS refuses to create or update the service",
    explanation: "\
`loadBalancers` of an ECS service has the name and the port of the container that gets the requests. Both must be in the \
task definition: the port in `portMappings` of the container.",
    sources: &["https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_LoadBalancer.html"],
    // An example is one definition, but the rule needs a service too.
    example: None,
    ..Rule::of_task(Applies::EveryTask, check_load_balancer_target)
};

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

pub(super) static ECS_HEALTH_CHECK_COMMAND: Rule = Rule {
    id: "ecs-health-check-command",
    summary: "the command of a health check has a valid form",
    effect: "the check runs another program or none and fails, and the container never becomes healthy",
    explanation: "\
The first item of the command determines how the rest is run. `CMD` starts a program: its name and each argument are \
separate items, and `||` is one of its arguments. `CMD-SHELL` runs *one* item with the container's shell; further items \
become parameters of the shell, so `[\"CMD-SHELL\", \"curl\", \"-f\", …]` runs `curl` without arguments, which fails. Any \
other first item is a program, also `cmd-shell` in lower case.",
    sources: &[pages::ECS_HEALTH_CHECK],
    example: Some(
        Base::Plain.wrong("containerDefinitions[cache].healthCheck.command", r#"["CMD-SHELL", "redis-cli", "ping"]"#),
    ),
    ..Rule::of_task(Applies::EveryTask, check_health_check_command)
};

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

pub(super) static ECS_HEALTH_CHECK_RANGE: Rule = Rule {
    id: "ecs-health-check-range",
    summary: "the times and retries of health checks are in the ranges that ECS allows",
    is_fixable: true,
    effect: "ECS refuses to register the definition",
    explanation: "\
ECS allows an `interval` of 5 to 300 seconds, a `timeout` of 2 to 60 seconds, 1 to 10 `retries` and a `startPeriod` \
of at most 300 seconds. Values in milliseconds, as other tools have them, are out of range.",
    sources: &[pages::ECS_HEALTH_CHECK],
    example: Some(Base::Plain.wrong("containerDefinitions[cache].healthCheck.interval", "2")),
    ..Rule::of_task(Applies::EveryTask, check_health_check_range)
};

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

pub(super) static ECS_SHELL_ENTRY_POINT: Rule = Rule {
    id: "ecs-shell-entry-point",
    summary: "a shell that starts an app uses exec",
    severity: Severity::Info,
    effect: "TERM reaches the shell and not the app, which is killed with its requests unfinished",
    explanation: "\
ECS sends TERM to the container's first process. A shell with a script of several commands does not forward it to the \
app, its child process: the app runs until KILL stops it, `stopTimeout` seconds later. With `exec` before the last \
command, the app replaces the shell. An init process (`initProcessEnabled`) does not help: it forwards signals only \
to the shell.",
    sources: &["https://aws.amazon.com/blogs/containers/graceful-shutdowns-with-ecs/", pages::ECS_CONTAINER],
    example: Some(
        Base::Plain
            .wrong("containerDefinitions[report].command", r#"["export TZ=UTC && ./report --daily"]"#)
            .given(&[("containerDefinitions[report].entryPoint", r#"["/bin/sh", "-c"]"#)])
            .repaired_to(r#"["export TZ=UTC && exec ./report --daily"]"#),
    ),
    ..Rule::of_task(Applies::EveryTask, check_shell_entry_point)
};

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

pub(super) static CONSUL_NETWORK_MODE: Rule = Rule {
    id: "consul-network-mode",
    summary: "the network mode is awsvpc",
    is_fixable: true,
    effect: "the containers do not share 127.0.0.1, and neither the app nor the health checks reach the proxy",
    explanation: "\
Consul on ECS supports only the network mode `awsvpc`. It gives each task its own network interface, with the address \
that is registered in Consul and a loopback interface that the app and its proxy share. In `bridge` mode, the default \
on EC2, each container has its own loopback interface, and the app cannot reach its upstreams. In `host` mode, two \
tasks on one instance need the same ports.",
    sources: &[pages::CONSUL_TECH_SPECS, pages::ECS_NETWORKING],
    example: Some(Base::Dataplane.wrong("networkMode", r#""bridge""#)),
    ..Rule::once_per_task(Applies::Consul, check_consul_network_mode)
};

fn check_consul_network_mode(subject: &Subject<'_>) -> Option<Draft> {
    other_network_mode(subject.definition)
}

pub(super) static APPMESH_NETWORK_MODE: Rule = Rule {
    id: "appmesh-network-mode",
    summary: "the network mode is awsvpc",
    is_fixable: true,
    effect: "ECS refuses the definition: a proxy configuration works in awsvpc mode only",
    explanation: "\
App Mesh redirects the traffic of a task in the network namespace that its containers share. Only with `awsvpc` does \
a task have its own namespace and address. A virtual gateway redirects nothing and may run in other modes.",
    sources: &[pages::ECS_PROXY_CONFIGURATION, pages::ECS_NETWORKING],
    example: Some(Base::AppMesh.wrong("networkMode", r#""bridge""#)),
    ..Rule::once_per_task(Applies::AppMesh, check_app_mesh_network_mode)
};

fn check_app_mesh_network_mode(subject: &Subject<'_>) -> Option<Draft> {
    subject.proxy_configuration().and_then(|_| other_network_mode(subject.definition))
}

pub(super) static ECS_HOST_PORT: Rule = Rule {
    id: "ecs-host-port",
    summary: "in the network modes awsvpc and host, host ports equal container ports",
    is_fixable: true,
    effect: "ECS refuses to register the definition",
    explanation: "\
In `bridge` mode, ECS forwards the instance's port `hostPort` to the container's port. In `awsvpc` mode, the task has \
its own network interface, and in `host` mode it uses the instance's: ports are not translated. In these modes, leave \
`hostPort` out, or set it to `containerPort`.",
    sources: &["https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_PortMapping.html"],
    example: Some(
        Base::AppMesh
            .wrong("containerDefinitions[orders].portMappings", r#"[{ "containerPort": 9080, "hostPort": 80 }]"#),
    ),
    ..Rule::of_task(Applies::EveryTask, check_host_port)
};

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
