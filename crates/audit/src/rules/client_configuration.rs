//! The configuration that the script of a client agent writes.

use super::{
    client_agent::{Fault, GOSSIP, PORTS, agent},
    prelude::*,
};
use crate::{
    spelling::nearest,
    subject::{
        AgentScript, Division, Document, Setting,
        agent_vocabulary::{DURATIONS, FLAGS, LEVELS, MAPS, SETTINGS, WITH_VALUES},
        go_duration,
    },
};

pub(super) static CONSUL_CLIENT_CONFIGURATION: Rule =
    Rule::of_task(page!("consul-client-configuration"), Applies::ConsulClient, check_configuration);

fn check_configuration(subject: &Subject<'_>, findings: &mut Findings) {
    let Some((client, script)) = agent(subject) else { return };
    let Some(text) = script.script().filter(|_| script.is_script()) else { return };
    let mut add = |(wrong, help): Fault| {
        findings.add(Draft::new(text.span(), format!("the agent of {} {wrong}", client.label()), help).of(client));
    };
    let division = script.division();
    if division.missing_end.is_some() || division.has_open_quote {
        return;
    }
    let configurations = script.configurations(&division);
    written(&script, &division).into_iter().for_each(&mut add);
    for (path, _, _) in configurations.iter().filter(|(_, text, is_quoted)| *is_quoted && text.contains('$')) {
        let wrong =
            format!("reads {path}, in which the shell replaces no variable: the end of the here-document is in quotes");
        add((wrong, "write the end without quotes: << EOF".to_owned()));
    }
    match AgentScript::settings(&configurations) {
        Err((path, error)) => {
            add((format!("cannot read {path}: {error}"), "correct the syntax, which is HCL".to_owned()));
        }
        Ok(settings) => {
            unknown_keys(&settings).into_iter().chain(values(&settings)).for_each(&mut add);
            if script.is_all() && !configurations.is_empty() {
                missing(&script, &settings).into_iter().for_each(&mut add);
            }
            ports(subject, &script, &settings).into_iter().for_each(&mut add);
        }
    }
    files(subject, &script).into_iter().chain(flags(&script)).for_each(&mut add);
}

/// Files that the script writes for the agent, which does not read them, or reads them in another format: the name says it.
fn written(script: &AgentScript<'_>, division: &Division<'_>) -> Vec<Fault> {
    let read = script.config_files();
    let has_directory = script.mentions("-config-dir") || !script.is_all();
    let fault = |document: &Document<'_>| {
        let path = document.path()?;
        let ending = path.rsplit('.').next();
        let starts_as_json = document.text.trim_start().starts_with(['{', '$']);
        if ending == Some("json") && read.contains(&path) && !starts_as_json {
            let help = "write it as JSON, or let the name end with .hcl".to_owned();
            return Some((format!("cannot read {path}: it is no JSON"), help));
        }
        let is_unread = ending == Some("hcl") && script.count(path) == 1 && !has_directory;
        is_unread.then(|| (format!("does not read {path}"), format!("add -config-file {path}")))
    };
    division.documents.iter().filter_map(fault).collect()
}

/// Keys that an agent refuses. At the top, only those that resemble a setting count: other releases have others.
fn unknown_keys(settings: &Setting) -> Vec<Fault> {
    let of_top = settings.settings().iter().map(|(name, _)| name).filter(|name| !SETTINGS.contains(&name.as_str()));
    let of_top = of_top.filter_map(|name| Some((String::new(), name, Some(nearest(name, SETTINGS)?))));
    let of_maps = MAPS.iter().flat_map(|(path, keys)| {
        let unknown = settings.at(path).map(Setting::settings).unwrap_or_default().iter();
        let unknown = unknown.map(|(name, _)| name).filter(|name| !keys.contains(&name.as_str()));
        unknown.map(move |name| (format!(" in {path}"), name, nearest(name, keys.iter().copied())))
    });
    let fault = |(owner, name, meant): (String, &String, Option<&str>)| {
        let help = meant.map_or_else(|| "remove it".to_owned(), |meant| format!("write {meant}"));
        (format!("refuses the setting {name}{owner}, which Consul does not know"), help)
    };
    of_top.chain(of_maps).filter(|(_, name, _)| !name.contains('$')).map(fault).collect()
}

