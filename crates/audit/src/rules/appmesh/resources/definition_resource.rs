use crate::{
    app_mesh::{Presence, ResourceKind, Resources},
    example::{Base, Example},
    finding::{Draft, Severity},
    rule::{Applies, Check, Rule, TaskFindings},
    subject::{MeshResource, Subject},
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "appmesh-definition-resource",
    summary: "the resource that Envoy represents exists in the mesh",
    severity: Severity::Error,
    applies: Applies::AppMeshResources,
    is_fixable: false,
    effect: "App Mesh has no configuration for this Envoy, which never becomes healthy",
    explanation: "\
A task definition refers to a mesh by the name of a virtual node or virtual gateway in a variable of the Envoy \
container. An unknown mesh, node or gateway is usually misspelled, or of another environment. It is reported as \
missing only if the run has an export of another resource of that kind of the same mesh, or of meshes but not this \
one, or if the templates of the run create the mesh and other resources of that kind. Nothing is reported as missing if \
part of the input could not be read.",
    sources: &[
        "https://docs.aws.amazon.com/app-mesh/latest/userguide/envoy-config.html",
        "https://docs.aws.amazon.com/app-mesh/latest/userguide/virtual_nodes.html",
    ],
    example: Some(Example {
        base: Base::AppMeshResources,
        given: &[("[definition]", include_str!("../../../bases/app-mesh.json"))],
        at: "[7].containerDefinitions[envoy].environment[APPMESH_RESOURCE_ARN].value",
        fails: Some(r#""mesh/shop/virtualNode/order""#),
        repaired: Some(r#""mesh/shop/virtualNode/orders""#),
    }),
    check: Check::TasksAmongResources(check),
};

fn check(subjects: &[Subject<'_>], resources: &Resources, findings: &mut TaskFindings<'_>) {
    for subject in subjects {
        let Some(mesh) = subject.app_mesh.as_ref() else { continue };
        let (Some(variable), Some(resource)) = (mesh.resource_variable(), mesh.resource()) else { continue };
        let MeshResource { mesh: name, kind, name: target } = resource;
        let meshes = exported_meshes(resources);
        // Other resources of the mesh show that it exists, even if it was not exported itself.
        let is_known = resources.is_partial || resources.all.iter().any(|resource| resource.mesh.may_be(name));
        let (message, help) = if !is_known && !meshes.is_empty() {
            (
                format!("Envoy represents a resource of the mesh {name}, which does not exist"),
                format!("use the mesh {}", meshes.join(" or ")),
            )
        } else if resources.lacks(kind, name, target) {
            let message =
                format!("Envoy represents the {} {target}, which the mesh {name} does not have", kind.as_str());
            (message, format!("use one of {}, or create it", resources.names(kind, name)))
        } else {
            continue;
        };
        findings(subject, Draft::new(variable.value.span(), message, help));
    }
}

/// Templates create only some of the meshes that exist.
fn exported_meshes(resources: &Resources) -> Vec<&str> {
    let meshes = resources.of(ResourceKind::Mesh).filter(|mesh| mesh.presence == Presence::Exported);
    meshes.filter_map(|mesh| mesh.name.whole()).collect()
}
