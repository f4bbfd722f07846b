use crate::{
    definition::Maybe,
    example::{Base, Example},
    finding::{Draft, Findings, Severity},
    rule::{Applies, Check, Rule},
    subject::{EntryPoint, Subject},
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "consul-app-entry-point-mount",
    summary: "an app that starts with consul-ecs mounts the shared volume",
    severity: Severity::Error,
    applies: Applies::Consul,
    is_fixable: true,
    effect: "the app does not start, because the program of its entry point does not exist in the container",
    explanation: "\
mesh-init copies `consul-ecs` to the shared directory (`bootstrapDir`, usually `/consul`). An app with the entry point \
`consul-ecs app-entrypoint`, which delays its end, has to mount the volume there. The Terraform module adds the mount \
point together with the entry point.",
    sources: &["https://developer.hashicorp.com/consul/docs/ecs/architecture"],
    example: Some(Example {
        base: Base::Dataplane,
        given: STARTED,
        at: "containerDefinitions[web].mountPoints",
        fails: None,
        repaired: Some(r#"[{ "sourceVolume": "consul_data", "containerPath": "/consul", "readOnly": true }]"#),
    }),
    check: Check::Task(check),
};

const STARTED: &[(&str, &str)] = &[
    ("containerDefinitions[web].entryPoint", r#"["/consul/consul-ecs", "app-entrypoint", "-shutdown-delay", "10s"]"#),
    ("containerDefinitions[web].command", r#"["serve"]"#),
];

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul) = &subject.consul else { return };
    let Some(directory) = consul.shared_directory() else { return };
    for app in &consul.apps {
        let Some(entry_point) = EntryPoint::of(app) else { continue };
        if entry_point.program() != format!("{directory}/consul-ecs")
            || !matches!(app.mount_at(directory), Maybe::Absent)
        {
            continue;
        }
        let volume = consul.first().and_then(|first| match first.mount_at(directory) {
            Maybe::Known(mount) => mount.source_volume.text(),
            Maybe::Absent | Maybe::Unknown => None,
        });
        let volume = volume.unwrap_or("consul_data");
        let message =
            format!("{} starts with {}, but mounts nothing at {directory}", app.label(), entry_point.program());
        let help = format!("mount the volume {volume} at {directory}, read-only");
        let draft = Draft::new(app.mount_points.place.span, message, help).of(app);
        findings.add(draft.fix(subject.mount(app, volume, directory, true)));
    }
}
