//! Makes a report of the findings of an audit.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    excerpt::Excerpt,
    fingerprint::{self, Paths},
    merge::{first_of_each, merged},
    model::{Definition, FindingCounts, Report, Reported, ReportedCall, ReportedNote},
    secrets::Secrets,
};
use crate::{
    finding::Finding,
    ignore::{Exception, Sorted},
    severity::{Severity, Threshold},
    subject::{Generation, Subject, is_in_secret},
    timeline::Timeline,
};
use audit_read::{
    Material,
    definition::{Container, ModuleCall, TaskDefinition},
    input::Gathered,
    parallel::on_all_processors,
};
use document::{InputProblem, Span};

impl Report {
    /// The report of an audit of `gathered`.
    pub fn new(gathered: &Gathered, sorted: &Sorted, threshold: Threshold) -> Self {
        let Gathered { material, problems, unchecked, files_read, .. } = gathered;
        let files = Files::of(material, |_| true);
        let findings = files.merged(sorted.findings.iter().map(|finding| (finding, None)));
        let ignored = files.merged(sorted.ignored.iter().map(|ignored| (&ignored.finding, Some(&ignored.exception))));
        let mut findings = with_paths(findings, |first| sorted.findings.get(first));
        let mut ignored = with_paths(ignored, |first| sorted.ignored.get(first).map(|ignored| &ignored.finding));
        fingerprint::number(findings.iter_mut().chain(&mut ignored));
        let definitions = each(&material.definitions, |definition| describe(definition, &files));
        let problems: Vec<InputProblem> = problems.iter().chain(&sorted.problems).map(clean_problem).collect();
        let count = |severity| findings.iter().filter(|finding| finding.severity == severity).count();
        let found: BTreeSet<(&str, &str)> = findings.iter().flat_map(Reported::groups).collect();
        let has_findings = |definition: &&Definition| found.contains(&definition.group());
        let counts = FindingCounts {
            errors: count(Severity::Error),
            warnings: count(Severity::Warning),
            infos: count(Severity::Info),
            ignored: ignored.len(),
            definitions: definitions.len(),
            definitions_with_findings: definitions.iter().filter(has_findings).count(),
            resources: material.resources.all().len(),
            files: *files_read,
            problems: problems.len(),
        };
        Self {
            version: env!("CARGO_PKG_VERSION"),
            threshold,
            has_summary: true,
            findings,
            ignored,
            problems,
            unchecked: unchecked.iter().map(clean_problem).collect(),
            definitions,
            counts,
        }
    }

    /// Adds a problem with the input as a whole.
    pub fn add_problem(&mut self, problem: &InputProblem) {
        self.problems.push(clean_problem(problem));
        self.counts.problems = self.problems.len();
    }
}

/// The findings as reports show them, in their order, without what fingerprints are made of; each with the index of the
/// first finding that it stands for.
pub fn reported(material: &Material, findings: &[Finding]) -> Vec<(usize, Reported)> {
    let with_findings: BTreeSet<&str> = findings.iter().map(|finding| finding.file.name.as_str()).collect();
    let files = Files::of(material, |name| with_findings.contains(name));
    files.merged(findings.iter().map(|finding| (finding, None)))
}

/// Reports items with all processors, in their order.
fn each<T: Sync, R: Send>(items: &[T], report: impl Fn(&T) -> R + Sync) -> Vec<R> {
    on_all_processors(items, |part| part.iter().map(&report).collect::<Vec<R>>()).into_iter().flatten().collect()
}

/// The findings with their paths. `first` is the finding with an index.
fn with_paths<'f>(found: Vec<(usize, Reported)>, first: impl Fn(usize) -> Option<&'f Finding>) -> Vec<Reported> {
    let firsts: Vec<Option<&Finding>> = found.iter().map(|(index, _)| first(*index)).collect();
    let paths = on_all_processors(&firsts, |part| {
        let mut paths = Paths::default();
        let path = |finding: Option<&Finding>| finding.map(|finding| paths.path(&finding.file, finding.span));
        part.iter().copied().map(path).collect::<Vec<_>>()
    });
    let found = found.into_iter().zip(paths.into_iter().flatten());
    found.map(|((_, finding), path)| Reported { path: path.unwrap_or_default(), ..finding }).collect()
}

/// The secrets of each file, by name.
struct Files<'m> {
    secrets: BTreeMap<&'m str, Secrets>,
}

