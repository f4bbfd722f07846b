//! The container of Consul Dataplane.

use std::path::Path;

use serde_json::json;

use super::{
    entry_point::is_misspelt_copy,
    fixes::{USUAL_DIRECTORY, usual_directory},
    images::hashicorp_s,
    prelude::*,
};
use crate::subject::{Feature, Software, go_flag, image_of};
use audit_read::definition::ContainerHealthCheck;

pub(super) static CONSUL_DATAPLANE_MISSING: Rule =
    Rule::once_per_task(page!("consul-dataplane-missing"), Applies::ConsulDataplane, check_dataplane_missing);

fn check_dataplane_missing(subject: &Subject<'_>) -> Option<Draft> {
    let consul = subject.consul.as_ref()?;
    // A proxy of the other generation is reported by the rule about mixed generations.
    let lacks_it = consul.is_complete && consul.dataplane.is_none() && consul.sidecar_proxy.is_none();
    (lacks_it && is_certainly_of_the_dataplane(consul)).then(|| {
        if let Some(renamed) = consul.apps.iter().find(|app| has_dataplane_image(app)) {
            let label = renamed.label();
            let message = format!("the container consul-dataplane is missing, and {label} has its image");
            let help = format!("rename {label} to consul-dataplane, also where other containers wait for it");
            return Draft::new(renamed.name.span(), message, help).of(renamed);
        }
        let message = "the container consul-dataplane is missing";
        let help = "add it: Consul Dataplane's image, started by /consul/consul-ecs envoy-entrypoint";
        Draft::new(subject.definition.span(), message, help)
    })
}

/// Whether a container has the image of Consul Dataplane, under any name.
pub(super) fn has_dataplane_image(container: &Container) -> bool {
    image_of(container).and_then(|image| image.software()) == Some(Software::Dataplane)
}

pub(super) static CONSUL_DATAPLANE_IMAGE: Rule =
    Rule::once_per_task(page!("consul-dataplane-image"), Applies::ConsulDataplane, check_dataplane_image);

fn check_dataplane_image(subject: &Subject<'_>) -> Option<Draft> {
    let dataplane = subject.consul.as_ref()?.dataplane?;
    let image = image_of(dataplane)?;
    let is_other = match image.software() {
        Some(software) => software != Software::Dataplane,
        None => hashicorp_s(dataplane).is_some(),
    };
    is_other.then(|| {
        let message = format!("{} has the image {}", dataplane.label(), image.name);
        let help = "use the image of Consul Dataplane, such as hashicorp/consul-dataplane";
        Draft::new(dataplane.image.span(), message, help).of(dataplane)
    })
}

/// A task without a proxy shows its generation by its other containers.
fn is_certainly_of_the_dataplane(consul: &ConsulTask<'_>) -> bool {
    consul.control_plane.is_some()
        || consul.version().is_some_and(|version| Feature::Dataplane.is_in(version))
        || matches!(consul.configuration.at("consulServers"), Maybe::Known(_))
}

pub(super) static CONSUL_DATAPLANE_ENTRY_POINT: Rule =
    Rule::once_per_task(page!("consul-dataplane-entry-point"), Applies::ConsulDataplane, check_dataplane_entry_point);

fn check_dataplane_entry_point(subject: &Subject<'_>) -> Option<Draft> {
    let consul = subject.consul.as_ref()?;
    let dataplane = consul.dataplane?;
    let words = dataplane.entry_point.texts()?;
    let directory = consul.shared_directory();
    let is_elsewhere = is_elsewhere(dataplane, &words, directory);
    // A user's own start script may call it too.
    let is_own_script = words.iter().any(|word| word.contains("envoy-entrypoint"));
    // A complete line is no name of a program.
    let is_line = words.first().is_some_and(|word| word.contains("consul-ecs envoy-entrypoint")) && words.len() == 1;
    if is_own_script && !is_elsewhere && !is_line {
        return None;
    }
    let label = dataplane.label();
    let is_started = words.is_empty() && starts_with_a_flag(dataplane);
    let message = match (words.is_empty(), directory) {
        (true, _) if is_started => format!("{label} has no entry point, and gets TERM together with the app"),
        (true, _) => format!("{label} has no entry point"),
        (false, Some(directory)) if is_elsewhere => {
            let program = words.first().copied().unwrap_or_default();
            format!("the entry point of {label} is {program}, but mesh-init puts consul-ecs into {directory}")
        }
        (false, _) => format!("the entry point of {label} is {}", dataplane.entry_point.shown_program()),
    };
    let place = &dataplane.entry_point.place;
    let program = directory.map(|directory| format!("{directory}/consul-ecs"));
    let fix = program.as_deref().and_then(|program| Fix::set(place, vec![program, "envoy-entrypoint"]));
    let shown = program.as_deref().unwrap_or("consul-ecs in the bootstrap directory");
    let help = format!("set its entryPoint to [\"{shown}\", \"envoy-entrypoint\"]");
    if !is_started {
        return Some(Draft::new(place.span, message, help).of(dataplane).fix(fix));
    }
    let help = format!("{help}, and put consul-dataplane before the flags of its command");
    let command = dataplane.command.texts().map(|flags| [vec!["consul-dataplane"], flags].concat());
    let fix = fix.zip(command).and_then(|(fix, command)| fix.and(Fix::set(&dataplane.command.place, command)));
    Some(Draft::new(place.span, message, help).of(dataplane).fix(fix).severity(Severity::Warning))
}