/// What is wrong with the value of one setting on its own.
struct Check {
    /// The paths of the settings.
    of: &'static [&'static str],
    is_wrong: fn(&str) -> bool,
    /// What the agent does with the setting at a path and its value.
    wrong: fn(&str, &str) -> String,
    help: fn(&str) -> String,
}

const CHECKS: [Check; 6] = [
    Check {
        of: &DURATIONS,
        is_wrong: |text| go_duration(text).is_none(),
        wrong: |path, text| format!("refuses {path}: {text:?} is no duration"),
        help: |_| "write it with a unit: 15m".to_owned(),
    },
    Check {
        of: &["log_level"],
        is_wrong: |level| !LEVELS.contains(&level.to_lowercase().as_str()),
        wrong: |path, level| format!("refuses {path}: {level:?} is no level"),
        help: |_| "write trace, debug, info, warn or error".to_owned(),
    },
    Check {
        of: &["datacenter"],
        is_wrong: |name| name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_'),
        wrong: |path, name| format!("refuses the {path} {name:?}"),
        help: |_| "use letters, digits, hyphens and underscores".to_owned(),
    },
    Check {
        of: &["connect.enabled", "enable_central_service_config"],
        is_wrong: |switch| switch == "false",
        wrong: |path, _| format!("has {path} = false, without which Envoy has no configuration"),
        help: |path| format!("remove {path}, or set it to true"),
    },
    Check {
        of: &["bind_addr"],
        is_wrong: is_loopback,
        wrong: |_, _| "binds the loopback address, and no server reaches it".to_owned(),
        help: |path| format!("remove {path}: an agent listens on all addresses"),
    },
    Check {
        of: &["node_name"],
        is_wrong: |name| !name.is_empty(),
        wrong: |_, name| format!("has the node name {name} in every task, and Consul refuses the second"),
        help: |path| format!("remove {path}, or make it of the task's ID"),
    },
];

fn is_loopback(address: &str) -> bool {
    address.starts_with("127.") || address == "localhost"
}

fn values(settings: &Setting) -> Vec<Fault> {
    let literal = |path: &str| settings.at(path).and_then(Setting::literal);
    let of_check = |check: &Check| -> Vec<Fault> {
        let values = check.of.iter().filter_map(|path| Some((*path, literal(path)?)));
        let wrong = values.filter(|(_, value)| (check.is_wrong)(value));
        wrong.map(|(path, value)| ((check.wrong)(path, value), (check.help)(path))).collect()
    };
    let mut faults: Vec<Fault> = CHECKS.iter().flat_map(of_check).collect();
    if literal("acl.enabled") == Some("false") && settings.at("acl.tokens").is_some() {
        faults.push((
            "has acl.enabled = false, and does not use its tokens".to_owned(),
            "set acl.enabled to true, or remove the tokens".to_owned(),
        ));
    }
    let joined = settings.at("retry_join").map(Setting::items).unwrap_or_default();
    faults.extend(joined.iter().filter_map(Setting::literal).filter_map(of_join));
    faults
}

/// An address of servers to join: a name or an address, maybe with the port of the gossip, or what discovers one.
fn of_join(address: &str) -> Option<Fault> {
    if address.contains("provider=") {
        return None;
    }
    let port = address.rsplit_once(':').and_then(|(_, port)| port.parse::<u64>().ok());
    let is_other =
        |port: u64| [8300, 8503].contains(&port) || PORTS.iter().any(|(own, _)| *own == port && *own != GOSSIP);
    let wrong = if address.contains("://") {
        format!("joins {address:?}, which is a URL")
    } else if port.is_some_and(is_other) {
        format!("joins {address:?}, which is no port of the gossip")
    } else if is_loopback(address) {
        format!("joins {address:?}: itself")
    } else {
        return None;
    };
    Some((wrong, "write the name or address of a server, without a port or with 8301".to_owned()))
}

