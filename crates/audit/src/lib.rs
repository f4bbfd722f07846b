//! The auditor: checks whether a task definition will work in the mesh, what fails otherwise, and how to fix it.
//!
//! ```text
//!  audit_read   ─▶  subject/  ─▶  rules/  ─▶  finding  ─▶  report/
//!  definitions,     which         one file                 text, JSON, SARIF, …
//!  every value      container     for each                 fix/ edits the files
//!  with its place   does what     subject                  ignore/ exceptions
//! ```
//!
//! It checks a file without access to AWS or Consul: what a running mesh has is a value too ([`live_mesh`]). A value that is
//! known only at deployment is unknown, and a rule that needs an unknown value reports nothing.

mod deployment;
pub mod draft;
#[cfg(test)]
mod example;
pub mod finding;
pub mod fix;
pub mod ignore;
pub mod inject;
pub mod live_mesh;
pub mod page;
pub mod report;
pub mod rule;
pub mod rules;
pub mod severity;
pub mod subject;
pub mod timeline;
pub mod versions;

pub use audit_read::spelling;
use audit_read::{Material, app_mesh::Resources, parallel::on_all_processors};

pub use self::deployment::Deployment;
use self::{
    draft::Findings,
    finding::Finding,
    live_mesh::LiveMesh,
    rule::{Applies, Rule, RuleFunction},
    rules::{references::references_of_files, rules},
    subject::{Generation, Subject},
};

/// Checks everything with every rule. Findings are sorted by file and position.
pub fn audit(material: &Material) -> Vec<Finding> {
    audit_in(material, None)
}

/// Like [`audit`], next to what a running mesh has. Without one, it is the same.
pub fn audit_with_mesh<'m>(material: &'m Material, mesh: Option<&'m LiveMesh>) -> Vec<Finding> {
    judge(material, &|subject| subject.beside_mesh(mesh))
}

/// Like [`audit`], with the deployment of the controller that the definitions belong to, if it is known.
pub fn audit_in<'m>(material: &'m Material, deployment: Option<&'m Deployment>) -> Vec<Finding> {
    judge(material, &|subject| subject.in_deployment(deployment))
}

fn judge<'m>(material: &'m Material, place: &(impl Fn(Subject<'m>) -> Subject<'m> + Sync)) -> Vec<Finding> {
    let subject = |definition| place(Subject::new(definition));
    let parts = on_all_processors(&material.definitions, |part| part.iter().map(subject).collect::<Vec<_>>());
    let mut subjects: Vec<Subject<'_>> = parts.into_iter().flatten().collect();
    let has_mesh_gateway = subjects.iter().any(Subject::is_mesh_gateway);
    let has_controller = subjects.iter().any(|subject| subject.controller.is_some());
    for subject in &mut subjects {
        (subject.is_beside_mesh_gateway, subject.is_beside_controller) = (has_mesh_gateway, has_controller);
    }
    let mut out: Vec<Finding> = on_all_processors(&subjects, check_each).into_iter().flatten().collect();
    for rule in rules() {
        check_all(rule, &subjects, &material.resources, &mut out);
    }
    out.extend(references_of_files(material));
    out.sort_by(|a, b| {
        let order = a.file.name.cmp(&b.file.name);
        order.then_with(|| (a.span, a.rule.id).cmp(&(b.span, b.rule.id)))
    });
    out
}

/// Applies the rules that look at one task at a time: all to one task before the next, so that its values stay in the
/// processor's cache.
fn check_each(subjects: &[Subject<'_>]) -> Vec<Finding> {
    let mut out = Vec::new();
    for subject in subjects {
        for rule in rules().filter(|rule| applies(rule.applies, subject)) {
            let mut findings = Findings::default();
            match rule.check {
                RuleFunction::OncePerTask(check) => findings.extend(check(subject)),
                RuleFunction::Task(check) => check(subject, &mut findings),
                RuleFunction::Tasks(_) | RuleFunction::OncePerResource(..) | RuleFunction::Resources(_) => {}
            }
            let drafts = findings.into_drafts().into_iter();
            out.extend(drafts.map(|draft| Finding::in_definition(rule, subject.definition, draft)));
        }
    }
    out
}

/// Applies a rule that looks at all tasks together, or at resources.
fn check_all(rule: &'static Rule, subjects: &[Subject<'_>], resources: &Resources, out: &mut Vec<Finding>) {
    match rule.check {
        RuleFunction::OncePerTask(_) | RuleFunction::Task(_) => {}
        RuleFunction::Tasks(check) => check(subjects, resources, &mut |subject, draft| {
            out.push(Finding::in_definition(rule, subject.definition, draft));
        }),
        RuleFunction::OncePerResource(kinds, check) => {
            for resource in kinds.iter().flat_map(|kind| resources.of(*kind)) {
                out.extend(check(resources, resource).map(|draft| Finding::in_resource(rule, resource, draft)));
            }
        }
        RuleFunction::Resources(check) => check(resources, subjects, &mut |resource, draft| {
            out.push(Finding::in_resource(rule, resource, draft));
        }),
    }
}

fn applies(applies: Applies, subject: &Subject<'_>) -> bool {
    let generation = subject.consul.as_ref().map(|consul| consul.generation);
    let has_dataplane = matches!(generation, Some(Generation::ControlPlane | Generation::Dataplane));
    let is_controller = subject.controller.is_some();
    match applies {
        Applies::EveryTask => true,
        Applies::Consul => generation.is_some(),
        Applies::ConsulWithMesh => generation.is_some() && subject.mesh.is_some(),
        Applies::ConsulAndController => generation.is_some() || is_controller,
        Applies::ConsulDataplaneAndController => has_dataplane || is_controller,
        Applies::Controller => is_controller,
        Applies::ConsulClient => generation == Some(Generation::Client),
        Applies::ConsulDataplane => has_dataplane,
        Applies::ConsulGateway => subject.consul.as_ref().is_some_and(|consul| consul.is_gateway),
        Applies::AppMesh => subject.app_mesh.is_some(),
        Applies::AppMeshResources | Applies::AllTasks => false,
    }
}
