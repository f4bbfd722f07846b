//! How the programs of consul-ecs reach Consul's servers.

use std::net::IpAddr;

use mesh::hcp;

use super::{configuration::of_holder, prelude::*};
use crate::subject::{ConsulEcs, PlacedConfiguration, Software, image_of};

pub(super) const HOSTS: &str = "consulServers.hosts";
/// The address of the servers before `consulServers`, in the client generation.
const HTTP_ADDRESS: &str = "consulHTTPAddr";
const PROGRAM: &str = "exec=";

pub(super) static CONSUL_SERVER_HOSTS: Rule =
    Rule::once_per_task(page!("consul-server-hosts"), Applies::ConsulDataplaneAndController, check_hosts);

fn check_hosts(subject: &Subject<'_>) -> Option<Draft> {
    let consul_ecs = subject.consul_ecs()?;
    let configuration = consul_ecs.configuration?;
    let hosts = configuration.text(HOSTS)?;
    let (what, help) = if let Some(program) = hosts.strip_prefix(PROGRAM) {
        wrong_program(program)?
    } else {
        if is_loopback(hosts) && may_have_a_server(subject, &consul_ecs) {
            return None;
        }
        let (what, right) = wrong_address(hosts)?;
        let where_else = if right.starts_with(PROGRAM) {
            ""
        } else {
            "; ports are in consulServers.http.port and grpc.port, TLS is in consulServers.defaults.tls"
        };
        (what, format!("write {right}{where_else}"))
    };
    let draft = Draft::new(configuration.place_of(HOSTS).span, format!("{HOSTS} {what}"), help);
    Some(of_holder(&consul_ecs, draft))
}

/// What is wrong with a program that looks the servers up, and what to do.
fn wrong_program(program: &str) -> Option<(&'static str, String)> {
    if program.trim().is_empty() {
        let help = "write a program that prints the addresses of the servers behind exec=, or a DNS name without it";
        return Some(("has no program behind exec=", help.to_owned()));
    }
    let help = || "put the program with its pipes into a script of your own image".to_owned();
    needs_a_shell(program).map(|what| (what, help()))
}

fn needs_a_shell(program: &str) -> Option<&'static str> {
    if program.contains(['\'', '"']) {
        return Some("has quotes, which consul-ecs does not read: it splits the program at blanks");
    }
    let is_of_a_shell = |word: &str| ["|", "||", "&&", ";", ">"].contains(&word);
    (program.split_whitespace().any(is_of_a_shell))
        .then_some("needs a shell, but consul-ecs runs the program without one")
}

/// What is wrong with an address or name, and what is right.
pub(crate) fn wrong_address(hosts: &str) -> Option<(&'static str, String)> {
    if hosts.split_whitespace().any(|word| word.starts_with("provider=")) {
        return Some(("is a string for go-discover", format!("exec=discover -q addrs {hosts}")));
    }
    if hosts.contains(char::is_whitespace) {
        let right = if hosts.trim().contains(char::is_whitespace) { "one name or address" } else { hosts.trim() };
        return Some(("has a blank", right.to_owned()));
    }
    if is_loopback(hosts) {
        return Some(("is the task itself", "the address or the DNS name of Consul's servers".to_owned()));
    }
    if let Some(what) = no_host(hosts) {
        return Some((what, "the address or the DNS name of Consul's servers".to_owned()));
    }
    let (has_scheme, rest) = hosts.split_once("://").map_or((false, hosts), |(_, rest)| (true, rest));
    let name = rest.trim_end_matches('/');
    let (name, has_port) = match name.rsplit_once(':') {
        Some((before, port)) if hosts.parse::<IpAddr>().is_err() && port.parse::<u16>().is_ok() => (before, true),
        _ => (name, false),
    };
    if name.contains(',') {
        return Some((
            "is a list",
            "exec= with a program that prints the addresses, or one name with all of them".to_owned(),
        ));
    }
    if !has_scheme && rest.contains('/') {
        return Some(("has a path", name.split('/').next().unwrap_or_default().to_owned()));
    }
    let in_brackets = name.strip_prefix('[').and_then(|name| name.strip_suffix(']'));
    let what = match (has_scheme, has_port) {
        (true, true) => "has a scheme and a port",
        (true, false) => "has a scheme",
        (false, true) => "has a port",
        (false, false) if in_brackets.is_some() => "has brackets",
        (false, false) => return None,
    };
    Some((what, in_brackets.unwrap_or(name).to_owned()))
}