/// What an agent needs, in its configuration or as a flag.
fn missing(script: &AgentScript<'_>, settings: &Setting) -> Vec<Fault> {
    let flags = script.agent_flags();
    let mut faults = Vec::new();
    if !script.mentions("data_dir") && !flags.contains(&"data-dir") {
        faults.push(("has no data directory".to_owned(), "add -data-dir /consul/data".to_owned()));
    }
    // A flag -hcl may set them as well.
    let is_open = |port: &str| {
        settings.at(&format!("ports.{port}")).is_some() || script.setting_in("ports", port).flatten().is_some()
    };
    let has_grpc = is_open("grpc") || is_open("grpc_tls");
    if !has_grpc && !flags.iter().any(|flag| ["grpc-port", "grpc-tls-port"].contains(flag)) {
        let wrong = "has no gRPC port, from which Envoy gets its configuration";
        faults.push((wrong.to_owned(), "set grpc in ports to 8502".to_owned()));
    }
    faults
}

/// The ports at which mesh-init and Envoy ask the agent, and the variables with another address.
const ASKED: [(&str, &str, &str); 2] =
    [("ports.grpc", "8502", "CONSUL_GRPC_ADDR"), ("ports.http", "8500", "CONSUL_HTTP_ADDR")];

fn ports(subject: &Subject<'_>, script: &AgentScript<'_>, settings: &Setting) -> Vec<Fault> {
    let Some(init) = subject.consul.as_ref().and_then(|consul| consul.mesh_init) else { return Vec::new() };
    let other = ASKED.iter().filter_map(|(path, expected, variable)| {
        // A flag -hcl may set it as well.
        let in_text =
            || script.setting_in("ports", path.rsplit('.').next()?).flatten().filter(|port| !port.contains('$'));
        let port = settings.at(path).and_then(Setting::literal).or_else(in_text).filter(|port| port != expected)?;
        let is_default = matches!(init.environment_has(variable), Maybe::Absent);
        // The port -1 is closed; consul-client-script is about gRPC.
        let is_reported = *path == "ports.grpc" && port == "-1";
        let wrong = format!("has the port {port} in {path}, but {} asks it at {expected}", init.label());
        (is_default && !is_reported).then(|| (wrong, format!("set {path} to {expected}")))
    });
    other.collect()
}

/// Files below the shared directory that the agent reads, and that nothing writes.
fn files(subject: &Subject<'_>, script: &AgentScript<'_>) -> Vec<Fault> {
    let Some(shared) = subject.consul.as_ref().and_then(ConsulTask::shared_directory) else { return Vec::new() };
    let of_settings = ["ca_file", "cert_file", "key_file"].into_iter().filter_map(|name| script.setting(name));
    let of_commands = script.after("cat ").filter_map(|rest| rest.split([' ', ')', '"', '\'', ';', '\n']).next());
    let mut read: Vec<&str> = script.config_files().into_iter().chain(of_settings).chain(of_commands).collect();
    read.sort_unstable();
    read.dedup();
    let is_unwritten = |path: &&str| {
        let is_literal = path.starts_with(&format!("{shared}/")) && !path.contains(['$', '*']);
        is_literal && script.count(path) == 1 && !script.mentions("consul-ecs")
    };
    let fault = |path: &str| {
        (format!("reads {path}, which its script does not write"), "write the file, or correct the path".to_owned())
    };
    read.into_iter().filter(is_unwritten).map(fault).collect()
}

fn flags(script: &AgentScript<'_>) -> Vec<Fault> {
    let unknown = script.agent_flags().into_iter().filter(|flag| !FLAGS.contains(flag));
    let fault = |flag: &str| {
        let meant = nearest(flag, FLAGS)?;
        Some((format!("has the flag -{flag}, which Consul does not know"), format!("write -{meant}")))
    };
    let without = script.agent_flags_without_value();
    let without = without.into_iter().filter(|flag| WITH_VALUES.contains(flag));
    let without = without.map(|flag| {
        (format!("takes the next flag for the value of -{flag}"), format!("write the value behind -{flag}"))
    });
    unknown.filter_map(fault).chain(without).collect()
}
