use crate::{
    definition::Maybe,
    example::{Base, Example},
    finding::{Draft, Findings, Fix, Severity},
    rule::{Applies, Check, Rule},
    subject::Subject,
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "consul-proxy-mount-read-only",
    summary: "the proxy mounts the volume with its configuration read-only",
    severity: Severity::Info,
    applies: Applies::Consul,
    is_fixable: true,
    effect: "an attacker who controls the proxy can replace the program that the health checks and health-sync run",
    explanation: "\
The proxy is the container that accepts connections from the network, and it only reads the files of mesh-init. A \
writable mount works, but lets the proxy change files that other containers trust: the program `consul-ecs` and, with \
a login, the tokens.",
    sources: &["https://developer.hashicorp.com/consul/docs/v1.13.x/ecs/manual/install"],
    example: Some(Example {
        base: Base::Dataplane,
        given: &[],
        at: "containerDefinitions[consul-dataplane].mountPoints[consul_data].readOnly",
        fails: None,
        repaired: Some("true"),
    }),
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul) = &subject.consul else { return };
    let (Some(proxy), Some(directory)) = (consul.proxy(), consul.shared_directory()) else { return };
    let Maybe::Known(mount) = proxy.mount_at(directory) else { return };
    if mount.read_only.or(false) == Some(false) {
        let place = &mount.read_only.place;
        let message = format!("{} can write to {directory}", proxy.label());
        let fix = Fix::set(place, true);
        findings.add(Draft::new(place.span, message, "set readOnly to true").of(proxy).fix(fix));
    }
}
