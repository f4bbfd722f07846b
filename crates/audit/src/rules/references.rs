//! References of definitions, services, roles and resources of App Mesh to what the input does not declare.

use super::prelude::*;
use crate::{finding::Finding, rule::ResourceFindings, spelling::nearest, subject::is_in_secret};
use audit_read::{
    Material,
    app_mesh::{ResourceKind, Resources},
    definition::Undeclared,
};

pub(super) static ECS_UNDECLARED_REFERENCE: Rule =
    Rule::of_task(page!("ecs-undeclared-reference"), Applies::EveryTask, check_reference);

fn check_reference(subject: &Subject<'_>, findings: &mut Findings) {
    findings.extend(subject.definition.undeclared.iter().map(draft));
}

/// The findings about references of no definition and no resource: each is about its file.
pub(crate) fn references_of_files(material: &Material) -> impl Iterator<Item = Finding> {
    let finding =
        |reference: &Undeclared| Finding::in_file(&ECS_UNDECLARED_REFERENCE, &reference.file, draft(reference));
    material.undeclared.iter().map(finding)
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
    let help = match nearest(&reference.name, reference.names.iter().map(String::as_str)) {
        Some(meant) => format!("did you mean {meant}?"),
        None => reference.help.clone(),
    };
    // A name in the place of a password may be the password, without the quotes.
    let message = if is_in_secret(&reference.file, reference.span) {
        "the value of a secret refers to something that is not declared".to_owned()
    } else {
        reference.reason.clone()
    };
    Draft::new(reference.span, message, help).in_file(&reference.file)
}
