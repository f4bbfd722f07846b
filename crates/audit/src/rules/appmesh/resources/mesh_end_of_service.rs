use std::collections::BTreeSet;

use crate::{
    app_mesh::Resources,
    finding::{Draft, Severity},
    rule::{Applies, Check, ResourceFindings, Rule},
    subject::Subject,
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "appmesh-mesh-end-of-service",
    summary: "no resources of App Mesh, which ended on 2026-09-30, are in use",
    severity: Severity::Error,
    applies: Applies::AppMeshResources,
    is_fixable: false,
    effect: "the resources do not exist any more: no Envoy gets a configuration from them",
    explanation: "\
AWS ended App Mesh on 2026-09-30. Exported resources describe the mesh for a migration: a virtual node becomes a \
service of Consul or of ECS Service Connect, routes become Consul's service routers and splitters, and virtual \
gateways its API gateways. If task definitions of App Mesh are in the same run, `appmesh-end-of-service` reports them \
instead.",
    sources: &["https://aws.amazon.com/blogs/containers/migrating-from-aws-app-mesh-to-amazon-ecs-service-connect/"],
    // Every mesh has ended: there is no correct example.
    example: None,
    check: Check::Resources(check),
};

fn check(resources: &Resources, subjects: &[Subject<'_>], findings: &mut ResourceFindings<'_>) {
    if subjects.iter().any(|subject| subject.app_mesh.is_some()) {
        return;
    }
    let mut meshes = BTreeSet::new();
    for resource in resources.all.iter().filter(|resource| meshes.insert(resource.mesh.whole())) {
        let mesh = resource.mesh.whole().map_or_else(|| "the mesh".to_owned(), |name| format!("the mesh {name}"));
        let message = format!("{mesh} is one of App Mesh, which ended on 2026-09-30");
        let help = "move its services to Consul on ECS (ecs-mesh inject) or to ECS Service Connect";
        findings(resource, Draft::new(resource.span, message, help));
    }
}
