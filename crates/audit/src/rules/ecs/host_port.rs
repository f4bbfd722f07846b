use crate::{
    example::{Base, Example},
    finding::{Draft, Findings, Fix, Severity},
    rule::{Applies, Check, Rule},
    subject::Subject,
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "ecs-host-port",
    summary: "in the network modes awsvpc and host, host ports equal container ports",
    severity: Severity::Error,
    applies: Applies::EveryTask,
    is_fixable: true,
    effect: "ECS refuses to register the definition",
    explanation: "\
In `bridge` mode, `hostPort` is the port of the instance that is forwarded to the container's port. In `awsvpc` mode, \
the task has a separate network interface, and in `host` mode, its containers use that of the instance: ports are not \
translated. In these modes, `hostPort` is absent or equal to `containerPort`.",
    sources: &["https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_PortMapping.html"],
    example: Some(Example {
        base: Base::AppMesh,
        given: &[],
        at: "containerDefinitions[orders].portMappings",
        fails: Some(r#"[{ "containerPort": 9080, "hostPort": 80 }]"#),
        repaired: Some(r#"[{ "containerPort": 9080 }]"#),
    }),
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(mode @ ("awsvpc" | "host")) = subject.definition.network_mode.text() else { return };
    for container in &subject.definition.containers.items {
        for mapping in &container.port_mappings.items {
            let (Some(port), Some(host)) = (mapping.container_port.known(), mapping.host_port.known()) else {
                continue;
            };
            // Zero counts as absent.
            if *host == 0 || host == port {
                continue;
            }
            let message =
                format!("{} maps its port {port} to {host}, which the mode {mode} does not support", container.label());
            let draft = Draft::new(mapping.host_port.span(), message, "remove hostPort").of(container);
            findings.add(draft.fix(Fix::remove(&mapping.host_port.place)));
        }
    }
}
