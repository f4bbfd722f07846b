//! References of definitions, services, roles and resources of App Mesh to what the input does not declare.

use super::prelude::*;
use crate::{rule::ResourceFindings, spelling::nearest};
use audit_read::{
    app_mesh::{ResourceKind, Resources},
    definition::Undeclared,
};

pub(super) static ECS_UNDECLARED_REFERENCE: Rule =
    Rule::of_task(page!("ecs-undeclared-reference"), Applies::EveryTask, check_reference);

fn check_reference(subject: &Subject<'_>, findings: &mut Findings) {
    findings.extend(subject.definition.undeclared.iter().map(draft));
}

pub(super) static APPMESH_UNDECLARED_REFERENCE: Rule =
    Rule::of_resources(page!("appmesh-undeclared-reference", in APP_MESH), check_resources);

fn check_resources(resources: &Resources, _: &[Subject<'_>], findings: &mut ResourceFindings<'_>) {
    for resource in ResourceKind::ALL.iter().flat_map(|kind| resources.of(*kind)) {
        for reference in &resource.undeclared {
            findings(resource, draft(reference));
        }
    }
}

fn draft(reference: &Undeclared) -> Draft {
    let name = reference.reason.rsplit(' ').next().unwrap_or_default();
    let help = match nearest(name, reference.names.iter().map(String::as_str)) {
        Some(meant) => format!("did you mean {meant}?"),
        None => reference.help.clone(),
    };
    Draft::new(reference.span, reference.reason.clone(), help).in_file(&reference.file)
}
