//! App Mesh: the task around Envoy.

use serde_json::json;

use super::pages;
use crate::{
    example::Base,
    finding::{Draft, Findings, Fix, Severity},
    rule::{Applies, Rule},
    subject::{AppMeshTask, Subject, is_observer, is_xray_daemon, workloads},
};
use audit_read::{
    app_mesh::ResourceKind,
    definition::{Container, Dependency, Maybe, PortMapping, ProxyConfiguration, Text},
};

pub(super) static APPMESH_APP_DEPENDENCY: Rule = Rule {
    id: "appmesh-app-dependency",
    summary: "app containers wait until Envoy is healthy",
    severity: Severity::Warning,
    is_fixable: true,
    effect: "the first connections of the app fail, because its traffic is redirected to an Envoy that is not ready yet",
    explanation: "\
The traffic is redirected before any container starts. Until Envoy has its configuration, all connections fail, so \
that an app that connects at its start fails or has to retry. With `dependsOn` and the condition `HEALTHY`, it starts \
after Envoy is ready, and ECS stops Envoy after the app. Containers are not reported if they are not essential, run as \
the ignored user, collect logs or metrics, or if Envoy itself waits for them.",
    sources: &[pages::APP_MESH_ON_ECS, pages::ECS_DEPENDENCY],
    example: Some(Base::AppMesh.missing(
        "containerDefinitions[orders].dependsOn",
        r#"[{ "containerName": "envoy", "condition": "HEALTHY" }]"#,
    )),
    ..Rule::of_task(Applies::AppMesh, check_app_dependency)
};