/// Why a text is the address or the name of no host.
fn no_host(text: &str) -> Option<&'static str> {
    if let Ok(address) = text.parse::<IpAddr>() {
        let is_of_many = address.is_multicast() || text == "255.255.255.255";
        return (address.is_unspecified() || is_of_many).then_some("is the address of no server");
    }
    let labels: Vec<&str> = text.trim_end_matches('.').split('.').collect();
    if labels.len() == 4 && labels.iter().all(|label| label.parse::<u32>().is_ok()) {
        return Some("is no IP address");
    }
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let is_name = text.chars().all(is_of_name);
    if is_name && !text.is_empty() && labels.iter().any(|label| label.is_empty()) {
        return Some("is no DNS name: a part of it is empty");
    }
    if text.contains(['*', '=']) && !text.contains(['$', '{', '<', '%', '@', '#']) {
        return Some("is no DNS name");
    }
    None
}

/// Whether it names the task's own loopback interface, with or without a scheme and a port.
fn is_loopback(hosts: &str) -> bool {
    let rest = hosts.split_once("://").map_or(hosts, |(_, rest)| rest).trim_end_matches('/');
    let without_port = || rest.rsplit_once(':').map_or(rest, |(name, _)| name);
    [rest, without_port()].into_iter().any(|name| {
        let address = name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
        name.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
    })
}

/// Whether a container of the task may be a server or a tunnel to one: one that consul-ecs waits for, or one with Consul.
fn may_have_a_server(subject: &Subject<'_>, consul_ecs: &ConsulEcs<'_, '_>) -> bool {
    let waits = consul_ecs.containers.iter().any(|container| match &subject.consul {
        Some(consul) if !consul.first().is_some_and(|first| std::ptr::eq(first, *container)) => false,
        _ => !container.depends_on.is_certainly_empty(),
    });
    let containers = &subject.definition.containers;
    let is_server = |container: &Container| {
        let software = image_of(container).and_then(|image| image.software());
        software == Some(Software::Consul) || container.image.known().is_none()
    };
    waits || !containers.lacks(is_server)
}

pub(super) static CONSUL_HCP_SERVERS: Rule =
    Rule::once_per_task(page!("consul-hcp-servers"), Applies::ConsulAndController, check_hcp);

fn check_hcp(subject: &Subject<'_>) -> Option<Draft> {
    let help = format!("run servers of your own, and write their address: {}", hcp::MIGRATION);
    let what = format!("names servers of {}", hcp::ENDED);
    let consul_ecs = subject.consul_ecs()?;
    let settings = [HOSTS, HTTP_ADDRESS];
    let named = consul_ecs.configuration.and_then(|configuration| {
        let is_hcp = |path: &&str| configuration.text(path).is_some_and(hcp::names_server);
        settings.into_iter().find(is_hcp).map(|path| (path, configuration.place_of(path)))
    });
    if let Some((path, place)) = named {
        return Some(of_holder(&consul_ecs, Draft::new(place.span, format!("{path} {what}"), help)));
    }
    let (client, script) = super::client_agent::agent(subject).filter(|(_, script)| script.mentions(hcp::DOMAIN))?;
    let message = format!("the script of {} {what}", client.label());
    Some(Draft::new(script.script()?.span(), message, help).of(client))
}

pub(super) static CONSUL_SERVER_PORTS: Rule =
    Rule::of_task(page!("consul-server-ports"), Applies::ConsulDataplaneAndController, check_ports);