/// Whether the command has arguments for the image's own entry point, which starts the proxy.
fn starts_with_a_flag(dataplane: &Container) -> bool {
    dataplane.command.items.first().and_then(Field::known).is_some_and(|word| word.head().starts_with('-'))
}

/// Whether the program is certainly not at the path in the entry point. An image may contain one at another path.
fn is_elsewhere(dataplane: &Container, words: &[&str], directory: Option<&str>) -> bool {
    let is_of_another_image = words.first().is_some_and(|program| {
        let is_consul_ecs = program.rsplit('/').next() == Some("consul-ecs");
        let is_shared = directory.is_none_or(|directory| *program == format!("{directory}/consul-ecs"));
        is_consul_ecs && !is_shared && is_hashicorp_s(dataplane) && dataplane.lacks_mount_above(program)
    });
    is_of_another_image
        || words.first() == Some(&"/consul/consul-ecs")
            && directory.is_some_and(|directory| directory != USUAL_DIRECTORY)
            && matches!(dataplane.mount_at(USUAL_DIRECTORY), Maybe::Absent)
}

pub(super) static CONSUL_DATAPLANE_COMMAND: Rule =
    Rule::once_per_task(page!("consul-dataplane-command"), Applies::ConsulDataplane, check_dataplane_command);

/// The programs of the image that start Consul Dataplane; the second is for ports below 1024. Source:
/// <https://github.com/hashicorp/consul-dataplane/pull/652>
const STARTERS: [&str; 2] = ["consul-dataplane", "privileged-consul-dataplane"];

/// The value of the flag `-config-file`: the last one.
fn config_file<'w>(words: &[&'w str]) -> Option<&'w str> {
    words.iter().enumerate().rev().find_map(|(index, word)| {
        let (_, value) = go_flag(word).filter(|(name, _)| *name == "config-file")?;
        value.or_else(|| words.get(index + 1).copied())
    })
}

/// Whether a word certainly is a path, and no secret in the wrong place.
fn is_plain_path(word: &str) -> bool {
    let has_extension = Path::new(word).extension().is_some_and(|extension| extension == "json");
    has_extension
        && word.starts_with('/')
        && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_./".contains(&byte))
}

fn check_dataplane_command(subject: &Subject<'_>) -> Option<Draft> {
    let consul = subject.consul.as_ref()?;
    let (Some(dataplane), Some(directory)) = (consul.dataplane, consul.shared_directory()) else { return None };
    let file = format!("{directory}/consul-dataplane.json");
    // With another entry point, which another rule reports, the command may have to be another one too.
    let entry_point = dataplane.entry_point.texts()?;
    if let [_, "envoy-entrypoint", program] = entry_point.as_slice()
        && STARTERS.contains(program)
        && dataplane.command.texts()?.first().is_some_and(|first| STARTERS.contains(first))
    {
        let message = format!("{} gets {program} twice, and the second one ends its flags", dataplane.label());
        let help = "set its entryPoint to the first two words";
        return Some(Draft::new(dataplane.entry_point.place.span, message, help).of(dataplane));
    }
    if !entry_point.is_empty() && entry_point.last() != Some(&"envoy-entrypoint") {
        return None;
    }
    let words = dataplane.command.texts()?;
    // The image's own entry point starts it, and takes flags.
    let is_started = entry_point.is_empty() && starts_with_a_flag(dataplane);
    let program = words.first().and_then(|word| word.rsplit('/').next()).unwrap_or_default();
    let starts_it = is_started || STARTERS.contains(&program);
    let label = dataplane.label();
    let message = match config_file(&words) {
        Some(read) if starts_it && read == file => return None,
        _ if words.is_empty() => format!("{label} has no command"),
        _ if !starts_it && program.starts_with('-') => {
            format!("the command of {label} does not begin with consul-dataplane")
        }
        _ if !starts_it => format!("{label} runs {}", dataplane.command.shown_program()),
        Some(read) if is_plain_path(read) => format!("{label} reads {read}, which mesh-init does not write"),
        Some(_) => format!("{label} reads a file that mesh-init does not write"),
        None => format!("{label} starts without -config-file"),
    };
    let place = &dataplane.command.place;
    let usual = usual_directory(consul, dataplane);
    let fix = Fix::set(place, vec!["consul-dataplane", "-config-file", file.as_str()]).filter(|_| usual.is_none());
    let help =
        format!("set its command to [\"consul-dataplane\", \"-config-file\", \"{file}\"]{}", usual.unwrap_or_default());
    Some(Draft::new(place.span, message, help).of(dataplane).fix(fix))
}

