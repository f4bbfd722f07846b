use serde_json::json;

use crate::{
    definition::{Container, Dependency, Maybe, ProxyConfiguration},
    example::{Base, Example},
    finding::{Draft, Findings, Fix, Severity},
    rule::{Applies, Check, Rule},
    subject::{Subject, is_observer},
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "appmesh-app-dependency",
    summary: "app containers wait until Envoy is healthy",
    severity: Severity::Warning,
    applies: Applies::AppMesh,
    is_fixable: true,
    effect: "the first connections of the app fail, because its traffic is redirected to an Envoy that is not ready yet",
    explanation: "\
The traffic is redirected before any container starts. Until Envoy has its configuration, all connections fail, so \
that an app that connects at its start fails or has to retry. With `dependsOn` and the condition `HEALTHY`, it starts \
after Envoy is ready, and ECS stops Envoy after the app. Containers are not reported if they are not essential, run as \
the ignored user, collect logs or metrics, or if Envoy itself waits for them.",
    sources: &[
        "https://docs.aws.amazon.com/app-mesh/latest/userguide/getting-started-ecs.html",
        "https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_ContainerDependency.html",
    ],
    example: Some(Example {
        base: Base::AppMesh,
        given: &[],
        at: "containerDefinitions[orders].dependsOn",
        fails: None,
        repaired: Some(r#"[{ "containerName": "envoy", "condition": "HEALTHY" }]"#),
    }),
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(mesh) = subject.app_mesh.as_ref() else { return };
    let Some((proxy, envoy)) = mesh.proxied() else { return };
    let Some(name) = envoy.name.text() else { return };
    for app in &mesh.apps {
        let is_ahead = app.name.text().is_some_and(|app| subject.definition.is_held_back(envoy, app, None));
        if is_ahead || !is_redirected(app, proxy) || subject.definition.is_held_back(app, name, Some("HEALTHY")) {
            continue;
        }
        report(app, name, findings);
    }
}

/// Whether a container certainly needs the mesh.
fn is_redirected(app: &Container, proxy: &ProxyConfiguration) -> bool {
    let ignored = match proxy.property("IgnoredUID") {
        Maybe::Known(property) => property.value.text(),
        Maybe::Absent | Maybe::Unknown => None,
    };
    let is_ignored = app.user.is_unknown() || (app.user.text().is_some() && app.user.text() == ignored);
    app.is_essential() == Some(true) && !is_ignored && !is_observer(app)
}

fn report(app: &Container, envoy: &str, findings: &mut Findings) {
    let label = app.label();
    let (span, message, fix) = match app.waits_for(envoy) {
        Maybe::Known(Dependency { condition, .. }) => {
            // Another rule reports invalid conditions.
            let Some(other) = condition.text().filter(|text| matches!(*text, "START" | "COMPLETE" | "SUCCESS")) else {
                return;
            };
            let message = format!("{label} waits for the {other} of {envoy}, not until it is healthy");
            (condition.span(), message, Fix::set(&condition.place, "HEALTHY"))
        }
        Maybe::Absent => {
            let dependency = json!({ "containerName": envoy, "condition": "HEALTHY" });
            let message = format!("{label} does not wait for {envoy}");
            (app.depends_on.place.span, message, Fix::append(&app.depends_on, dependency))
        }
        Maybe::Unknown => return,
    };
    let help = format!("add {envoy} with the condition HEALTHY to dependsOn of {label}");
    findings.add(Draft::new(span, message, help).of(app).fix(fix));
}
