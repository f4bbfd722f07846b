//! App Mesh: Envoy's container, the roles of its task, and the X-Ray daemon that takes its traces.

use super::{permissions::Call, prelude::*, service::tcp_ports, task_role::of_calls};
use crate::subject::{AppMeshTask, MeshResource, RESOURCE_VARIABLES, Release, image_of, is_observer, is_xray_daemon};
use audit_read::{app_mesh::ResourceKind, definition::Variable};

pub(super) static APPMESH_ENVOY_ESSENTIAL: Rule =
    Rule::once_per_task(page!("appmesh-envoy-essential", in APP_MESH), Applies::AppMesh, check_envoy_essential);

fn check_envoy_essential(subject: &Subject<'_>) -> Option<Draft> {
    let envoy = subject.envoy().filter(|envoy| envoy.is_essential() == Some(false))?;
    let draft =
        Draft::new(envoy.essential.span(), format!("{} is not essential", envoy.label()), "set essential to true");
    Some(draft.of(envoy).fix(Fix::set(&envoy.essential.place, true)))
}

pub(super) static APPMESH_ENVOY_HEALTH_CHECK: Rule =
    Rule::once_per_task(page!("appmesh-envoy-health-check", in APP_MESH), Applies::AppMesh, check_envoy_health_check);

fn check_envoy_health_check(subject: &Subject<'_>) -> Option<Draft> {
    let mesh = subject.app_mesh.as_ref()?;
    let envoy = mesh.envoy?;
    let label = envoy.label();
    let command = envoy.health_check.known().and_then(|check| check.command.texts());
    let message = match (envoy.has_health_check(), command, admin_port(envoy)) {
        (Some(false), _, _) if mesh.proxy.is_some() => format!("{label} has no health check"),
        (Some(true), Some(words), Some(port)) if requests_elsewhere(&words.join(" "), port) => {
            format!("the health check of {label} does not request Envoy's admin interface on port {port}")
        }
        _ => return None,
    };
    let help = "check that the state at http://localhost:9901/server_info is LIVE";
    Some(Draft::new(envoy.health_check.span(), message, help).of(envoy))
}

pub(super) fn admin_port(envoy: &Container) -> Option<&str> {
    match envoy.variable("ENVOY_ADMIN_ACCESS_PORT") {
        Maybe::Absent => Some("9901"),
        Maybe::Known(variable) => variable.value.text(),
        Maybe::Unknown => None,
    }
}

/// Whether a command certainly makes a network request, but not to the admin interface. Any other program of the image
/// may request it.
fn requests_elsewhere(command: &str, port: &str) -> bool {
    let programs = ["curl", "wget", "nc"];
    let makes_request = command.split([' ', '/', ';', '|', '&']).any(|word| programs.contains(&word));
    makes_request && !command.contains(port) && !command.contains('$')
}

/// The account of the registry in most regions.
const ACCOUNT: &str = "840364872350";
/// The regions with other accounts. Source: <https://docs.aws.amazon.com/app-mesh/latest/userguide/envoy.html>
const ELSEWHERE: [(&str, &str); 6] = [
    ("me-south-1", "772975370895"),
    ("ap-east-1", "856666278305"),
    ("ap-southeast-3", "909464085924"),
    ("eu-south-1", "422531588944"),
    ("il-central-1", "564877687649"),
    ("af-south-1", "924023996002"),
];

pub(super) static APPMESH_ENVOY_IMAGE: Rule =
    Rule::once_per_task(page!("appmesh-envoy-image", in APP_MESH), Applies::AppMesh, check_envoy_image);

fn check_envoy_image(subject: &Subject<'_>) -> Option<Draft> {
    let envoy = subject.envoy()?;
    let image = envoy.image.known().map(Text::head)?;
    if is_upstream(image) {
        let message = format!("{} has the Envoy project's image, which App Mesh cannot configure", envoy.label());
        let help = "use public.ecr.aws/appmesh/aws-appmesh-envoy, v1.17.2.0-prod or newer";
        return Some(Draft::new(envoy.image.span(), message, help).of(envoy));
    }
    let (account, region, expected) = wrong_account(image)?;
    let message = format!("account {account} has no Envoy image in {region}");
    let fixed = envoy.image.text().map(|image| image.replacen(account, expected, 1));
    let draft = Draft::new(envoy.image.span(), message, format!("use account {expected} in {region}"));
    Some(draft.of(envoy).fix(fixed.and_then(|image| Fix::set(&envoy.image.place, image))))
}