impl<'m> Files<'m> {
    /// The files whose names are wanted.
    fn of(material: &'m Material, is_wanted: impl Fn(&str) -> bool) -> Self {
        let mut secrets: BTreeMap<&str, Secrets> = BTreeMap::new();
        for file in material.files().filter(|file| is_wanted(&file.name)) {
            secrets.entry(&file.name).or_insert_with(|| Secrets::of(file));
        }
        for definition in material.definitions.iter().filter(|definition| is_wanted(&definition.file.name)) {
            secrets.entry(&definition.file.name).or_default().learn(definition);
        }
        let services = material.definitions.iter().flat_map(|definition| &definition.services);
        for service in services.filter(|service| is_wanted(&service.file.name)) {
            secrets.entry(&service.file.name).or_default().learn_service(service);
        }
        for resource in material.resources.all().iter().filter(|resource| is_wanted(&resource.file.name)) {
            secrets.entry(&resource.file.name).or_default().learn_resource(resource);
        }
        for reference in material.all_undeclared().filter(|reference| is_wanted(&reference.file.name)) {
            if is_in_secret(&reference.file, reference.span) {
                secrets.entry(&reference.file.name).or_default().hide(reference.span);
            }
        }
        secrets.values_mut().for_each(Secrets::settle);
        Self { secrets }
    }

    /// One finding for each mistake.
    fn merged<'f>(&self, found: impl Iterator<Item = (&'f Finding, Option<&'f Exception>)>) -> Vec<(usize, Reported)> {
        let found: Vec<_> = found.collect();
        let reported = each(&found, |(finding, exception)| self.report(finding, *exception));
        merged(reported, first_of_each(found.into_iter()))
    }

    fn report(&self, finding: &Finding, exception: Option<&Exception>) -> Reported {
        let none = Secrets::default();
        let secrets = self.secrets.get(finding.file.name.as_str()).unwrap_or(&none);
        let call = finding.call.as_ref().map(|call| reported_call(call, secrets));
        let file = &finding.file;
        let shown = |text: &str| clean(&secrets.out_of(text));
        let spans: Vec<Span> = finding.notes.iter().map(|note| note.span).collect();
        let notes = finding.notes.iter().map(|note| ReportedNote {
            text: shown(&note.text),
            start: file.position(note.span.start),
            end: file.position(note.span.end),
        });
        let message = shown(&finding.message);
        let (start, end) = (file.position(finding.span.start), file.position(finding.span.end));
        Reported {
            rule: finding.rule,
            effect: shown(&finding.effect),
            severity: finding.severity,
            file: clean(&finding.file.name),
            home: clean(&finding.home.name),
            start,
            end,
            subject: clean(&finding.subject),
            container: finding.container.as_deref().map(clean),
            other_containers: Vec::new(),
            also_in: BTreeSet::new(),
            calls: call.into_iter().collect(),
            help: shown(&finding.help),
            notes: notes.collect(),
            is_fixable: finding.fix.is_some(),
            path: String::new(),
            nth: 0,
            fingerprint: String::new(),
            ignored: exception.map(|Exception { by, reason }| Exception { by: *by, reason: clean(reason) }),
            excerpt: Excerpt::of(file, secrets, finding.span, &spans),
            message,
        }
    }
}

fn reported_call(ModuleCall { module, file, span }: &ModuleCall, secrets: &Secrets) -> ReportedCall {
    let module = clean(&secrets.out_of(module));
    ReportedCall { module, file: clean(&file.name), start: file.position(span.start) }
}

fn describe(definition: &TaskDefinition, files: &Files<'_>) -> Definition {
    let start = definition.span().start;
    let mut timeline = Timeline::of(definition);
    let none = Secrets::default();
    let secrets = files.secrets.get(definition.file.name.as_str()).unwrap_or(&none);
    timeline.reword(|text| clean(&secrets.out_of(text)));
    Definition {
        label: clean(&definition.label()),
        file: clean(&definition.file.name),
        address: clean(&definition.address),
        construct: definition.construct.as_deref().map(clean),
        position: definition.file.position(start),
        mesh: mesh(definition),
        containers: definition.containers.items.iter().map(Container::label).map(|label| clean(&label)).collect(),
        timeline,
    }
}

/// The mesh of a definition, as users read it.
fn mesh(definition: &TaskDefinition) -> String {
    let subject = Subject::new(definition);
    match (&subject.consul, &subject.app_mesh) {
        (Some(consul), _) => {
            let what = if consul.is_gateway { "Consul gateway" } else { "Consul" };
            match consul.generation {
                Generation::Client => format!("{what}, client generation"),
                Generation::Dataplane => format!("{what}, dataplane generation"),
                one @ Generation::ControlPlane => format!("{what}, dataplane generation ({})", one.releases()),
            }
        }
        (None, Some(mesh)) if mesh.is_gateway => "App Mesh virtual gateway".to_owned(),
        (None, Some(_)) => "App Mesh".to_owned(),
        (None, None) => "in no mesh".to_owned(),
    }
}

fn clean_problem(problem: &InputProblem) -> InputProblem {
    InputProblem { file: clean(&problem.file), position: problem.position, reason: clean(&problem.reason) }
}

/// Removes control characters, and those that change the direction of text: they could manipulate a terminal.
pub fn clean(text: &str) -> String {
    let steers = |c: char| c.is_control() || matches!(c, '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}');
    if !text.contains(steers) {
        return text.to_owned();
    }
    text.chars()
        .map(|c| match c {
            '\n' | '\t' => ' ',
            c if steers(c) => '\u{FFFD}',
            c => c,
        })
        .collect()
}
