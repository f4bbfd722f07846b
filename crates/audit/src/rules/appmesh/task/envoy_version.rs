use semver::Version;

use crate::{
    example::{Base, Example},
    finding::{Draft, Findings, Severity},
    rule::{Applies, Check, Rule},
    rules::appmesh::task::envoy_variable::ignores_its_variable,
    subject::{Subject, image_of},
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "appmesh-envoy-version",
    summary: "the Envoy image is v1.17.2.0 or newer",
    severity: Severity::Warning,
    applies: Applies::AppMesh,
    is_fixable: false,
    effect: "App Mesh accepts no new Envoy of this version; an existing one lacks years of security fixes",
    explanation: "\
Since 2023-06-30, App Mesh is compatible with Envoy images from v1.17.2.0-prod on. Meshes that had used an older one \
before that day could keep it. Images from 1.15 on read `APPMESH_RESOURCE_ARN`, and those from 1.17 on use only \
version 3 of Envoy's API.",
    sources: &[
        "https://docs.aws.amazon.com/app-mesh/latest/userguide/envoy.html",
        "https://docs.aws.amazon.com/app-mesh/latest/userguide/1.17-migration.html",
    ],
    example: Some(Example {
        base: Base::AppMesh,
        given: &[(
            "containerDefinitions[envoy].environment[APPMESH_RESOURCE_ARN].name",
            "\"APPMESH_VIRTUAL_NODE_NAME\"",
        )],
        at: "containerDefinitions[envoy].image",
        fails: Some(r#""840364872350.dkr.ecr.us-east-1.amazonaws.com/aws-appmesh-envoy:v1.11.2.0-prod""#),
        repaired: Some(r#""840364872350.dkr.ecr.us-east-1.amazonaws.com/aws-appmesh-envoy:v1.17.2.0-prod""#),
    }),
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(envoy) = subject.app_mesh.as_ref().and_then(|mesh| mesh.envoy) else { return };
    let Some(image) = image_of(envoy).filter(|image| image.name == "aws-appmesh-envoy") else { return };
    let Some(version) = image.version().filter(|version| *version < Version::new(1, 17, 2)) else { return };
    // That rule is more specific, and has the same fix.
    if ignores_its_variable(envoy, &version) {
        return;
    }
    let message = format!("{} is {}", envoy.label(), image.tag.unwrap_or_default());
    let help = "use v1.17.2.0-prod or newer, and set APPMESH_RESOURCE_ARN to the virtual node";
    findings.add(Draft::new(envoy.image.span(), message, help).of(envoy));
}