fn is_upstream(image: &str) -> bool {
    ["", "docker.io/", "index.docker.io/", "registry-1.docker.io/"]
        .iter()
        .any(|registry| image.strip_prefix(registry).is_some_and(|rest| rest.starts_with("envoyproxy/envoy")))
}

/// An account of AWS, the region in which it is wrong, and the right account. Other accounts may have copies.
fn wrong_account(image: &str) -> Option<(&str, &str, &'static str)> {
    let (registry, _) = image.split_once('/')?;
    let (account, rest) = registry.split_once(".dkr.ecr.")?;
    let (region, domain) = rest.split_once('.')?;
    let is_known = account == ACCOUNT || ELSEWHERE.iter().any(|(_, other)| *other == account);
    let expected = ELSEWHERE.iter().find(|(other, _)| *other == region).map_or(ACCOUNT, |(_, account)| *account);
    (is_known && domain == "amazonaws.com" && expected != account && !region.starts_with("us-gov-"))
        .then_some((account, region, expected))
}

pub(super) static APPMESH_ENVOY_RESOURCE: Rule =
    Rule::once_per_task(page!("appmesh-envoy-resource", in APP_MESH), Applies::AppMesh, check_envoy_resource);

fn check_envoy_resource(subject: &Subject<'_>) -> Option<Draft> {
    let envoy = subject.envoy()?;
    let is_absent = |name: &&str| matches!(envoy.environment_has(name), Maybe::Absent);
    let (span, message) = match subject.app_mesh.as_ref().and_then(AppMeshTask::resource_variable) {
        Some(variable) if variable.value.known().is_some_and(MeshResource::is_malformed) => {
            let name = variable.name.text().unwrap_or_default();
            (variable.value.span(), format!("{name} is not the name of a virtual node or gateway"))
        }
        None if RESOURCE_VARIABLES.iter().all(is_absent)
            && let Some(variable) = misnamed(envoy) =>
        {
            let name = variable.name.text().unwrap_or_default();
            let message = format!("{} has the resource in {name}, which it does not read", envoy.label());
            let draft = Draft::new(variable.name.span(), message, format!("rename the variable to {NEW}"));
            return Some(draft.of(envoy).fix(Fix::set(&variable.name.place, NEW)));
        }
        None if RESOURCE_VARIABLES.iter().all(is_absent) => {
            let message = format!("{} has no name of a virtual node or gateway", envoy.label());
            (envoy.environment.place.span, message)
        }
        _ => return None,
    };
    let help = "set APPMESH_RESOURCE_ARN to mesh/<mesh>/virtualNode/<node>, or to the full ARN";
    Some(Draft::new(span, message, help).of(envoy))
}

/// A variable of another name with the name of a virtual node or gateway.
fn misnamed(envoy: &Container) -> Option<&Variable> {
    let kinds = ["/virtualNode/", "/virtualGateway/"];
    let is_resource = |variable: &&Variable| {
        variable.value.known().is_some_and(|value| kinds.iter().any(|kind| value.mentions(kind)))
    };
    envoy.environment.items.iter().find(|variable| variable.name.text().is_some() && is_resource(variable))
}

/// The variable since v1.15.0.
const NEW: &str = RESOURCE_VARIABLES[0];
/// The earlier variable, which is still valid for virtual nodes.
const OLD: &str = RESOURCE_VARIABLES[1];

pub(super) static APPMESH_ENVOY_VARIABLE: Rule =
    Rule::once_per_task(page!("appmesh-envoy-variable", in APP_MESH), Applies::AppMesh, check_envoy_variable);

fn check_envoy_variable(subject: &Subject<'_>) -> Option<Draft> {
    let mesh = subject.app_mesh.as_ref()?;
    let (envoy, variable) = (mesh.envoy?, mesh.resource_variable()?);
    if let Some(version) = app_mesh_version(envoy).filter(|version| ignores_its_variable(envoy, *version)) {
        let message = format!("{} has version {version}, which does not read {NEW}", envoy.label());
        let draft = Draft::new(variable.name.span(), message, "use the image v1.17.2.0-prod or newer").of(envoy);
        return Some(draft.note(envoy.image.span(), "the image"));
    }
    (mesh.is_gateway && variable.name.text() == Some(OLD)).then(|| {
        let message = format!("{} has a virtual gateway in {OLD}, which is only for virtual nodes", envoy.label());
        let draft = Draft::new(variable.name.span(), message, format!("rename the variable to {NEW}"));
        draft.of(envoy).fix(Fix::set(&variable.name.place, NEW))
    })
}