pub(super) static CONSUL_DATAPLANE_HEALTH_CHECK: Rule =
    Rule::of_task(page!("consul-dataplane-health-check"), Applies::ConsulDataplane, check_dataplane_health_check);

fn check_dataplane_health_check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul) = &subject.consul else { return };
    let Some(dataplane) = consul.dataplane else { return };
    let port = consul.readiness_port();
    let shown = port.map_or_else(|| "the readiness port".to_owned(), |port| port.to_string());
    let directory = consul.shared_directory().unwrap_or("/consul");
    let copied = consul.shared_directory().map(|directory| format!("{directory}/consul-ecs"));
    let program = format!("{directory}/consul-ecs");
    let command = format!("[\"CMD\", \"{program}\", \"net-dial\", \"127.0.0.1:{shown}\"]");
    let correct = |port: u64| json!(["CMD", program, "net-dial", format!("127.0.0.1:{port}")]);
    match (dataplane.has_health_check(), dataplane.health_check.known()) {
        (Some(true), Some(health_check))
            if let Some(program) = missing_program(dataplane, health_check, copied.as_deref()) =>
        {
            let message =
                format!("the health check of {} runs {program}, which its image does not have", dataplane.label());
            let place = &health_check.command.place;
            let fix = port.filter(|_| copied.is_some()).and_then(|port| Fix::set(place, correct(port)));
            findings.add(Draft::new(place.span, message, format!("write {command}")).of(dataplane).fix(fix));
        }
        (Some(true), Some(health_check)) if let Some(what) = wrong_dial(health_check) => {
            let message = format!("the health check of {} {what}", dataplane.label());
            let draft = Draft::new(health_check.command.place.span, message, format!("write {command}"));
            findings.add(draft.of(dataplane));
        }
        (Some(true), Some(health_check)) => {
            if let Some(port) = port {
                report_another_port(dataplane, health_check, port, findings);
            }
        }
        (Some(false), _) => {
            let message = format!("{} has no health check", dataplane.label());
            let help = format!("add one with the command {command}");
            let place = &dataplane.health_check.place;
            let value = port.filter(|_| copied.is_some()).map(|port| json!({ "command": correct(port) }));
            let fix = value.and_then(|value| Fix::set(place, value));
            findings.add(Draft::new(dataplane.health_check.span(), message, help).of(dataplane).fix(fix));
        }
        _ => {}
    }
}

/// The programs in HashiCorp's image, which has no shell. Source:
/// <https://github.com/hashicorp/consul-dataplane/blob/main/Dockerfile>
const PROGRAMS: [&str; 6] =
    ["consul-dataplane", "discover", "dumb-init", "envoy", "privileged-consul-dataplane", "privileged-envoy"];

/// The program that a health check runs and the image of the container certainly does not have.
fn missing_program(
    dataplane: &Container,
    health_check: &ContainerHealthCheck,
    consul_ecs: Option<&str>,
) -> Option<String> {
    if !is_distroless(dataplane) {
        return None;
    }
    let words = health_check.command.texts()?;
    let program = *words.iter().find(|word| **word != "CMD")?;
    if program == "CMD-SHELL" {
        return Some("a shell".to_owned());
    }
    let name = program.rsplit('/').next()?;
    match name {
        "sh" | "bash" => Some("a shell".to_owned()),
        // Complete lines are reported elsewhere.
        _ if program.contains(' ') || PROGRAMS.contains(&name) => None,
        // Only a program with a path can come from a volume.
        _ if program.contains('/') => {
            let is_missing =
                name == "consul-ecs" && consul_ecs != Some(program) && dataplane.lacks_mount_above(program);
            let directory = consul_ecs.and_then(|program| program.rsplit_once('/')).map(|(directory, _)| directory);
            let is_misspelt = directory.is_some_and(|directory| is_misspelt_copy(program, directory));
            (is_missing || is_misspelt).then(|| "consul-ecs at another path".to_owned())
        }
        "nc" | "curl" | "wget" | "cat" | "grep" | "ls" | "test" => Some(name.to_owned()),
        _ => Some("a program".to_owned()),
    }
}

