//! Diagnostics and hover: findings and pages of rules as editors show them.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use audit::{
    finding::Finding,
    report::{Reported, clean, page},
};
use document::{InputProblem, SourceFile};
use gen_lsp_types::{
    CodeDescription, Diagnostic, DiagnosticRelatedInformation, DiagnosticSeverity, Hover, Location, MarkupContent,
    MarkupKind, Position, Range, Uri,
};

use super::{
    project::{Judged, Project, TOP},
    text,
};

/// The name of the program in lists of diagnostics.
const SOURCE: &str = "ecs-mesh";

impl Project {
    /// The diagnostics of what was judged together, by file.
    pub(super) fn diagnostics(&self, judged: &Judged) -> BTreeMap<PathBuf, Vec<Diagnostic>> {
        let mut by_file: BTreeMap<PathBuf, Vec<Diagnostic>> = BTreeMap::new();
        let problems = judged.problems().map(|problem| (problem, DiagnosticSeverity::Error));
        let unchecked = judged.gathered.unchecked.iter().map(|problem| (problem, DiagnosticSeverity::Information));
        let mut files: BTreeMap<&str, Arc<SourceFile>> = BTreeMap::new();
        for (problem, severity) in problems.chain(unchecked) {
            let path = PathBuf::from(&problem.file);
            let file = files.entry(&problem.file).or_insert_with(|| self.source(&path));
            let diagnostic = of_problem(file, problem, severity);
            by_file.entry(path).or_default().push(diagnostic);
        }
        for (finding, reported) in judged.findings() {
            let diagnostic = self.of_finding(finding, reported);
            by_file.entry(PathBuf::from(&finding.file.name)).or_default().push(diagnostic);
        }
        by_file
    }

    fn of_finding(&self, finding: &Finding, reported: &Reported) -> Diagnostic {
        let uri = self.uri(Path::new(&finding.file.name));
        let notes = finding.notes.iter().zip(&reported.notes).filter_map(|(note, reported)| {
            let range = text::range(&finding.file, note.span.start, note.span.end);
            let location = Location { uri: uri.clone()?, range };
            Some(DiagnosticRelatedInformation { location, message: reported.text.clone() })
        });
        let call = finding.call.as_ref().and_then(|call| {
            let range = text::range(&call.file, call.span.start, call.span.end);
            let location = Location { uri: self.uri(Path::new(&call.file.name))?, range };
            let calls = match reported.calls.as_slice() {
                [only] => only.module.clone(),
                _ => reported.called_as()?,
            };
            Some(DiagnosticRelatedInformation { location, message: format!("called as {calls}") })
        });
        Diagnostic {
            range: place(finding),
            severity: Some(finding.severity.pick(SEVERITIES)),
            code: Some(finding.rule.id.to_owned().into()),
            // A path of this repository leads nowhere.
            code_description: Uri::parse(&page(finding.rule)).ok().map(|href| CodeDescription { href }),
            source: Some(SOURCE.to_owned()),
            message: format!("{}\nFix: {}", reported.message, reported.help).into(),
            related_information: Some(notes.chain(call).collect()),
            ..Diagnostic::default()
        }
    }

    /// The pages of the rules with findings at a position.
    pub(super) fn hover(&self, path: &Path, position: Position) -> Option<Hover> {
        let mut pages: Vec<String> = Vec::new();
        let mut range = None;
        for (_, finding, _) in self.findings_in(path) {
            let place = place(finding);
            if !text::contains(&place, position) {
                continue;
            }
            let page = finding.rule.page.markdown();
            if !pages.contains(&page) {
                range.get_or_insert(place);
                pages.push(page);
            }
        }
        let contents = MarkupContent { kind: MarkupKind::Markdown, value: pages.join("\n---\n\n") };
        range.map(|range| Hover { contents: contents.into(), range: Some(range) })
    }
}

fn of_problem(file: &SourceFile, problem: &InputProblem, severity: DiagnosticSeverity) -> Diagnostic {
    let start = text::position(file, file.byte_at(problem.position.unwrap_or(TOP)));
    Diagnostic {
        // Editors underline the word there.
        range: Range { start, end: start },
        severity: Some(severity),
        source: Some(SOURCE.to_owned()),
        message: clean(&problem.reason).into(),
        ..Diagnostic::default()
    }
}

const SEVERITIES: [DiagnosticSeverity; 3] =
    [DiagnosticSeverity::Error, DiagnosticSeverity::Warning, DiagnosticSeverity::Information];

/// Where a finding is in its file.
pub(super) fn place(finding: &Finding) -> Range {
    text::range(&finding.file, finding.span.start, finding.span.end)
}