/// The version of an image of App Mesh's Envoy.
fn app_mesh_version(envoy: &Container) -> Option<Release> {
    image_of(envoy).filter(|image| image.name == "aws-appmesh-envoy")?.version()
}

/// Whether an image of this version does not read the variable that is set.
fn ignores_its_variable(envoy: &Container, version: Release) -> bool {
    let is_set = |name: &str| matches!(envoy.variable(name), Maybe::Known(_));
    version.in_line() < Release::line(1, 15) && is_set(NEW) && matches!(envoy.variable(OLD), Maybe::Absent)
}

pub(super) static APPMESH_ENVOY_VERSION: Rule =
    Rule::once_per_task(page!("appmesh-envoy-version", in APP_MESH), Applies::AppMesh, check_envoy_version);

fn check_envoy_version(subject: &Subject<'_>) -> Option<Draft> {
    let envoy = subject.envoy()?;
    let version = app_mesh_version(envoy).filter(|version| *version < Release::new(1, 17, 2))?;
    // `appmesh-envoy-variable` reports this, and has the same fix.
    if ignores_its_variable(envoy, version) {
        return None;
    }
    let tag = image_of(envoy).and_then(|image| image.tag).unwrap_or_default();
    let help = "use v1.17.2.0-prod or newer, and set APPMESH_RESOURCE_ARN to the virtual node";
    Some(Draft::new(envoy.image.span(), format!("{} has the image {tag}", envoy.label()), help).of(envoy))
}

const TRACING: &str = "ENABLE_ENVOY_XRAY_TRACING";

pub(super) static APPMESH_XRAY_DAEMON: Rule =
    Rule::once_per_task(page!("appmesh-xray-daemon", in APP_MESH), Applies::AppMesh, check_xray_daemon);

