//! Code actions: the fix of a finding, as `ecs-mesh fix` makes it, and its exception, as `check --add-ignore` writes it; and
//! the command that draws a timeline.

use std::{
    collections::HashSet,
    io::{self, Write},
    path::Path,
};

use audit::{
    finding::Finding,
    fix::repair,
    ignore::{Baseline, Origin},
};
use gen_lsp_types::{
    CodeAction, CodeActionKind, CodeActionParams, CreateFile, CreateFileOptions, Diagnostic, DocumentChange,
    OptionalVersionedTextDocumentIdentifier, Range, TextDocumentEdit, TextDocumentIdentifier, WorkspaceEdit,
};
use tempfile::NamedTempFile;

use super::{
    answers::place,
    project::{Judged, Project},
    text,
};
use crate::{check::with_entries, config::NAME};

/// The findings of a selection that get actions of their own: each is an audit of the file, and a line of the editor's list.
const MOST_FIXES: usize = 20;

/// The reason of an exception until the user writes the real one.
const REASON: &str = "TODO: say why";

impl Project {
    /// What can be done about the findings in a range.
    pub(super) fn actions(&self, path: &Path, params: &CodeActionParams) -> Vec<CodeAction> {
        let wants = |kind: CodeActionKind| {
            let only = params.context.only.as_ref();
            // Editors ask for kinds that contain others, and name the program: `source`, `source.fixAll.ecs-mesh`.
            let is_it = |wanted: &str| {
                let rest = kind.as_str().strip_prefix(wanted.trim_end_matches(".ecs-mesh"));
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
            };
            only.is_none_or(|only| only.iter().any(|wanted| is_it(wanted.as_str())))
        };
        let mut actions: Vec<CodeAction> = Vec::new();
        if wants(CodeActionKind::QuickFix) {
            let in_range = self.findings_in(path).filter(|(_, finding, _)| text::touch(&place(finding), &params.range));
            for (judged, finding, _) in in_range.take(MOST_FIXES) {
                let diagnostics = of_rule(&params.context.diagnostics, finding.rule.id, &place(finding));
                let fix = self.fix(judged, path, |other| other.identity() == finding.identity());
                let title = format!("Fix {}", finding.rule.id);
                actions.extend(fix.map(|edit| action(title, CodeActionKind::QuickFix, edit, &diagnostics, true)));
                let title = format!("Ignore {} here", finding.rule.id);
                let exception = self.exception(judged, path, finding);
                actions
                    .extend(exception.map(|edit| action(title, CodeActionKind::QuickFix, edit, &diagnostics, false)));
            }
        }
        // Only on request: it audits the file once for each finding.
        if params.context.only.is_some() && wants(CodeActionKind::SourceFixAll) {
            let judged = self.findings_in(path).next().map(|(judged, ..)| judged);
            let wanted: HashSet<_> = self.findings_in(path).map(|(_, finding, _)| finding.identity()).collect();
            let edit = judged.and_then(|judged| self.fix(judged, path, |other| wanted.contains(&other.identity())));
            let title = "Fix all findings of ecs-mesh".to_owned();
            actions.extend(edit.map(|edit| action(title, CodeActionKind::SourceFixAll, edit, &[], false)));
        }
        // A module that others call is judged with each of them.
        let mut distinct: Vec<CodeAction> = Vec::new();
        for action in actions {
            if !distinct.contains(&action) {
                distinct.push(action);
            }
        }
        distinct
    }

    /// The edit that fixes the wanted findings of a file. `None` if there is no fix for them.
    fn fix(&self, judged: &Judged, path: &Path, is_wanted: impl Fn(&Finding) -> bool) -> Option<WorkspaceEdit> {
        let of_file = self.findings_in(path).map(|(_, finding, _)| finding);
        let with_fix = of_file.filter(|finding| finding.fix.is_some() && is_wanted(finding));
        let file = with_fix.map(|finding| &finding.file).next()?;
        if judged.gathered.material.is_synthesised(&file.name) {
            return None;
        }
        let repaired = repair(file.clone(), &self.tree, is_wanted);
        (!repaired.fixed.is_empty()).then(|| self.edit_of(path, &repaired.before.text, &repaired.after.text, false))?
    }

