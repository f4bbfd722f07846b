use crate::{
    definition::{Container, Maybe},
    example::{Base, Example},
    finding::{Draft, Findings, Fix, Severity},
    rule::{Applies, Check, Rule},
    subject::Subject,
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "consul-proxy-mount",
    summary: "the proxy mounts the volume with its configuration",
    severity: Severity::Error,
    applies: Applies::Consul,
    is_fixable: true,
    effect: "the proxy's container finds neither its program nor its configuration, and fails to start",
    explanation: "\
mesh-init (the control plane with consul-ecs 0.7) writes the proxy's configuration and the program `consul-ecs`, with \
which the proxy's container starts, to the volume `consul_data`. The proxy has to mount the same volume at the same \
path, usually `/consul`.",
    sources: &["https://developer.hashicorp.com/consul/docs/v1.13.x/ecs/manual/install"],
    example: Some(Example {
        base: Base::Dataplane,
        given: &[],
        at: "containerDefinitions[consul-dataplane].mountPoints",
        fails: None,
        repaired: Some(r#"[{ "sourceVolume": "consul_data", "containerPath": "/consul", "readOnly": true }]"#),
    }),
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul) = &subject.consul else { return };
    let (Some(proxy), Some(directory)) = (consul.proxy(), consul.shared_directory()) else { return };
    let wanted = consul.first().and_then(|first| volume_at(first, directory));
    match proxy.mount_at(directory) {
        Maybe::Absent => {
            let message = format!("{} mounts nothing at {directory}", proxy.label());
            let volume = wanted.unwrap_or("consul_data");
            let fix = subject.mount(proxy, volume, directory, true);
            let help = format!("mount the volume {volume} at {directory}, read-only");
            findings.add(Draft::new(proxy.mount_points.place.span, message, help).of(proxy).fix(fix));
        }
        Maybe::Known(mount) => {
            let (Some(found), Some(wanted)) = (mount.source_volume.text(), wanted) else { return };
            if found != wanted {
                let message =
                    format!("{} mounts {found} at {directory}, but its configuration is on {wanted}", proxy.label());
                let place = &mount.source_volume.place;
                let fix = Fix::set(place, wanted);
                let help = format!("mount the volume {wanted}");
                findings.add(Draft::new(place.span, message, help).of(proxy).fix(fix));
            }
        }
        Maybe::Unknown => {}
    }
}

fn volume_at<'d>(container: &'d Container, directory: &str) -> Option<&'d str> {
    match container.mount_at(directory) {
        Maybe::Known(mount) => mount.source_volume.text(),
        Maybe::Absent | Maybe::Unknown => None,
    }
}
