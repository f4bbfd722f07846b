use semver::Version;

use crate::{
    definition::{Container, Maybe},
    example::{Base, Example},
    finding::{Draft, Findings, Fix, Severity},
    rule::{Applies, Check, Rule},
    subject::{RESOURCE_VARIABLES, Subject, image_of},
};

/// The variable since v1.15.0.
const NEW: &str = RESOURCE_VARIABLES[0];
/// The earlier variable, which is still valid for virtual nodes.
const OLD: &str = RESOURCE_VARIABLES[1];

pub(in crate::rules) static RULE: Rule = Rule {
    id: "appmesh-envoy-variable",
    summary: "the name of Envoy's resource is in the variable that its version reads",
    severity: Severity::Error,
    applies: Applies::AppMesh,
    is_fixable: true,
    effect: "Envoy does not read the variable and gets no configuration, so that it never becomes healthy",
    explanation: "\
Images from v1.15.0 on read `APPMESH_RESOURCE_ARN`; older ones read only `APPMESH_VIRTUAL_NODE_NAME`. Newer images \
also read the old variable, but only for a virtual node: a virtual gateway needs the new one.",
    sources: &[
        "https://docs.aws.amazon.com/app-mesh/latest/userguide/envoy-config.html",
        "https://docs.aws.amazon.com/app-mesh/latest/userguide/envoy.html",
    ],
    example: Some(Example {
        base: Base::AppMeshGateway,
        given: &[],
        at: "containerDefinitions[envoy].environment[0].name",
        fails: Some(r#""APPMESH_VIRTUAL_NODE_NAME""#),
        repaired: Some(r#""APPMESH_RESOURCE_ARN""#),
    }),
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(mesh) = subject.app_mesh.as_ref() else { return };
    let (Some(envoy), Some(variable)) = (mesh.envoy, mesh.resource_variable()) else { return };
    let version = image_of(envoy).filter(|image| image.name == "aws-appmesh-envoy").and_then(|image| image.version());
    if let Some(version) = version.filter(|version| ignores_its_variable(envoy, version)) {
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
pub(super) fn ignores_its_variable(envoy: &Container, version: &Version) -> bool {
    let is_set = |name: &str| matches!(envoy.variable(name), Maybe::Known(_));
    *version < Version::new(1, 15, 0) && is_set(NEW) && matches!(envoy.variable(OLD), Maybe::Absent)
}
