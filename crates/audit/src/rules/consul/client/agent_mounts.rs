use crate::{
    definition::{Container, Maybe},
    example::{Base, Example},
    finding::{Draft, Findings, Fix, Severity},
    rule::{Applies, Check, Rule},
    subject::{AgentScript, BINARY_DIRECTORY, Subject},
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "consul-client-mounts",
    summary: "consul-client mounts the shared volumes, both writable",
    severity: Severity::Error,
    applies: Applies::ConsulClient,
    is_fixable: true,
    effect: "mesh-init finds no program consul, or the script fails to write its files and the agent never starts",
    explanation: "\
The script of `consul-client` copies the program `consul` to `/bin/consul-inject`, where mesh-init runs it, and writes \
the CA's certificate, the agent's configuration and its token below the directory that all containers share, usually \
`/consul`. Both directories are volumes, which this container must be able to write to. A directory that the script \
does not mention needs no mount.",
    sources: &["https://developer.hashicorp.com/consul/docs/v1.13.x/ecs/manual/install"],
    example: Some(Example {
        base: Base::Client,
        given: &[],
        at: "containerDefinitions[consul-client].mountPoints[consul_data].readOnly",
        fails: Some("true"),
        repaired: Some("false"),
    }),
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul) = &subject.consul else { return };
    let Some(client) = consul.client else { return };
    let Some(script) = AgentScript::of(client) else { return };
    for (volume, path) in [("consul_data", consul.shared_directory()), ("consul_binary", Some(BINARY_DIRECTORY))] {
        if let Some(path) = path.filter(|path| script.mentions(&format!("{path}/"))) {
            check_mount(subject, client, volume, path, findings);
        }
    }
}

fn check_mount(subject: &Subject<'_>, client: &Container, volume: &str, path: &str, findings: &mut Findings) {
    match client.mount_at(path) {
        Maybe::Absent if !has_mount_below(client, path) => {
            let message = format!("{} mounts nothing at {path}", client.label());
            let fix = subject.mount(client, volume, path, false);
            let help = format!("mount the volume {volume} at {path}");
            findings.add(Draft::new(client.mount_points.place.span, message, help).of(client).fix(fix));
        }
        Maybe::Known(mount) if mount.read_only.known() == Some(&true) => {
            let place = &mount.read_only.place;
            let message = format!("{} cannot write to {path}", client.label());
            let fix = Fix::set(place, false);
            findings.add(Draft::new(place.span, message, "set readOnly to false").of(client).fix(fix));
        }
        Maybe::Absent | Maybe::Known(_) | Maybe::Unknown => {}
    }
}

/// Some definitions share only a subdirectory.
fn has_mount_below(client: &Container, path: &str) -> bool {
    let is_below = |at: &str| at.strip_prefix(path).is_some_and(|rest| rest.starts_with('/'));
    client.mount_points.items.iter().filter_map(|mount| mount.container_path.text()).any(is_below)
}
