//! App Mesh: the container of Envoy.

use super::pages;
use crate::{
    example::Base,
    finding::{Draft, Findings, Fix, Severity},
    rule::{Applies, Rule},
    subject::{MeshResource, RESOURCE_VARIABLES, Release, Subject, image_of},
};
use audit_read::definition::{Container, Maybe, Text};

pub(super) static APPMESH_ENVOY_ESSENTIAL: Rule = Rule {
    id: "appmesh-envoy-essential",
    summary: "Envoy is essential",
    severity: Severity::Warning,
    is_fixable: true,
    effect: "if Envoy stops, the task keeps running without any connections, and ECS does not replace it",
    explanation: "\
All traffic of the task is redirected to Envoy. If the container is not essential and stops, ECS considers the task as \
running while all of its connections fail. If it is essential, ECS stops the task, and the service starts another one.",
    sources: &[pages::APP_MESH_ON_ECS],
    example: Some(Base::AppMesh.wrong("containerDefinitions[envoy].essential", "false", "true")),
    ..Rule::of_task(Applies::AppMesh, check_envoy_essential)
};

fn check_envoy_essential(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(envoy) = subject.app_mesh.as_ref().and_then(|mesh| mesh.envoy) else { return };
    if envoy.is_essential() == Some(false) {
        let message = format!("{} is not essential", envoy.label());
        let draft = Draft::new(envoy.essential.span(), message, "set essential to true");
        findings.add(draft.of(envoy).fix(Fix::set(&envoy.essential.place, true)));
    }
}

