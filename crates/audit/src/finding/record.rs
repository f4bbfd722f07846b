//! A finding: what a rule says, with the rule, the file and the task definition that it is about.

use std::sync::Arc;

use super::{
    draft::{Draft, Note},
    fix::Fix,
    severity::Severity,
};
use crate::{app_mesh::Resource, definition::TaskDefinition, document::Span, rule::Rule, source::SourceFile};

/// Something that a rule found.
#[derive(Debug, Clone)]
pub struct Finding {
    /// The rule.
    pub rule: &'static Rule,
    /// How bad it is: the rule's severity, unless the configuration says otherwise.
    pub severity: Severity,
    /// The file.
    pub file: Arc<SourceFile>,
    /// The offending part of it.
    pub span: Span,
    /// What the task definition or mesh resource is called.
    pub subject: String,
    /// What an exception for a family goes by: `subject` without what tells definitions of one family apart.
    pub family: String,
    /// The container, if it is about one.
    pub container: Option<String>,
    /// What is wrong, with the values. Never a secret.
    pub message: String,
    /// What to do.
    pub help: String,
    /// Other parts of the file that matter.
    pub notes: Vec<Note>,
    /// The edits that mend it, where that is safe.
    pub fix: Option<Fix>,
}

impl Finding {
    /// A finding of `rule` about a task definition.
    #[must_use]
    pub fn in_definition(rule: &'static Rule, definition: &TaskDefinition, draft: Draft) -> Self {
        Self::new(rule, definition.file.clone(), definition.label(), definition.name(), draft)
    }

    /// A finding of `rule` about a resource of App Mesh.
    #[must_use]
    pub fn in_resource(rule: &'static Rule, resource: &Resource, draft: Draft) -> Self {
        Self::new(rule, resource.file.clone(), resource.label(), resource.label(), draft)
    }

    fn new(rule: &'static Rule, file: Arc<SourceFile>, subject: String, family: String, draft: Draft) -> Self {
        let Draft { span, container, message, help, notes, fix } = draft;
        Self { rule, severity: rule.severity, file, span, subject, family, container, message, help, notes, fix }
    }

    /// Whether another finding, of the same file before or after an edit, is this one.
    #[must_use]
    pub fn is_same_as(&self, other: &Self) -> bool {
        (self.rule.id, &self.subject, &self.container, &self.message)
            == (other.rule.id, &other.subject, &other.container, &other.message)
    }
}