/// The setting of a port, what listens there, and the usual ports of the other protocol.
/// Source: <https://developer.hashicorp.com/consul/docs/reference/architecture/ports>
const PORTS: [(&str, &str, [u64; 6], &str); 2] = [
    ("consulServers.http.port", "the HTTP API", [8300, 8301, 8302, 8502, 8503, 8600], "8500, or 8501 with TLS"),
    ("consulServers.grpc.port", "gRPC", [8300, 8301, 8302, 8500, 8501, 8600], "8502, or 8503 with TLS"),
];

/// The switch of TLS, the setting of its port, the usual port without TLS, and the one with TLS.
const PLAIN_PORTS: [(&str, &str, u64, u64); 2] = [
    ("consulServers.http.https", "consulServers.http.port", 8500, 8501),
    ("consulServers.defaults.tls", "consulServers.grpc.port", 8502, 8503),
];

fn check_ports(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul_ecs) = subject.consul_ecs() else { return };
    let Some(configuration) = consul_ecs.configuration else { return };
    for (path, what, others, usual) in PORTS {
        if let Some(port) = configuration.number(path, 0).filter(|port| others.contains(port)) {
            let message = format!("{path} is {port}, which is not a port of {what}");
            let draft = Draft::new(configuration.place_of(path).span, message, format!("set it to {usual}"));
            findings.add(of_holder(&consul_ecs, draft));
        }
    }
    for (switch, path, plain, with_tls) in PLAIN_PORTS {
        let has_own_switch = path.starts_with("consulServers.grpc")
            && !matches!(configuration.at("consulServers.grpc.tls"), Maybe::Absent)
            || configuration.flag("consulServers.defaults.tls", true) != Some(true);
        // Servers of HCP Consul Dedicated had TLS on both.
        let is_behind_443 = configuration.number("consulServers.http.port", 0) == Some(443);
        let is_known = configuration.text(HOSTS).is_some();
        if !is_known || is_behind_443 || has_own_switch || configuration.flag(switch, false) != Some(true) {
            continue;
        }
        if configuration.number(path, 0) == Some(plain) {
            let place = configuration.place_of(path);
            let message = format!("{path} is {plain}, where servers usually have no TLS, but {switch} is true");
            let draft = Draft::new(place.span, message, format!("set it to {with_tls}, unless the servers differ"));
            findings.add(of_holder(&consul_ecs, draft.severity(Severity::Warning)));
        }
    }
}

pub(super) static CONSUL_HTTP_ADDRESS: Rule =
    Rule::once_per_task(page!("consul-http-address"), Applies::ConsulClient, check_http_address);

fn check_http_address(subject: &Subject<'_>) -> Option<Draft> {
    let configuration = &subject.consul.as_ref()?.configuration;
    let Maybe::Known(address) = configuration.name_at(HTTP_ADDRESS) else { return None };
    let has_tls = address.ends_with(":8501") || matches!(configuration.name_at("consulCACertFile"), Maybe::Known(_));
    (!address.contains("://") && has_tls).then(|| {
        let message = "consulHTTPAddr has no scheme, which means HTTP, but the servers have TLS";
        let place = configuration.place_of(HTTP_ADDRESS);
        Draft::new(place.span, message, format!("write https://{address}"))
    })
}

pub(super) static CONSUL_SERVER_PLAIN: Rule =
    Rule::once_per_task(page!("consul-server-plain"), Applies::ConsulDataplaneAndController, check_plain);

/// The settings that switch TLS off, for both connections or for one.
const SWITCHES: [&str; 4] =
    ["consulServers.defaults.tls", "consulServers.http.https", "consulServers.http.tls", "consulServers.grpc.tls"];