fn check_app_dependency(subject: &Subject<'_>, findings: &mut Findings) {
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

pub(super) static APPMESH_APP_PORT_MAPPING: Rule = Rule {
    id: "appmesh-app-port-mapping",
    summary: "AppPorts are the TCP ports of the app containers",
    severity: Severity::Warning,
    effect: "connections to a port that is missing in AppPorts bypass Envoy, and those to a port without an app fail",
    explanation: "\
`AppPorts` and the `portMappings` of the app containers contain the same ports: those on which the app listens. A port \
only in the mappings is reachable without the mesh, its TLS and its metrics. A port only in `AppPorts` is usually an \
earlier port of the app. If an app container has no mappings, its ports are unknown, and additional ports in \
`AppPorts` are not reported.",
    sources: &[pages::APP_MESH_ON_ECS, pages::ECS_PROXY_CONFIGURATION],
    example: Some(Base::AppMesh.wrong("proxyConfiguration.properties[AppPorts].value", r#""9081""#, r#""9080""#)),
    ..Rule::of_task(Applies::AppMesh, check_app_port_mapping)
};

fn check_app_port_mapping(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(mesh) = subject.app_mesh.as_ref() else { return };
    let Some(proxy) = mesh.proxy else { return };
    let (Maybe::Known(property), Some(listed)) = (proxy.property("AppPorts"), proxy.ports("AppPorts")) else { return };
    let mapped: Vec<u64> = workloads(&mesh.apps).into_iter().flat_map(tcp_ports).collect();
    let all_mapped: Vec<u64> = mesh.apps.iter().flat_map(|app| tcp_ports(app)).collect();
    if listed.is_empty() || mapped.is_empty() {
        return;
    }
    let unlisted = mapped.iter().filter(|port| !listed.iter().any(|other| u64::from(*other) == **port));
    let unlisted: Vec<String> = unlisted.map(u64::to_string).collect();
    let are_ports_known = subject.definition.containers.is_complete && mesh.apps.iter().all(|app| has_known_ports(app));
    let unmapped = listed.iter().filter(|port| are_ports_known && !all_mapped.contains(&u64::from(**port)));
    let unmapped: Vec<String> = unmapped.map(u16::to_string).collect();
    let message = match (unlisted.as_slice(), unmapped.as_slice()) {
        ([], []) => return,
        (ports, []) => format!("AppPorts lacks {}, on which the app listens", ports.join(", ")),
        ([], ports) => format!("AppPorts has {}, which no container maps", ports.join(", ")),
        (lacks, has) => {
            format!("AppPorts has {} and lacks {}, on which the app listens", has.join(", "), lacks.join(", "))
        }
    };
    let ports: Vec<String> = mapped.iter().map(u64::to_string).collect();
    let help = format!("set AppPorts to {}, or correct the portMappings", ports.join(","));
    findings.add(Draft::new(property.value.span(), message, help));
}

fn is_tcp(mapping: &PortMapping) -> bool {
    mapping.protocol.or(Text("tcp".to_owned())).is_some_and(|protocol| protocol.0 == "tcp")
}

fn tcp_ports(app: &Container) -> impl Iterator<Item = u64> {
    app.port_mappings.items.iter().filter(|mapping| is_tcp(mapping)).filter_map(|it| it.container_port.known().copied())
}

/// Whether all ports of a container are known. A container without port mappings may listen on any port.
fn has_known_ports(app: &Container) -> bool {
    let mappings = &app.port_mappings;
    let is_known = |it: &PortMapping| it.container_port.known().is_some() && !it.protocol.is_unknown();
    mappings.is_complete && !mappings.items.is_empty() && mappings.items.iter().all(is_known)
}

pub(super) static APPMESH_END_OF_SERVICE: Rule = Rule {
    id: "appmesh-end-of-service",
    summary: "no task definition depends on App Mesh, which ended on 2026-09-30",
    effect: "Envoy gets no configuration any more: a new task never becomes healthy",
    explanation: "\
AWS ended App Mesh on 2026-09-30. Its API and its control plane do not exist any more, so that the findings of the \
other `appmesh-` rules matter only for a migration. There are two alternatives: Consul's service mesh on ECS, for \
which `ecs-mesh inject` adds the containers to the plain definition of the app, and ECS Service Connect, which ECS \
manages. With both, remove the Envoy container, the proxy configuration and the X-Ray daemon from the definition.",
    sources: &[pages::APP_MESH_MIGRATION, pages::CONSUL_ON_ECS],
    // Every definition of App Mesh violates the rule: there is no correct example.
    example: None,
    ..Rule::of_task(Applies::AppMesh, check_end_of_service)
};

fn check_end_of_service(subject: &Subject<'_>, findings: &mut Findings) {
    let definition = subject.definition;
    let span = if definition.proxy.is_absent() {
        subject.app_mesh.as_ref().and_then(|mesh| mesh.envoy).map_or(definition.span(), Container::span)
    } else {
        definition.proxy.span()
    };
    findings.add(Draft::new(
        span,
        "this task definition depends on App Mesh, which ended on 2026-09-30",
        "move to Consul on ECS (ecs-mesh inject) or to ECS Service Connect",
    ));
}

pub(super) static APPMESH_EXECUTION_ROLE: Rule = Rule {
    id: "appmesh-execution-role",
    summary: "a task on Fargate with App Mesh's private registry has an execution role",
    effect: "the Envoy image cannot be pulled, and the task stops with CannotPullContainerError",
    explanation: "\
A private registry of Amazon ECR requires credentials. On EC2, they come from the role of the instance; on Fargate, \
from the task execution role, with the managed policy `AmazonECSTaskExecutionRolePolicy` or one for the repository.",
    sources: &[pages::APP_MESH_ENVOY_IMAGE, pages::ECS_EXECUTION_ROLE],
    example: Some(Base::AppMesh.missing("executionRoleArn", r#""arn:aws:iam::123456789012:role/orders-execution""#)),
    ..Rule::of_task(Applies::AppMesh, check_execution_role)
};

fn check_execution_role(subject: &Subject<'_>, findings: &mut Findings) {
    let definition = subject.definition;
    let Some(envoy) = subject.app_mesh.as_ref().and_then(|mesh| mesh.envoy) else { return };
    let is_private = envoy.image.known().is_some_and(|image| image.mentions(".dkr.ecr."));
    // Secrets require the role as well: another rule reports that.
    let has_secrets = definition.containers.items.iter().any(|container| !container.secrets.items.is_empty());
    if is_private && !has_secrets && definition.execution_role.is_absent() && definition.runs_on_fargate() {
        let message =
            format!("{} comes from a private registry, but the definition has no execution role", envoy.label());
        let help =
            "set executionRoleArn to a role with AmazonECSTaskExecutionRolePolicy, or use the image of public.ecr.aws";
        let draft = Draft::new(definition.execution_role.span(), message, help);
        findings.add(draft.of(envoy).note(envoy.image.span(), "the image"));
    }
}

pub(super) static APPMESH_TASK_ROLE: Rule = Rule {
    id: "appmesh-task-role",
    summary: "a task on Fargate has a task role",
    effect: "Envoy has no credentials to sign its requests to App Mesh, and never becomes healthy",
    explanation: "\
Envoy signs its requests to App Mesh. On EC2, it may use the role of the instance; on Fargate there is none, so that \
the definition needs a task role. With proxy authorization, the role needs `appmesh:StreamAggregatedResources` for the \
virtual node or gateway.",
    sources: &[
        pages::APP_MESH_ON_ECS,
        "https://docs.aws.amazon.com/app-mesh/latest/userguide/proxy-authorization.html",
    ],
    example: Some(Base::AppMesh.missing("taskRoleArn", r#""arn:aws:iam::123456789012:role/orders-task""#)),
    ..Rule::of_task(Applies::AppMesh, check_task_role)
};

fn check_task_role(subject: &Subject<'_>, findings: &mut Findings) {
    let role = &subject.definition.task_role;
    if role.is_absent() && subject.definition.runs_on_fargate() {
        let message = "the definition runs on Fargate, but has no task role";
        findings.add(Draft::new(role.span(), message, "set taskRoleArn to a role that ECS tasks may assume"));
    }
}

pub(super) static APPMESH_GATEWAY_MIXED: Rule = Rule {
    id: "appmesh-gateway-mixed",
    summary: "a virtual gateway runs in a separate task",
    effect: "the traffic of the app is redirected to the Envoy of a gateway, which has no configuration for the app",
    explanation: "\
The Envoy of a virtual gateway accepts requests from outside on its own listeners and forwards them into the mesh. It \
has no proxy configuration, because there is no app whose traffic could be redirected, and an app in the same task is \
not in the mesh. An app needs a separate Envoy for its virtual node.",
    sources: &[
        "https://docs.aws.amazon.com/app-mesh/latest/userguide/virtual_gateways.html",
        pages::ECS_PROXY_CONFIGURATION,
    ],
    example: Some(Base::AppMesh.wrong(
        "containerDefinitions[envoy].environment[APPMESH_RESOURCE_ARN].value",
        r#""mesh/shop/virtualGateway/ingress""#,
        r#""mesh/shop/virtualNode/orders""#,
    )),
    ..Rule::of_task(Applies::AppMesh, check_gateway_mixed)
};

fn check_gateway_mixed(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(mesh) = subject.app_mesh.as_ref() else { return };
    let Some((envoy, variable)) = mesh.envoy.zip(mesh.resource_variable()) else { return };
    if mesh.resource().is_none_or(|resource| resource.kind != ResourceKind::VirtualGateway) {
        return;
    }
    let label = envoy.label();
    if mesh.proxy.is_some() {
        let message = format!("{label} represents a virtual gateway, but traffic is redirected to it");
        let help = "set a virtual node, or remove the proxyConfiguration and the app";
        let draft = Draft::new(variable.value.span(), message, help).of(envoy);
        findings.add(draft.note(subject.definition.proxy.span(), "redirects the traffic of the task"));
        return;
    }
    let has_port = |app: &&&Container| {
        app.is_essential() == Some(true) && !app.port_mappings.items.is_empty() && !is_observer(app)
    };
    if let Some(app) = mesh.apps.iter().find(has_port) {
        let message = format!("{} runs beside the virtual gateway {label}, outside of the mesh", app.label());
        let help = "move the app to a separate task, with an Envoy for its virtual node";
        findings.add(Draft::new(app.span(), message, help).of(app));
    }
}

pub(super) static APPMESH_XRAY_DAEMON: Rule = Rule {
    id: "appmesh-xray-daemon",
    summary: "a task whose Envoy sends traces has an X-Ray daemon",
    severity: Severity::Warning,
    effect: "Envoy sends its traces to UDP port 2000 of the task, which is closed, and they are lost",
    explanation: "\
With `ENABLE_ENVOY_XRAY_TRACING`, Envoy sends a segment for every request to 127.0.0.1:2000. The X-Ray daemon, or a \
collector with the same protocol, has to run in the same task and forward them.",
    sources: &[pages::APP_MESH_ENVOY_VARIABLES, pages::XRAY_ON_ECS],
    example: Some(Base::AppMesh.missing("containerDefinitions[xray-daemon]", r#"{ "name": "xray-daemon", "image": "amazon/aws-xray-daemon", "user": "1337", "portMappings": [{ "containerPort": 2000, "protocol": "udp" }] }"#)),
    ..Rule::of_task(Applies::AppMesh, check_xray_daemon)
};

fn check_xray_daemon(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(envoy) = subject.app_mesh.as_ref().and_then(|mesh| mesh.envoy) else { return };
    let tracing = match envoy.variable("ENABLE_ENVOY_XRAY_TRACING") {
        Maybe::Known(tracing) if matches!(tracing.value.text(), Some("1" | "true")) => tracing,
        _ => return,
    };
    let is_elsewhere = !matches!(envoy.variable("XRAY_DAEMON_PORT"), Maybe::Absent);
    if !is_elsewhere && subject.definition.containers.lacks(may_take_traces) {
        let message = format!("{} sends traces, but no container listens on UDP port 2000", envoy.label());
        let help = "add a container with amazon/aws-xray-daemon and the port mapping 2000/udp, or remove the variable";
        findings.add(Draft::new(tracing.place.span, message, help).of(envoy));
    }
}

fn may_take_traces(container: &Container) -> bool {
    let collectors = ["xray", "otel", "cloudwatch-agent"];
    let image = container.image.known();
    let is_collector =
        image.is_none_or(|image| image.tail().is_empty() || collectors.iter().any(|name| image.mentions(name)));
    let mappings = &container.port_mappings;
    is_collector
        || !mappings.is_complete
        || mappings.items.iter().any(|it| it.container_port.or(2000) == Some(2000) || it.container_port.is_unknown())
}

pub(super) static APPMESH_XRAY_TRACING: Rule = Rule {
    id: "appmesh-xray-tracing",
    summary: "in a task with an X-Ray daemon, Envoy sends traces",
    severity: Severity::Info,
    effect: "the daemon runs, but gets no traces of Envoy",
    explanation: "\
The X-Ray daemon of the task only forwards what it receives. Envoy sends segments if `ENABLE_ENVOY_XRAY_TRACING` is \
`1`. If only the app sends traces, with X-Ray's SDK, this finding can be ignored.",
    sources: &[pages::APP_MESH_ENVOY_VARIABLES, pages::XRAY_ON_ECS],
    example: Some(Base::AppMesh.missing(
        "containerDefinitions[envoy].environment[ENABLE_ENVOY_XRAY_TRACING]",
        r#"{ "name": "ENABLE_ENVOY_XRAY_TRACING", "value": "1" }"#,
    )),
    ..Rule::of_task(Applies::AppMesh, check_xray_tracing)
};

fn check_xray_tracing(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(envoy) = subject.app_mesh.as_ref().and_then(|mesh| mesh.envoy) else { return };
    let Some(daemon) = subject.definition.containers.items.iter().find(|it| is_xray_daemon(it)) else { return };
    let is_off = match envoy.variable("ENABLE_ENVOY_XRAY_TRACING") {
        Maybe::Known(variable) => matches!(variable.value.text(), Some("0" | "false" | "")),
        Maybe::Absent => true,
        Maybe::Unknown => false,
    };
    if is_off {
        let message = format!("{} waits for traces, but {} sends none", daemon.label(), envoy.label());
        let help = "set ENABLE_ENVOY_XRAY_TRACING to 1 on the Envoy container, or remove the daemon";
        findings.add(Draft::new(daemon.span(), message, help).of(daemon));
    }
}

pub(super) static APPMESH_XRAY_USER: Rule = Rule {
    id: "appmesh-xray-user",
    summary: "the X-Ray daemon runs as the user whose traffic is not redirected",
    severity: Severity::Warning,
    is_fixable: true,
    effect: "the daemon's traffic to X-Ray is redirected to Envoy, which drops it if the mesh allows no egress",
    explanation: "\
The daemon's traffic to X-Ray is not part of the mesh. As the user in `IgnoredUID`, its connections bypass Envoy. As \
another user, they go through Envoy: a mesh with the egress filter `DROP_ALL` drops them, and any other counts them as \
traffic of the app.",
    sources: &[pages::APP_MESH_ON_ECS],
    example: Some(Base::AppMesh.missing("containerDefinitions[xray-daemon].user", r#""1337""#)),
    ..Rule::of_task(Applies::AppMesh, check_xray_user)
};

fn check_xray_user(subject: &Subject<'_>, findings: &mut Findings) {
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