pub(super) static APPMESH_ENVOY_HEALTH_CHECK: Rule = Rule {
    id: "appmesh-envoy-health-check",
    summary: "Envoy has a health check that requests its admin interface",
    effect: "ECS cannot determine when Envoy has its configuration: apps that wait for it never start, and others start too early",
    explanation: "\
Envoy is ready when it has got its configuration from App Mesh. Then the state at `http://localhost:9901/server_info` \
of its admin interface is `LIVE`. The port is 9901 unless `ENVOY_ADMIN_ACCESS_PORT` sets another one. A check of any \
other port checks something else. A virtual gateway, for which no container of the task waits, does not need a health \
check.",
    sources: &[pages::APP_MESH_ON_ECS, pages::APP_MESH_ENVOY_VARIABLES],
    example: Some(Base::AppMesh.missing("containerDefinitions[envoy].healthCheck", r#"{ "command": ["CMD-SHELL", "curl -s http://localhost:9901/server_info | grep state | grep -q LIVE"], "interval": 5 }"#)),
    ..Rule::of_task(Applies::AppMesh, check_envoy_health_check)
};

fn check_envoy_health_check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(mesh) = subject.app_mesh.as_ref() else { return };
    let Some(envoy) = mesh.envoy else { return };
    let label = envoy.label();
    let command = envoy.health_check.known().and_then(|check| check.command.texts());
    let message = match (envoy.has_health_check(), command, admin_port(envoy)) {
        (Some(false), _, _) if mesh.proxy.is_some() => format!("{label} has no health check"),
        (Some(true), Some(words), Some(port)) if requests_elsewhere(&words.join(" "), port) => {
            format!("the health check of {label} does not request Envoy's admin interface on port {port}")
        }
        _ => return,
    };
    let help = "check that the state at http://localhost:9901/server_info is LIVE";
    findings.add(Draft::new(envoy.health_check.span(), message, help).of(envoy));
}

fn admin_port(envoy: &Container) -> Option<&str> {
    match envoy.variable("ENVOY_ADMIN_ACCESS_PORT") {
        Maybe::Absent => Some("9901"),
        Maybe::Known(variable) => variable.value.text(),
        Maybe::Unknown => None,
    }
}

/// Whether a command certainly makes a network request, but not to the admin interface. Another program of the image
/// may do anything.
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

pub(super) static APPMESH_ENVOY_IMAGE: Rule = Rule {
    id: "appmesh-envoy-image",
    summary: "Envoy has App Mesh's own image, from the region's account",
    is_fixable: true,
    effect: "the image cannot be pulled, or contains an Envoy that cannot get its configuration from App Mesh",
    explanation: "\
App Mesh needs a special Envoy: `aws-appmesh-envoy` signs its requests to the control plane with the credentials of \
the task, which the Envoy project's image does not. AWS publishes it in the public gallery \
(`public.ecr.aws/appmesh/aws-appmesh-envoy`) and in a private registry of each region: in the account 840364872350, \
except for me-south-1, ap-east-1, ap-southeast-3, eu-south-1, il-central-1 and af-south-1, which have other accounts. \
A copy in your own registry is allowed.",
    sources: &[pages::APP_MESH_ENVOY_IMAGE],
    example: Some(Base::AppMesh.wrong(
        "containerDefinitions[envoy].image",
        r#""840364872350.dkr.ecr.eu-south-1.amazonaws.com/aws-appmesh-envoy:v1.29.12.1-prod""#,
        r#""422531588944.dkr.ecr.eu-south-1.amazonaws.com/aws-appmesh-envoy:v1.29.12.1-prod""#,
    )),
    ..Rule::of_task(Applies::AppMesh, check_envoy_image)
};

fn check_envoy_image(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(envoy) = subject.app_mesh.as_ref().and_then(|mesh| mesh.envoy) else { return };
    let Some(image) = envoy.image.known().map(Text::head) else { return };
    let label = envoy.label();
    let draft = if is_upstream(image) {
        let help = "use public.ecr.aws/appmesh/aws-appmesh-envoy, v1.17.2.0-prod or newer";
        Draft::new(
            envoy.image.span(),
            format!("{label} is the Envoy project's image, which App Mesh cannot configure"),
            help,
        )
    } else if let Some((account, region, expected)) = wrong_account(image) {
        let message = format!("the account {account} has no Envoy image in {region}");
        let fix = envoy.image.text().map(|image| image.replacen(account, expected, 1));
        let fix = fix.and_then(|image| Fix::set(&envoy.image.place, image));
        Draft::new(envoy.image.span(), message, format!("in {region}, the account is {expected}")).fix(fix)
    } else {
        return;
    };
    findings.add(draft.of(envoy));
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

pub(super) static APPMESH_ENVOY_RESOURCE: Rule = Rule {
    id: "appmesh-envoy-resource",
    summary: "Envoy has the name of its virtual node or gateway",
    effect: "App Mesh has no configuration for it, and Envoy never becomes healthy",
    explanation: "\
Envoy requests the configuration of one resource of a mesh. Its name is `mesh/<mesh>/virtualNode/<node>`, \
`mesh/<mesh>/virtualGateway/<gateway>` or the full ARN of either. It is case-sensitive. Routers, routes and services \
have no Envoy.",
    sources: &[pages::APP_MESH_ENVOY_VARIABLES, pages::APP_MESH_ON_ECS],
    example: Some(Base::AppMesh.wrong(
        "containerDefinitions[envoy].environment[APPMESH_RESOURCE_ARN].value",
        r#""shop/orders""#,
        r#""mesh/shop/virtualNode/orders""#,
    )),
    ..Rule::of_task(Applies::AppMesh, check_envoy_resource)
};

fn check_envoy_resource(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(mesh) = subject.app_mesh.as_ref() else { return };
    let Some(envoy) = mesh.envoy else { return };
    let is_absent =
        |name: &str| matches!(envoy.variable(name), Maybe::Absent) && matches!(envoy.secret(name), Maybe::Absent);
    let (span, message) = match mesh.resource_variable() {
        Some(variable) => {
            if variable.value.text().is_none_or(|value| MeshResource::parse(value).is_some()) {
                return;
            }
            let name = variable.name.text().unwrap_or_default();
            (variable.value.span(), format!("{name} is not the name of a virtual node or gateway"))
        }
        None if RESOURCE_VARIABLES.iter().all(|name| is_absent(name)) => {
            (envoy.environment.place.span, format!("{} has no name of a virtual node or gateway", envoy.label()))
        }
        None => return,
    };
    let help = "set APPMESH_RESOURCE_ARN to mesh/<mesh>/virtualNode/<node>, or to the full ARN";
    findings.add(Draft::new(span, message, help).of(envoy));
}

/// The variable since v1.15.0.
const NEW: &str = RESOURCE_VARIABLES[0];
/// The earlier variable, which is still valid for virtual nodes.
const OLD: &str = RESOURCE_VARIABLES[1];

pub(super) static APPMESH_ENVOY_VARIABLE: Rule = Rule {
    id: "appmesh-envoy-variable",
    summary: "the name of Envoy's resource is in the variable that its version reads",
    is_fixable: true,
    effect: "Envoy does not read the variable and gets no configuration, so that it never becomes healthy",
    explanation: "\
Images from v1.15.0 on read `APPMESH_RESOURCE_ARN`; older ones read only `APPMESH_VIRTUAL_NODE_NAME`. Newer images \
also read the old variable, but only for a virtual node: a virtual gateway needs the new one.",
    sources: &[pages::APP_MESH_ENVOY_VARIABLES, pages::APP_MESH_ENVOY_IMAGE],
    example: Some(Base::AppMeshGateway.wrong(
        "containerDefinitions[envoy].environment[0].name",
        r#""APPMESH_VIRTUAL_NODE_NAME""#,
        r#""APPMESH_RESOURCE_ARN""#,
    )),
    ..Rule::of_task(Applies::AppMesh, check_envoy_variable)
};

fn check_envoy_variable(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(mesh) = subject.app_mesh.as_ref() else { return };
    let (Some(envoy), Some(variable)) = (mesh.envoy, mesh.resource_variable()) else { return };
    let version = image_of(envoy).filter(|image| image.name == "aws-appmesh-envoy").and_then(|image| image.version());
    if let Some(version) = version.filter(|version| ignores_its_variable(envoy, *version)) {
        let message = format!("{} has version {version}, which does not read {NEW}", envoy.label());
        let draft = Draft::new(variable.name.span(), message, "use the image v1.17.2.0-prod or newer").of(envoy);
        findings.add(draft.note(envoy.image.span(), "the image"));
    } else if mesh.is_gateway && variable.name.text() == Some(OLD) {
        let message = format!("{} has a virtual gateway in {OLD}, which is for virtual nodes", envoy.label());
        let draft = Draft::new(variable.name.span(), message, format!("rename the variable to {NEW}"));
        findings.add(draft.of(envoy).fix(Fix::set(&variable.name.place, NEW)));
    }
}

/// Whether an image of this version does not read the variable that is set.
fn ignores_its_variable(envoy: &Container, version: Release) -> bool {
    let is_set = |name: &str| matches!(envoy.variable(name), Maybe::Known(_));
    version.in_line() < Release::line(1, 15) && is_set(NEW) && matches!(envoy.variable(OLD), Maybe::Absent)
}

pub(super) static APPMESH_ENVOY_VERSION: Rule = Rule {
    id: "appmesh-envoy-version",
    summary: "the Envoy image is v1.17.2.0 or newer",
    severity: Severity::Warning,
    effect: "App Mesh accepts no new Envoy of this version; an existing one lacks years of security fixes",
    explanation: "\
Since 2023-06-30, App Mesh is compatible with Envoy images from v1.17.2.0-prod on. Meshes that had used an older one \
before that day could keep it. Images from 1.15 on read `APPMESH_RESOURCE_ARN`, and those from 1.17 on use only \
version 3 of Envoy's API.",
    sources: &[
        pages::APP_MESH_ENVOY_IMAGE,
        "https://docs.aws.amazon.com/app-mesh/latest/userguide/1.17-migration.html",
    ],
    example: Some(
        Base::AppMesh
            .wrong(
                "containerDefinitions[envoy].image",
                r#""840364872350.dkr.ecr.us-east-1.amazonaws.com/aws-appmesh-envoy:v1.11.2.0-prod""#,
                r#""840364872350.dkr.ecr.us-east-1.amazonaws.com/aws-appmesh-envoy:v1.17.2.0-prod""#,
            )
            .given(&[(
                "containerDefinitions[envoy].environment[APPMESH_RESOURCE_ARN].name",
                "\"APPMESH_VIRTUAL_NODE_NAME\"",
            )]),
    ),
    ..Rule::of_task(Applies::AppMesh, check_envoy_version)
};

fn check_envoy_version(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(envoy) = subject.app_mesh.as_ref().and_then(|mesh| mesh.envoy) else { return };
    let Some(image) = image_of(envoy).filter(|image| image.name == "aws-appmesh-envoy") else { return };
    let Some(version) = image.version().filter(|version| *version < Release::new(1, 17, 2)) else { return };
    // That rule is more specific, and has the same fix.
    if ignores_its_variable(envoy, version) {
        return;
    }
    let message = format!("{} is {}", envoy.label(), image.tag.unwrap_or_default());
    let help = "use v1.17.2.0-prod or newer, and set APPMESH_RESOURCE_ARN to the virtual node";
    findings.add(Draft::new(envoy.image.span(), message, help).of(envoy));
}
