//! What the script of a client agent must do for mesh-init and Envoy.

use super::{
    client_agent::{Fault, agent},
    login::CLIENT_METHOD,
    prelude::*,
};
use crate::{
    spelling::nearest,
    subject::{AgentScript, BINARY_DIRECTORY},
};
use mesh::consul_ecs::SERVICE_METHOD;

pub(super) static CONSUL_CLIENT_SCRIPT: Rule =
    Rule::of_task(page!("consul-client-script"), Applies::ConsulClient, check_script);

fn check_script(subject: &Subject<'_>, findings: &mut Findings) {
    let Some((client, script)) = agent(subject).filter(|(_, script)| script.has_shell() && script.is_script()) else {
        return;
    };
    let Some(text) = script.script() else { return };
    for (what, help) in faults(subject, client, &script) {
        let message = format!("the script of {} {what}", client.label());
        findings.add(Draft::new(text.span(), message, help).of(client));
    }
}

/// The variable in which scripts expect the name of the datacenter.
const DATACENTER: &str = "CONSUL_DATACENTER";

/// What a script does, and what it should do instead.
fn faults(subject: &Subject<'_>, client: &Container, script: &AgentScript<'_>) -> Vec<Fault> {
    let mut faults = Vec::new();
    let division = script.division();
    if let Some(end) = &division.missing_end {
        let what = format!("has a here-document without its end {end}: the rest of the script is text");
        faults.push((what, format!("write {end} at the end of the text, alone in its line")));
        return faults;
    }
    // An unknown part may have a quote or a block of its own.
    let is_whole = script.script().is_some_and(|text| text.text().is_some());
    if division.has_open_quote && is_whole {
        faults.push(("has a quote that is not closed".to_owned(), "close the quote".to_owned()));
        return faults;
    }
    if is_whole {
        faults.extend(open_blocks(&division.code));
    }
    if script.starts_agent_in_background() {
        let what = "starts the agent in the background, and ends the container";
        faults.push((what.to_owned(), "remove the & at the end: exec consul agent …".to_owned()));
    }
    faults.extend(of_metadata(script));
    faults.extend(misspelt_variables(client, script));
    faults.extend(of_login(client, script));
    let is_server = script.starts_agent_with(&["server", "bootstrap", "bootstrap-expect"])
        || script.setting("server") == Some("true");
    if is_server {
        faults.push(("starts a server".to_owned(), "start a client: remove -server and -bootstrap".to_owned()));
    } else if script.starts_agent_with(&["dev"]) {
        let help = "remove -dev: the agent joins the cluster of the servers".to_owned();
        faults.push(("starts an agent in development mode, with a cluster of its own".to_owned(), help));
    }
    let port = |name: &str| script.setting_in("ports", name).flatten();
    if port("grpc") == Some("-1") && port("grpc_tls").is_none_or(|port| port == "-1") {
        let what = "closes the gRPC port, from which Envoy gets its configuration";
        faults.push((what.to_owned(), "set grpc in ports to 8502".to_owned()));
    }
    if lacks_the_program(subject, script) {
        let what = format!("does not copy the program consul to {BINARY_DIRECTORY}, where mesh-init runs it");
        faults.push((what, format!("begin with cp /bin/consul {BINARY_DIRECTORY}/consul")));
    }
    if script.needs_variable(DATACENTER) && matches!(client.environment_has(DATACENTER), Maybe::Absent) {
        faults.push((format!("uses {DATACENTER}, which is not set"), format!("add {DATACENTER} to environment")));
    }
    faults
}

/// The words that begin a block of a script, and the word that ends it.
const BLOCKS: [(&[&str], &str); 3] = [(&["while", "until", "for"], "done"), (&["if"], "fi"), (&["case"], "esac")];

/// The words after which a command follows.
const BEFORE_COMMANDS: [&str; 7] = ["do", "then", "else", "elif", "!", "{", "time"];

fn open_blocks(code: &str) -> Vec<Fault> {
    let commands = code.split(['\n', ';', '&', '|', '(', ')', '`']);
    let first = commands.filter_map(|command| command.split_whitespace().find(|word| !BEFORE_COMMANDS.contains(word)));
    let words: Vec<&str> = first.collect();
    let count = |wanted: &[&str]| words.iter().filter(|word| wanted.contains(word)).count();
    let open = BLOCKS.iter().filter(|(begins, end)| count(begins) > count(&[end]));
    open.map(|(begins, end)| (format!("has {} without {end}", begins.join(" or ")), format!("add {end}"))).collect()
}

/// The keys of a network in the task's metadata. Source:
/// <https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-metadata-endpoint-v4-response.html>
const OF_NETWORK: [&str; 10] = [
    "NetworkMode",
    "IPv4Addresses",
    "IPv6Addresses",
    "AttachmentIndex",
    "MACAddress",
    "IPv4SubnetCIDRBlock",
    "IPv6SubnetCIDRBlock",
    "DomainNameServers",
    "PrivateDNSName",
    "SubnetGatewayIpv4Address",
];