fn check_plain(subject: &Subject<'_>) -> Option<Draft> {
    let consul_ecs = subject.consul_ecs()?;
    let configuration = consul_ecs.configuration?;
    if subject.consul.as_ref().is_some_and(|consul| consul.logs_in() != Some(true)) {
        return None;
    }
    let path = SWITCHES.into_iter().find(|path| is_off(configuration, path))?;
    let message = format!("{path} is false, so the token goes to the servers in clear text");
    let help =
        "set it to true, use the ports for TLS (8501 and, for gRPC, 8503), and give the certificate of the servers' CA";
    Some(of_holder(&consul_ecs, Draft::new(configuration.place_of(path).span, message, help)))
}

/// Whether a switch is off, and no other switches TLS on for the connection.
fn is_off(configuration: &PlacedConfiguration<'_>, path: &str) -> bool {
    let is = |path: &str, wanted: bool| configuration.flag(path, !wanted) == Some(wanted);
    let has_own = ["consulServers.http.tls", "consulServers.grpc.tls"].iter().all(|own| is(own, true));
    is(path, false) && !(path == "consulServers.defaults.tls" && has_own)
}

pub(super) static CONSUL_SERVER_NAME: Rule =
    Rule::of_task(page!("consul-server-name"), Applies::ConsulDataplaneAndController, check_name);

fn check_name(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul_ecs) = subject.consul_ecs() else { return };
    let Some(configuration) = consul_ecs.configuration else { return };
    let drafts = missing_name(configuration).into_iter().chain(wrong_names(configuration));
    findings.extend(drafts.map(|draft| of_holder(&consul_ecs, draft)));
}

/// The names that no certificate has.
fn wrong_names(configuration: &PlacedConfiguration<'_>) -> Vec<Draft> {
    let sections = ["defaults", "http", "grpc"].map(|section| format!("consulServers.{section}.tlsServerName"));
    let draft = |path: &String| {
        let Maybe::Known(name) = configuration.name_at(path) else { return None };
        let is_wrong = name.contains([':', '/']) && name.parse::<IpAddr>().is_err();
        if !is_wrong && !name.contains(char::is_whitespace) {
            return None;
        }
        let help = "write the name alone, as in server.dc1.consul";
        let draft = Draft::new(configuration.place_of(path).span, format!("{path} is no name of a certificate"), help);
        Some(draft.severity(Severity::Error))
    };
    sections.iter().filter_map(draft).collect()
}

fn missing_name(configuration: &PlacedConfiguration<'_>) -> Option<Draft> {
    let hosts = configuration.text(HOSTS)?;
    let is_program = hosts.starts_with(PROGRAM);
    let is_address = hosts.parse::<IpAddr>().is_ok_and(|address| !address.is_loopback());
    if !(is_program || is_address) || configuration.flag("consulServers.defaults.tls", false) != Some(true) {
        return None;
    }
    let lacks = |path: &str| matches!(configuration.name_at(path), Maybe::Absent);
    let named = ["http", "grpc"].map(|section| !lacks(&format!("consulServers.{section}.tlsServerName")));
    let path = "consulServers.defaults.tlsServerName";
    if named.contains(&true) || !lacks(path) {
        return None;
    }
    let what = if is_program {
        "the program in consulServers.hosts prints IP addresses"
    } else {
        "consulServers.hosts is an IP address"
    };
    let message = format!("{what}, but TLS has no name to compare certificates with");
    let help = "set consulServers.defaults.tlsServerName, usually to server.dc1.consul";
    Some(Draft::new(configuration.place_of(path).span, message, help))
}

pub(super) static CONSUL_LOGIN_META: Rule =
    Rule::of_task(page!("consul-login-meta"), Applies::ConsulDataplane, check_login_meta);

fn check_login_meta(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul) = &subject.consul else { return };
    let Maybe::Known(meta) = consul.configuration.at("consulLogin.meta") else { return };
    for key in ["consul.hashicorp.com/cluster", "consul.hashicorp.com/task-id"] {
        if let Some(value) = meta.get(key) {
            let message = format!("consulLogin.meta sets {key}");
            findings.add(Draft::new(value.place.span, message, format!("remove {key}: consul-ecs sets it")));
        }
    }
}
