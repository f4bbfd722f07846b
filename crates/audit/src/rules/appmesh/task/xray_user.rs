use crate::{
    definition::{Container, Maybe},
    example::{Base, Example},
    finding::{Draft, Findings, Fix, Severity},
    rule::{Applies, Check, Rule},
    subject::{AppMeshTask, Subject, is_xray_daemon},
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "appmesh-xray-user",
    summary: "the X-Ray daemon runs as the user whose traffic is not redirected",
    severity: Severity::Warning,
    applies: Applies::AppMesh,
    is_fixable: true,
    effect: "the daemon's traffic to X-Ray is redirected to Envoy, which drops it if the mesh allows no egress",
    explanation: "\
The daemon's traffic to X-Ray is not part of the mesh. As the user in `IgnoredUID`, its connections bypass Envoy. As \
another user, they go through Envoy: a mesh with the egress filter `DROP_ALL` drops them, and any other counts them as \
traffic of the app.",
    sources: &["https://docs.aws.amazon.com/app-mesh/latest/userguide/getting-started-ecs.html"],
    example: Some(Example {
        base: Base::AppMesh,
        given: &[],
        at: "containerDefinitions[xray-daemon].user",
        fails: None,
        repaired: Some(r#""1337""#),
    }),
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some((proxy, envoy)) = subject.app_mesh.as_ref().and_then(AppMeshTask::proxied) else { return };
    let Maybe::Known(property) = proxy.property("IgnoredUID") else { return };
    // If Envoy itself runs as another user, only that is reported.
    let Some(ignored) = property.value.text().filter(|ignored| uid(envoy) == Some(ignored)) else { return };
    for daemon in subject.definition.containers.items.iter().filter(|it| is_xray_daemon(it)) {
        let user = uid(daemon);
        if daemon.user.is_unknown() || user == Some(ignored) || (user.is_none() && !daemon.user.is_absent()) {
            continue;
        }
        let label = daemon.label();
        let message = match user {
            Some(user) => format!("{label} runs as the user {user}, but IgnoredUID is {ignored}"),
            None => format!("{label} sets no user, but IgnoredUID is {ignored}"),
        };
        let draft = Draft::new(daemon.user.span(), message, format!("set user of {label} to {ignored}"));
        findings.add(draft.of(daemon).fix(Fix::set(&daemon.user.place, ignored)));
    }
}

fn uid(container: &Container) -> Option<&str> {
    container.user.text()?.split(':').next()
}