fn check_xray_daemon(subject: &Subject<'_>) -> Option<Draft> {
    let envoy = subject.envoy()?;
    let Maybe::Known(tracing) = envoy.variable(TRACING) else { return None };
    let is_on = matches!(tracing.value.text(), Some("1" | "true"));
    let is_elsewhere = !matches!(envoy.variable("XRAY_DAEMON_PORT"), Maybe::Absent);
    (is_on && !is_elsewhere && subject.definition.containers.lacks(may_take_traces)).then(|| {
        let message = format!("{} sends traces, but no container listens on UDP port 2000", envoy.label());
        let help = "add a container with amazon/aws-xray-daemon and the port mapping 2000/udp, or remove the variable";
        Draft::new(tracing.place.span, message, help).of(envoy)
    })
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

pub(super) static APPMESH_XRAY_TRACING: Rule =
    Rule::once_per_task(page!("appmesh-xray-tracing", in APP_MESH), Applies::AppMesh, check_xray_tracing);

fn check_xray_tracing(subject: &Subject<'_>) -> Option<Draft> {
    let envoy = subject.envoy()?;
    let daemon = subject.definition.containers.items.iter().find(|it| is_xray_daemon(it))?;
    let is_off = match envoy.variable(TRACING) {
        Maybe::Known(variable) => matches!(variable.value.text(), Some("0" | "false" | "")),
        Maybe::Absent => true,
        Maybe::Unknown => false,
    };
    is_off.then(|| {
        let message = format!("{} waits for traces, but {} sends none", daemon.label(), envoy.label());
        let help = "set ENABLE_ENVOY_XRAY_TRACING to 1 on the Envoy container, or remove the daemon";
        Draft::new(daemon.span(), message, help).of(daemon)
    })
}

pub(super) static APPMESH_XRAY_USER: Rule =
    Rule::of_task(page!("appmesh-xray-user", in APP_MESH), Applies::AppMesh, check_xray_user);

fn check_xray_user(subject: &Subject<'_>, findings: &mut Findings) {
    let Some((proxy, envoy)) = subject.app_mesh.as_ref().and_then(AppMeshTask::proxied) else { return };
    let Maybe::Known(property) = proxy.property("IgnoredUID") else { return };
    // If Envoy itself runs as another user, only `appmesh-ignored-user` reports that.
    let Some(ignored) = property.value.text().filter(|ignored| uid(envoy) == Some(ignored)) else { return };
    for daemon in subject.definition.containers.items.iter().filter(|it| is_xray_daemon(it)) {
        let label = daemon.label();
        let message = match uid(daemon) {
            Some(user) if user != ignored => format!("{label} runs as user {user}, but IgnoredUID is {ignored}"),
            None if daemon.user.is_absent() => format!("{label} sets no user, but IgnoredUID is {ignored}"),
            _ => continue,
        };
        let draft = Draft::new(daemon.user.span(), message, format!("set user of {label} to {ignored}"));
        findings.add(draft.of(daemon).fix(Fix::set(&daemon.user.place, ignored)));
    }
}

fn uid(container: &Container) -> Option<&str> {
    container.user.text()?.split(':').next()
}

pub(super) static APPMESH_EXECUTION_ROLE: Rule =
    Rule::once_per_task(page!("appmesh-execution-role", in APP_MESH), Applies::AppMesh, check_execution_role);

fn check_execution_role(subject: &Subject<'_>) -> Option<Draft> {
    let definition = subject.definition;
    let envoy = subject.envoy()?;
    let is_private = envoy.image.known().is_some_and(|image| image.mentions(".dkr.ecr."));
    // Secrets require the role as well: `ecs-secrets-execution-role` reports that.
    let has_secrets = definition.containers.items.iter().any(|container| !container.secrets.items.is_empty());
    let is_needed = is_private && !has_secrets && definition.runs_on_fargate();
    (is_needed && definition.execution_role.is_absent()).then(|| {
        let message =
            format!("{} has an image of a private registry, but the task has no execution role", envoy.label());
        let help =
            "set executionRoleArn to a role with AmazonECSTaskExecutionRolePolicy, or use the image of public.ecr.aws";
        let draft = Draft::new(definition.execution_role.span(), message, help);
        draft.of(envoy).note(envoy.image.span(), "the image")
    })
}

pub(super) static APPMESH_TASK_ROLE: Rule =
    Rule::of_task(page!("appmesh-task-role", in APP_MESH), Applies::AppMesh, check_task_role);

fn check_task_role(subject: &Subject<'_>, findings: &mut Findings) {
    let definition = subject.definition;
    let role = &definition.task_role;
    if role.is_absent() && definition.runs_on_fargate() {
        let message = "the definition runs on Fargate, but has no task role";
        findings.add(Draft::new(role.span(), message, "set taskRoleArn to a role that ECS tasks may assume"));
    }
    let Some((envoy, role)) = subject.envoy().zip(definition.declared_role.as_ref()) else { return };
    let (Some(mesh), Some(statements)) = (&subject.app_mesh, &role.statements) else { return };
    let resource = mesh.resource().map_or_else(
        || "mesh/*".to_owned(),
        |MeshResource { mesh, kind, name }| format!("mesh/{mesh}/{}/{name}", kind.key()),
    );
    let call =
        Call { action: "appmesh:StreamAggregatedResources", resources: vec![format!("arn:*:appmesh:*:*:{resource}")] };
    let who = format!("{} gets its configuration from App Mesh", envoy.label());
    findings.extend(of_calls(role, statements, &[call], &who).into_iter().map(|draft| draft.of(envoy)));
}

pub(super) static APPMESH_GATEWAY_MIXED: Rule =
    Rule::once_per_task(page!("appmesh-gateway-mixed", in APP_MESH), Applies::AppMesh, check_gateway_mixed);

fn check_gateway_mixed(subject: &Subject<'_>) -> Option<Draft> {
    let mesh = subject.app_mesh.as_ref()?;
    mesh.resource_of_kind(ResourceKind::VirtualGateway)?;
    let (envoy, variable) = mesh.envoy.zip(mesh.resource_variable())?;
    let label = envoy.label();
    if mesh.proxy.is_some() {
        let message = format!("{label} represents a virtual gateway, but ECS redirects traffic to it");
        let help = "set a virtual node, or remove the proxyConfiguration and the app";
        let draft = Draft::new(variable.value.span(), message, help).of(envoy);
        return Some(draft.note(subject.definition.proxy.span(), "redirects the traffic of the task"));
    }
    // App Mesh carries TCP only.
    let has_port =
        |app: &&&Container| app.is_essential() == Some(true) && tcp_ports(app).next().is_some() && !is_observer(app);
    let app = mesh.apps.iter().find(has_port)?;
    let message = format!("{} runs in the task of virtual gateway {label}, outside of the mesh", app.label());
    let help = "move the app to a separate task, with an Envoy for its virtual node";
    Some(Draft::new(app.span(), message, help).of(app))
}
