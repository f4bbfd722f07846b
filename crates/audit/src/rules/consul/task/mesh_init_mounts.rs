use crate::{
    definition::{Container, Maybe},
    example::{Base, Example},
    finding::{Draft, Findings, Fix, Severity},
    rule::{Applies, Check, Rule},
    subject::{AgentScript, BINARY_DIRECTORY, ConsulTask, Subject},
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "consul-mesh-init-mounts",
    summary: "consul-ecs-mesh-init mounts the shared volumes, the data volume writable",
    severity: Severity::Error,
    applies: Applies::Consul,
    is_fixable: true,
    effect: "mesh-init fails, or writes the proxy's configuration to a directory that the proxy does not share",
    explanation: "\
mesh-init writes the program `consul-ecs` and the proxy's configuration to the directory in `bootstrapDir`, usually \
`/consul`. The volume `consul_data` has to be mounted there, and not read-only. With a client agent, mesh-init also \
runs the program `consul` to generate Envoy's configuration; the agent's container copies it to `/bin/consul-inject`, \
so that both mount the volume `consul_binary` there.",
    sources: &["https://developer.hashicorp.com/consul/docs/v1.13.x/ecs/manual/install"],
    example: Some(Example {
        base: Base::Dataplane,
        given: &[],
        at: "containerDefinitions[consul-ecs-mesh-init].mountPoints[consul_data].readOnly",
        fails: Some("true"),
        repaired: Some("false"),
    }),
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul) = &subject.consul else { return };
    let Some(mesh_init) = consul.first() else { return };
    if let Some(directory) = consul.shared_directory() {
        data(subject, mesh_init, directory, findings);
    }
    if needs_binary(consul) && matches!(mesh_init.mount_at(BINARY_DIRECTORY), Maybe::Absent) {
        missing(subject, mesh_init, "consul_binary", BINARY_DIRECTORY, true, findings);
    }
}

fn data(subject: &Subject<'_>, mesh_init: &Container, directory: &str, findings: &mut Findings) {
    match mesh_init.mount_at(directory) {
        Maybe::Absent => missing(subject, mesh_init, "consul_data", directory, false, findings),
        Maybe::Known(mount) if mount.read_only.known() == Some(&true) => {
            let message = format!("{} cannot write to {directory}", mesh_init.label());
            let place = &mount.read_only.place;
            let fix = Fix::set(place, false);
            findings.add(Draft::new(place.span, message, "set readOnly to false").of(mesh_init).fix(fix));
        }
        Maybe::Known(_) | Maybe::Unknown => {}
    }
}

/// Only if the agent's script certainly puts the program there: older definitions had it in the image.
fn needs_binary(consul: &ConsulTask<'_>) -> bool {
    consul.client.and_then(AgentScript::of).is_some_and(|script| script.mentions(BINARY_DIRECTORY))
}

fn missing(
    subject: &Subject<'_>,
    mesh_init: &Container,
    volume: &str,
    path: &str,
    read_only: bool,
    findings: &mut Findings,
) {
    let message = format!("{} mounts nothing at {path}", mesh_init.label());
    let help = format!("mount the volume {volume} at {path}");
    let fix = subject.mount(mesh_init, volume, path, read_only);
    findings.add(Draft::new(mesh_init.mount_points.place.span, message, help).of(mesh_init).fix(fix));
}
