//! The auditor: whether a task definition will really work in the mesh, what breaks otherwise, and how to mend it.
//!
//! ```text
//!  input/  ─▶  definition/  ─▶  subject/  ─▶  rules/  ─▶  finding  ─▶  report/
//!  files,      every value      which         one file                 text, JSON, SARIF, …
//!  ECS         knows its place  container     for each                 fix/ edits the files
//!                               does what     rule
//! ```
//!
//! It needs neither AWS nor Consul to judge a file. Values that only a deployment can tell are kept as unknown, and a rule
//! that needs one stays silent.

pub mod app_mesh;
pub mod definition;
pub mod document;
pub mod example;
pub mod finding;
pub mod fix;
pub mod ignore;
pub mod inject;
pub mod input;
pub mod report;
pub mod rule;
pub mod rules;
pub mod source;
pub mod subject;
pub mod timeline;

use self::{
    app_mesh::Resources,
    definition::TaskDefinition,
    finding::{Finding, Findings},
    rule::{Applies, Check, Rule},
    rules::rules,
    subject::{Generation, Subject},
};

/// Everything that one run looks at.
#[derive(Debug, Default)]
pub struct Material {
    /// Task definitions.
    pub definitions: Vec<TaskDefinition>,
    /// Exported resources of App Mesh.
    pub resources: Resources,
}

impl Material {
    /// The task definitions that `choice` means: a family, a logical ID or an address; all, without one.
    #[must_use]
    pub fn chosen(&self, choice: Option<&str>) -> Vec<&TaskDefinition> {
        let is_meant = |definition: &&TaskDefinition| choice.is_none_or(|choice| definition.is_meant_by(choice));
        self.definitions.iter().filter(is_meant).collect()
    }
}

/// Asks every rule about everything. Findings come sorted by file and place.
#[must_use]
pub fn audit(material: &Material) -> Vec<Finding> {
    let subjects: Vec<Subject<'_>> = material.definitions.iter().map(Subject::new).collect();
    let mut out = Vec::new();
    for rule in rules() {
        ask(rule, &subjects, &material.resources, &mut out);
    }
    out.sort_by(|a, b| {
        let order = a.file.name.cmp(&b.file.name);
        order.then_with(|| (a.span, a.rule.id).cmp(&(b.span, b.rule.id)))
    });
    out
}

fn ask(rule: &'static Rule, subjects: &[Subject<'_>], resources: &Resources, out: &mut Vec<Finding>) {
    match rule.check {
        Check::Task(check) => {
            for subject in subjects.iter().filter(|subject| applies(rule.applies, subject)) {
                let mut findings = Findings::default();
                check(subject, &mut findings);
                let drafts = findings.into_drafts().into_iter();
                out.extend(drafts.map(|draft| Finding::in_definition(rule, subject.definition, draft)));
            }
        }
        Check::AllTasks(check) => check(subjects, &mut |subject, draft| {
            out.push(Finding::in_definition(rule, subject.definition, draft));
        }),
        Check::TasksAmongResources(check) => check(subjects, resources, &mut |subject, draft| {
            out.push(Finding::in_definition(rule, subject.definition, draft));
        }),
        Check::Resources(check) => check(resources, subjects, &mut |resource, draft| {
            out.push(Finding::in_resource(rule, resource, draft));
        }),
    }
}

fn applies(applies: Applies, subject: &Subject<'_>) -> bool {
    let generation = subject.consul.as_ref().map(|consul| consul.generation);
    match applies {
        Applies::EveryTask => true,
        Applies::Consul => generation.is_some(),
        Applies::ConsulClient => generation == Some(Generation::Client),
        Applies::ConsulDataplane => matches!(generation, Some(Generation::ControlPlane | Generation::Dataplane)),
        Applies::ConsulGateway => subject.consul.as_ref().is_some_and(|consul| consul.is_gateway),
        Applies::AppMesh => subject.app_mesh.is_some(),
        Applies::AppMeshResources | Applies::AllTasks => false,
    }
}
