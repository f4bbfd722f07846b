//! What the script of a client agent must do for mesh-init and Envoy.

use super::{client_agent::agent, prelude::*};
use crate::subject::{AgentScript, BINARY_DIRECTORY};

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
fn faults(subject: &Subject<'_>, client: &Container, script: &AgentScript<'_>) -> Vec<(String, String)> {
    let mut faults = Vec::new();
    if let Some(end) = script.missing_end() {
        let what = format!("has a here-document without its end {end}: the rest of the script is text");
        faults.push((what, format!("write {end} at the end of the text, alone in its line")));
        return faults;
    }
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

/// Whether mesh-init mounts the volume for the program `consul`, and the script certainly does not put it there.
fn lacks_the_program(subject: &Subject<'_>, script: &AgentScript<'_>) -> bool {
    let mesh_init = subject.consul.as_ref().and_then(|consul| consul.mesh_init);
    let is_mounted = mesh_init.is_some_and(|init| matches!(init.mount_at(BINARY_DIRECTORY), Maybe::Known(_)));
    is_mounted && script.is_all() && !script.mentions(BINARY_DIRECTORY)
}
