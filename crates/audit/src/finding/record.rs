//! A finding: a rule's draft with the rule, the file, and the name of the task definition or resource.

use std::sync::Arc;

use super::{
    draft::{Draft, Note},
    fix::Fix,
    severity::Severity,
};
use crate::rule::Rule;
use audit_read::{app_mesh::Resource, definition::TaskDefinition, document::Span, source::SourceFile};

/// A defect that a rule found.
#[derive(Debug, Clone)]
pub struct Finding {
    pub rule: &'static Rule,
    /// Its severity: the rule's, unless the configuration file sets another one.
    pub severity: Severity,
    pub file: Arc<SourceFile>,
    /// The bytes of the defect.
    pub span: Span,
    /// The name of the task definition or mesh resource.
    pub subject: String,
    /// The name that `family` in the configuration file is compared with: `subject` without the address.
    pub family: String,
    /// The container, if it concerns one.
    pub container: Option<String>,
    /// What is wrong, with the values. It contains no secrets.
    pub message: String,
    /// How to correct it.
    pub help: String,
    /// Other relevant parts of the file.
    pub notes: Vec<Note>,
    /// The edits that fix it, if there are safe ones.
    pub fix: Option<Fix>,
}

/// What identifies a finding in a file whose text changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Identity<'f> {
    rule: &'static str,
    subject: &'f str,
    container: Option<&'f str>,
    message: &'f str,
}

impl Finding {
    /// A finding of `rule` about a task definition.
    pub fn in_definition(rule: &'static Rule, definition: &TaskDefinition, mut draft: Draft) -> Self {
        draft.help = definition.dialect.spell_arguments(draft.help);
        Self::new(rule, definition.file.clone(), definition.label(), definition.name(), draft)
    }

    /// A finding of `rule` about a resource of App Mesh.
    pub fn in_resource(rule: &'static Rule, resource: &Resource, draft: Draft) -> Self {
        Self::new(rule, resource.file.clone(), resource.subject(), resource.label(), draft)
    }

    fn new(rule: &'static Rule, file: Arc<SourceFile>, subject: String, family: String, draft: Draft) -> Self {
        let Draft { span, container, message, help, notes, fix } = draft;
        Self { rule, severity: rule.severity, file, span, subject, family, container, message, help, notes, fix }
    }

    /// What identifies it among the findings of its file, before and after an edit.
    pub fn identity(&self) -> Identity<'_> {
        Identity {
            rule: self.rule.id,
            subject: &self.subject,
            container: self.container.as_deref(),
            message: &self.message,
        }
    }
}
