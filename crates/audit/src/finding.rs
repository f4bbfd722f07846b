//! Findings of rules in files.

use std::sync::Arc;

use audit_read::{
    app_mesh::Resource,
    definition::{ModuleCall, TaskDefinition},
};
use document::{SourceFile, Span};

use crate::{
    draft::{Draft, Fix, Note},
    rule::Rule,
    severity::Severity,
};

/// A defect that a rule found.
#[derive(Debug, Clone)]
pub struct Finding {
    pub rule: &'static Rule,
    /// Its severity: the rule's, unless the case is milder or the configuration file sets another one.
    pub severity: Severity,
    pub file: Arc<SourceFile>,
    /// The file of the definition, resource or other subject: a service or role of a definition may be in another one.
    pub home: Arc<SourceFile>,
    /// The call of the Terraform module that declares the definition.
    pub call: Option<Arc<ModuleCall>>,
    /// The block of a plan that the definition is an instance of.
    pub block: Option<String>,
    /// The bytes of the defect.
    pub span: Span,
    /// The name of the task definition or mesh resource; of the file, if it is about neither.
    pub subject: String,
    /// The name that `family` in the configuration file is compared with: `subject` without the address.
    pub family: String,
    /// The container, if it concerns one.
    pub container: Option<String>,
    /// What is wrong, with the values. It contains no secrets.
    pub message: String,
    /// What it causes at run time, in one phrase.
    pub effect: String,
    /// How to correct it.
    pub help: String,
    /// Other relevant parts of the file.
    pub notes: Vec<Note>,
    /// The edits that fix it, if there are safe ones.
    pub fix: Option<Fix>,
}

/// What identifies a finding although the text of its file changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Identity<'f> {
    file: &'f str,
    rule: &'static str,
    subject: &'f str,
    container: Option<&'f str>,
    message: &'f str,
}

impl Finding {
    /// A finding of `rule` about a task definition.
    pub fn in_definition(rule: &'static Rule, definition: &TaskDefinition, mut draft: Draft) -> Self {
        let is_of_module = draft.span == definition.place.span;
        draft.help = match &definition.module {
            Some(module) if is_of_module && draft.corrected_in.is_some() => {
                module.help(&draft.help, draft.corrected_in)
            }
            Some(module) => {
                let help = module.spell_inputs(definition.dialect.spell_arguments(draft.help));
                if is_of_module { module.help(&help, None) } else { help }
            }
            None => definition.dialect.spell_arguments(draft.help),
        };
        let finding = Self::new(rule, definition.file.clone(), definition.label(), definition.name(), draft);
        Self { call: definition.call.clone(), block: definition.block.clone(), ..finding }
    }

    /// A finding of `rule` about a resource of App Mesh.
    pub fn in_resource(rule: &'static Rule, resource: &Resource, draft: Draft) -> Self {
        Self::new(rule, resource.file.clone(), resource.subject(), resource.label(), draft)
    }

    /// A finding of `rule` about a file as a whole, which names the file as its subject. It has no family.
    pub fn in_file(rule: &'static Rule, file: &Arc<SourceFile>, draft: Draft) -> Self {
        Self::new(rule, file.clone(), file.name.clone(), String::new(), draft)
    }

    fn new(rule: &'static Rule, home: Arc<SourceFile>, subject: String, family: String, draft: Draft) -> Self {
        let Draft { span, container, severity, message, effect, help, notes, fix, file, corrected_in: _ } = draft;
        let file = file.unwrap_or_else(|| home.clone());
        Self {
            rule,
            severity: severity.unwrap_or_else(|| rule.texts().severity),
            file,
            home,
            call: None,
            block: None,
            span,
            subject,
            family,
            container,
            message,
            effect: effect.unwrap_or_else(|| rule.texts().effect.to_owned()),
            help,
            notes,
            fix,
        }
    }

    /// What identifies it, before and after an edit.
    pub fn identity(&self) -> Identity<'_> {
        Identity {
            file: &self.file.name,
            rule: self.rule.id,
            subject: &self.subject,
            container: self.container.as_deref(),
            message: &self.message,
        }
    }
}
