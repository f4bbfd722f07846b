use serde_json::json;

use crate::{
    definition::{Container, Text},
    example::{Base, Example},
    finding::{Draft, Findings, Fix, Severity},
    rule::{Applies, Check, Rule},
    subject::{ConsulTask, Subject},
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "consul-volumes",
    summary: "the volumes that the mesh's containers share are defined",
    severity: Severity::Error,
    applies: Applies::Consul,
    is_fixable: true,
    effect: "ECS refuses to register the definition",
    explanation: "\
The containers of the mesh share files on two volumes of the task: `consul_data`, on which mesh-init writes the \
program `consul-ecs` and the proxy's configuration, and `consul_binary`, on which a client agent writes the program \
`consul`. A container can mount a volume only if it is in `volumes` of the definition. Both are volumes without a host \
path, which exist as long as the task.",
    sources: &[
        "https://developer.hashicorp.com/consul/docs/v1.13.x/ecs/manual/install",
        "https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_Volume.html",
    ],
    example: Some(Example {
        base: Base::Client,
        given: &[],
        at: "volumes[consul_binary]",
        fails: None,
        repaired: Some(r#"{ "name": "consul_binary" }"#),
    }),
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul) = &subject.consul else { return };
    let volumes = &subject.definition.volumes;
    if volumes.items.iter().any(|volume| volume.text().is_none()) {
        return;
    }
    let mut seen = Vec::new();
    for container in mesh_containers(consul) {
        for name in container.mount_points.items.iter().filter_map(|mount| mount.source_volume.text()) {
            if !seen.contains(&name) && volumes.lacks(|volume| volume.known().and_then(Text::whole) == Some(name)) {
                seen.push(name);
                let message = format!("the volume {name}, which {} mounts, is not defined", container.label());
                let help = format!("add {{ \"name\": \"{name}\" }} to volumes");
                let fix = Fix::append(volumes, json!({ "name": name }));
                findings.add(Draft::new(volumes.place.span, message, help).fix(fix));
            }
        }
    }
}

fn mesh_containers<'d>(consul: &ConsulTask<'d>) -> impl Iterator<Item = &'d Container> + use<'d> {
    let others = [consul.client, consul.sidecar_proxy, consul.dataplane];
    consul.consul_ecs_containers().chain(others.into_iter().flatten())
}