/// What is wrong with a call of `consul-ecs net-dial HOST:PORT`.
fn wrong_dial(health_check: &ContainerHealthCheck) -> Option<&'static str> {
    let words = health_check.command.texts()?;
    let words = words.strip_prefix(&["CMD"]).unwrap_or(&words);
    let [program, subcommand, addresses @ ..] = words else { return None };
    if program.rsplit('/').next() != Some("consul-ecs") || words.iter().any(|word| word.contains('$')) {
        return None;
    }
    match addresses {
        _ if *subcommand != "net-dial" => Some("runs another subcommand of consul-ecs than net-dial"),
        [address] => {
            let (host, port) = address.rsplit_once(':').unwrap_or((address, ""));
            let is_own = matches!(host, "" | "localhost" | "0.0.0.0" | "[::]" | "[::1]") || host.starts_with("127.");
            match port.parse::<u16>() {
                Err(_) => Some("dials an address without a port"),
                Ok(_) if !is_own => Some("dials another host than its own"),
                Ok(_) => None,
            }
        }
        _ => Some("gives net-dial more or less than one address"),
    }
}

/// Whether it is HashiCorp's image of consul-dataplane, and not the one for Red Hat's registry.
fn is_distroless(container: &Container) -> bool {
    is_hashicorp_s(container) && container.image.text().is_some_and(|reference| !reference.contains("ubi"))
}

fn is_hashicorp_s(container: &Container) -> bool {
    let has_tag = container.image.text().is_some_and(|reference| reference.contains(':'));
    let name = hashicorp_s(container).filter(|_| has_tag);
    name.is_some_and(|name| ["consul-dataplane", "consul-dataplane-fips"].contains(&name))
}

fn report_another_port(dataplane: &Container, health_check: &ContainerHealthCheck, port: u64, findings: &mut Findings) {
    let Some(words) = health_check.command.texts() else { return };
    // A check without a visible port is a user's own script.
    let Some(probed) = probed_port(&words) else { return };
    if probed == port {
        return;
    }
    let message = format!(
        "the health check of {} connects to port {probed}, but the readiness port is {port}",
        dataplane.label()
    );
    let help = format!("let it connect to 127.0.0.1:{port}");
    let address = format!("127.0.0.1:{port}");
    let is_usual = matches!(words.as_slice(), [_, "net-dial", _] | ["CMD", _, "net-dial", _]);
    let last = health_check.command.items.last().filter(|_| is_usual);
    let fix = last.and_then(|last| Fix::set(&last.place, address));
    findings.add(Draft::new(health_check.command.place.span, message, help).of(dataplane).fix(fix));
}

/// The port in `127.0.0.1:22000`, `http://localhost:22000/ready` and `nc -z 127.0.0.1 22000`.
fn probed_port(words: &[&str]) -> Option<u64> {
    let parts: Vec<&str> = words.iter().flat_map(|word| word.split_whitespace()).collect();
    let behind_a_colon = |part: &&str| {
        let (_, after) = part.rsplit_once(':')?;
        let digits = after.split('/').next()?;
        digits.parse().ok()
    };
    let of_nc = || {
        let is_netcat = parts.iter().any(|part| part.rsplit('/').next() == Some("nc"));
        parts.iter().rev().find_map(|part| part.parse().ok()).filter(|_| is_netcat)
    };
    parts.iter().find_map(behind_a_colon).or_else(of_nc)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_port_of_a_health_check_is_found() {
        for (words, port) in [
            (vec!["/consul/consul-ecs", "net-dial", "127.0.0.1:22000"], Some(22000)),
            (vec!["CMD", "nc", "-z", "127.0.0.1", "22000"], Some(22000)),
            (vec!["CMD-SHELL", "curl -sf http://localhost:22000/ready || exit 1"], Some(22000)),
            (vec!["CMD-SHELL", "/check.sh 30 || exit 1"], None),
        ] {
            assert_eq!(probed_port(&words), port, "{words:?}");
        }
    }
}
