use crate::{
    app_mesh::{Reference, Resources},
    example::{Base, Example},
    finding::{Draft, Severity},
    rule::{Applies, Check, ResourceFindings, Rule},
    subject::Subject,
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "appmesh-other-mesh",
    summary: "resources refer to resources of their own mesh",
    severity: Severity::Error,
    applies: Applies::AppMeshResources,
    is_fixable: false,
    effect: "the reference is broken, because names are valid only within a mesh",
    explanation: "\
References between resources contain no mesh: they always mean the resource's own. A resource of this name exists, but \
in another mesh of the run: one of the two was created in the wrong mesh.",
    sources: &["https://docs.aws.amazon.com/app-mesh/latest/userguide/meshes.html"],
    example: Some(Example {
        base: Base::AppMeshResources,
        given: &[],
        at: "[virtualNode orders].virtualNode.meshName",
        fails: Some(r#""blog""#),
        repaired: Some(r#""shop""#),
    }),
    check: Check::Resources(check),
};

fn check(resources: &Resources, _: &[Subject<'_>], findings: &mut ResourceFindings<'_>) {
    for (resource, mesh, Reference { kind, name, node }) in resources.references() {
        let other = resources.other_mesh_with(kind, mesh, name);
        let Some(other) = other.filter(|_| resources.lacks(kind, mesh, name)) else { continue };
        let (label, kind) = (resource.label(), kind.as_str());
        let message = format!("{label} of the mesh {mesh} refers to the {kind} {name}, which is in the mesh {other}");
        let help = format!("create the {kind} {name} in {mesh}, or use an existing one");
        findings(resource, Draft::new(node.place.span, message, help));
    }
}