    /// The edit that writes an exception for a finding: a comment, or an entry of the configuration file.
    fn exception(&self, judged: &Judged, path: &Path, finding: &Finding) -> Option<WorkspaceEdit> {
        let directory = path.parent()?;
        let configuration = self.configuration(directory);
        let is_new = configuration.is_none();
        let configuration = configuration.or_else(|| Some(self.folder_of(path)?.join(NAME)))?;
        let is_generated = judged.gathered.material.is_synthesised(&finding.file.name);
        let origin = |_: &_| if is_generated { Origin::Generated } else { Origin::Edited };
        let baseline = Baseline::new(&[finding], REASON, directory, configuration.parent()?, &origin);
        if let Some(file) = baseline.files.first() {
            return self.edit_of(path, &file.before.text, &file.after, false);
        }
        let before = &self.source(&configuration).text;
        self.edit_of(&configuration, before, &with_entries(before, &baseline.entries_as_toml(REASON)), is_new)
    }

    /// The edit of a file from one text to the other.
    fn edit_of(&self, path: &Path, before: &str, after: &str, is_new: bool) -> Option<WorkspaceEdit> {
        let uri = self.uri(path)?;
        let version = self.documents.get(path).map(|document| document.version);
        let options = CreateFileOptions { overwrite: None, ignore_if_exists: Some(true) };
        let create = CreateFile { uri: uri.clone(), options: Some(options), annotation_id: None };
        let edits = text::edits(before, after).into_iter().map(Into::into).collect();
        let text_document = OptionalVersionedTextDocumentIdentifier {
            version,
            text_document_identifier: TextDocumentIdentifier { uri },
        };
        let mut changes: Vec<DocumentChange> = Vec::new();
        changes.extend(is_new.then(|| create.into()));
        changes.push(TextDocumentEdit { text_document, edits }.into());
        Some(WorkspaceEdit { document_changes: Some(changes), ..WorkspaceEdit::default() })
    }

    /// The drawing of the task definition at a line of a file: the last one that begins up to there, else the first one.
    pub(super) fn timeline(&self, path: &Path, line: usize) -> Option<String> {
        let has_it = |judged: &&Judged| {
            let mut definitions = judged.gathered.material.definitions.iter();
            definitions.any(|definition| Path::new(&definition.file.name) == path)
        };
        let mut definitions = self.judged.values().find(has_it)?.report().definitions;
        definitions.retain(|definition| Path::new(&definition.file) == path);
        definitions.sort_by_key(|definition| definition.position);
        let above = definitions.iter().rev().find(|definition| definition.position.line <= line + 1);
        above.or(definitions.first()).map(|definition| definition.timeline.svg())
    }
}

/// Writes a drawing to a file that is deleted with the value.
pub(super) fn drawn(svg: &str) -> io::Result<NamedTempFile> {
    let mut file = tempfile::Builder::new().prefix("ecs-mesh-").suffix(".svg").tempfile()?;
    file.write_all(svg.as_bytes())?;
    Ok(file)
}

fn action(
    title: String,
    kind: CodeActionKind,
    edit: WorkspaceEdit,
    diagnostics: &[Diagnostic],
    is_fix: bool,
) -> CodeAction {
    CodeAction {
        title,
        kind: Some(kind),
        diagnostics: Some(diagnostics.to_vec()),
        is_preferred: Some(is_fix),
        edit: Some(edit),
        ..CodeAction::default()
    }
}

/// The diagnostics of a rule at a place.
fn of_rule(diagnostics: &[Diagnostic], rule: &str, range: &Range) -> Vec<Diagnostic> {
    let code = Some(rule.to_owned().into());
    diagnostics.iter().filter(|diagnostic| diagnostic.code == code && diagnostic.range == *range).cloned().collect()
}