/// A key that jq does not find in the task's metadata: it prints null.
fn of_metadata(script: &AgentScript<'_>) -> Option<Fault> {
    let mut keys = script
        .after(".Networks[0].")
        .chain(script.after(".Networks[]."))
        .map(|rest| rest.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default());
    let wrong = keys.find(|key| !key.is_empty() && !OF_NETWORK.contains(key) && nearest(key, OF_NETWORK).is_some())?;
    let meant = nearest(wrong, OF_NETWORK)?;
    Some((
        format!("reads the key {wrong} of the task's network, which the metadata do not have"),
        format!("write {meant}"),
    ))
}

/// The variables that Docker and the shell set.
const OF_SHELL: [&str; 12] =
    ["HOME", "HOSTNAME", "IFS", "LANG", "OLDPWD", "PATH", "PPID", "PWD", "SHELL", "SHLVL", "TERM", "USER"];

/// The variables that ECS sets.
const OF_ECS: [&str; 3] = ["ECS_CONTAINER_METADATA_URI_V4", "ECS_CONTAINER_METADATA_URI", "ECS_AGENT_URI"];

/// Variables that are never set, and resemble one that is.
fn misspelt_variables(client: &Container, script: &AgentScript<'_>) -> Vec<Fault> {
    let assigned = script.assigned();
    let given =
        client.environment.items.iter().map(|it| &it.name).chain(client.secrets.items.iter().map(|it| &it.name));
    let set: Vec<&str> = given.filter_map(Field::text).chain(assigned.iter().copied()).collect();
    let mut seen = Vec::new();
    // Another file may set any variable.
    if ["source ", "eval ", ". /"].iter().any(|command| script.mentions(command)) {
        return Vec::new();
    }
    for name in script.variables().into_iter().filter(|name| !OF_SHELL.contains(name)) {
        let is_unset = !set.contains(&name) && matches!(client.environment_has(name), Maybe::Absent);
        let is_own = OF_ECS.contains(&name) || name.starts_with("AWS_") || name.starts_with("CONSUL_");
        if is_unset && !is_own && !seen.iter().any(|(seen, _)| *seen == name) {
            let known = OF_ECS.into_iter().chain(set.iter().copied());
            seen.extend(nearest(name, known).map(|meant| (name, meant)));
        }
    }
    let fault = |(name, meant)| (format!("uses {name}, which is not set"), format!("write {meant}"));
    seen.into_iter().map(fault).collect()
}

/// A login whose token is read from another file, or that lacks a flag which it or the method needs.
fn of_login(client: &Container, script: &AgentScript<'_>) -> Vec<Fault> {
    let mut faults = Vec::new();
    let has_address = script.mentions("CONSUL_HTTP_ADDR=")
        || script.mentions("read CONSUL_HTTP_ADDR")
        || !matches!(client.environment_has("CONSUL_HTTP_ADDR"), Maybe::Absent);
    for login in script.logins() {
        let value = |flag: &str| {
            let at = login.iter().position(|word| word.trim_start_matches('-').split('=').next() == Some(flag))?;
            let word = login.get(at)?;
            word.split_once('=').map(|(_, value)| value).or_else(|| login.get(at + 1).copied())
        };
        let has = |flag: &str| login.iter().any(|word| word.trim_start_matches('-').split('=').next() == Some(flag));
        if let Some(path) = value("token-sink-file")
            .filter(|path| path.starts_with('/') && !path.contains('$') && script.count(path) == 1)
        {
            let what = format!("writes the token of its login to {path}, and never reads it");
            faults.push((what, format!("read the token from {path}")));
        }
        // Variables and other commands may add flags.
        let is_whole = !login.iter().any(|word| word.starts_with(['$', '`']));
        if is_whole && !has("http-addr") && !has_address {
            let what = "logs in without -http-addr, at the agent of the task, which does not run yet";
            faults.push((what.to_owned(), "add -http-addr with the address of a server".to_owned()));
        }
        if is_whole && !has("token-sink-file") {
            let what = "logs in without -token-sink-file, which consul login requires";
            faults.push((what.to_owned(), "add -token-sink-file with the path of the token".to_owned()));
        }
        // Only a login with one of these types is one of an auth method aws-iam.
        if matches!(value("type"), Some("aws" | "aws-iam")) {
            if !has("aws-include-entity") && matches!(value("method"), Some(SERVICE_METHOD | CLIENT_METHOD)) {
                let what = "logs in without -aws-include-entity, but the auth method reads the tags of the role";
                faults.push((what.to_owned(), "add -aws-include-entity".to_owned()));
            }
            if !has("aws-auto-bearer-token") && !has("bearer-token-file") {
                let what = "logs in without -aws-auto-bearer-token, which makes the signed request";
                faults.push((what.to_owned(), "add -aws-auto-bearer-token".to_owned()));
            }
            if value("method") == Some(SERVICE_METHOD) {
                let what =
                    format!("logs in at {SERVICE_METHOD}, the method of services, whose token may not register a node");
                faults.push((what, format!("log in at {CLIENT_METHOD}")));
            }
        }
    }
    faults
}

/// Whether mesh-init mounts the volume for the program `consul`, and the script certainly does not put it there.
fn lacks_the_program(subject: &Subject<'_>, script: &AgentScript<'_>) -> bool {
    let mesh_init = subject.consul.as_ref().and_then(|consul| consul.mesh_init);
    let is_mounted = mesh_init.is_some_and(|init| matches!(init.mount_at(BINARY_DIRECTORY), Maybe::Known(_)));
    is_mounted && script.is_all() && !script.mentions(BINARY_DIRECTORY)
}
