//! Findings of rules: where, what they cause, and how to fix them.

use std::{str::FromStr, sync::Arc};

use serde::{
    Deserialize, Serialize,
    de::{IntoDeserializer, value},
};
use serde_json::Value;

use crate::rule::Rule;
use audit_read::{
    app_mesh::Resource,
    definition::{Container, List, ModuleCall, TaskDefinition},
};
use document::{
    Place, SourceFile, Span,
    edit::{Change, Edit},
};

/// The severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Useful to know.
    Info,
    /// It works, but may fail later.
    Warning,
    /// It does not work.
    Error,
}

impl Severity {
    /// Its name in reports.
    pub fn as_str(self) -> &'static str {
        self.pick(["error", "warning", "info"])
    }

    /// What stands for it: for an error, a warning and an info.
    pub fn pick<T>(self, [error, warning, info]: [T; 3]) -> T {
        match self {
            Self::Info => info,
            Self::Warning => warning,
            Self::Error => error,
        }
    }
}

/// The lowest severity that fails a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Threshold {
    #[default]
    Error,
    Warning,
    Info,
    /// No finding fails the run.
    Never,
}

impl Threshold {
    pub const NAMES: [&'static str; 4] = ["error", "warning", "info", "never"];

    /// Its name in the configuration file.
    pub fn as_str(self) -> &'static str {
        self.severity().map_or("never", Severity::as_str)
    }

    /// Whether findings of `severity` fail the run.
    pub fn includes(self, severity: Severity) -> bool {
        self.severity().is_some_and(|lowest| severity >= lowest)
    }

    fn severity(self) -> Option<Severity> {
        match self {
            Self::Error => Some(Severity::Error),
            Self::Warning => Some(Severity::Warning),
            Self::Info => Some(Severity::Info),
            Self::Never => None,
        }
    }
}

impl FromStr for Threshold {
    type Err = value::Error;

    fn from_str(name: &str) -> Result<Self, value::Error> {
        Self::deserialize(name.into_deserializer())
    }
}

/// A defect that a rule found.
#[derive(Debug, Clone)]
pub struct Finding {
    pub rule: &'static Rule,
    /// Its severity: the rule's, unless the case is milder or the configuration file sets another one.
    pub severity: Severity,
    pub file: Arc<SourceFile>,
    /// The file of the definition or resource: a service or role of a definition may be in another one.
    pub home: Arc<SourceFile>,
    /// The call of the Terraform module that declares the definition.
    pub call: Option<Arc<ModuleCall>>,
    /// The block of a plan that the definition is an instance of.
    pub block: Option<String>,
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
        draft.help = definition.dialect.spell_arguments(draft.help);
        let finding = Self::new(rule, definition.file.clone(), definition.label(), definition.name(), draft);
        Self { call: definition.call.clone(), block: definition.block.clone(), ..finding }
    }

    /// A finding of `rule` about a resource of App Mesh.
    pub fn in_resource(rule: &'static Rule, resource: &Resource, draft: Draft) -> Self {
        Self::new(rule, resource.file.clone(), resource.subject(), resource.label(), draft)
    }

    fn new(rule: &'static Rule, home: Arc<SourceFile>, subject: String, family: String, draft: Draft) -> Self {
        let Draft { span, container, severity, message, help, notes, fix, file } = draft;
        let file = file.unwrap_or_else(|| home.clone());
        Self {
            rule,
            severity: severity.unwrap_or(rule.severity),
            file,
            home,
            call: None,
            block: None,
            span,
            subject,
            family,
            container,
            message,
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

/// Another relevant part of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// Its bytes.
    pub span: Span,
    /// Why it is relevant.
    pub text: String,
}

/// A finding as a rule describes it: what depends on the rule only.
#[derive(Debug)]
pub struct Draft {
    span: Span,
    container: Option<String>,
    severity: Option<Severity>,
    message: String,
    help: String,
    notes: Vec<Note>,
    fix: Option<Fix>,
    file: Option<Arc<SourceFile>>,
}

impl Draft {
    /// What is wrong at `span`, and how to correct it.
    pub fn new(span: Span, message: impl Into<String>, help: impl Into<String>) -> Self {
        let (message, help) = (message.into(), help.into());
        Self { span, container: None, severity: None, message, help, notes: Vec::new(), fix: None, file: None }
    }

    /// The container that it is about.
    #[must_use]
    pub fn of(mut self, container: &Container) -> Self {
        self.container = Some(container.label());
        self
    }

    /// The file that `span` is in, if the definition is in another one, as with a service.
    #[must_use]
    pub fn in_file(mut self, file: &Arc<SourceFile>) -> Self {
        self.file = Some(file.clone());
        self
    }

    /// How severe this case is, if not like the others of its rule.
    #[must_use]
    pub fn severity(mut self, severity: Severity) -> Self {
        self.severity = Some(severity);
        self
    }

    /// Adds another relevant part of the file.
    #[must_use]
    pub fn note(mut self, span: Span, text: impl Into<String>) -> Self {
        self.add_note(span, text);
        self
    }

    /// Adds another relevant part of the file.
    pub fn add_note(&mut self, span: Span, text: impl Into<String>) {
        self.notes.push(Note { span, text: text.into() });
    }

    /// Adds another relevant part of the file, unless the finding is there.
    pub fn add_note_elsewhere(&mut self, span: Span, text: impl Into<String>) {
        if span != self.span {
            self.add_note(span, text);
        }
    }

    /// The edits that fix it.
    #[must_use]
    pub fn fix(mut self, fix: Option<Fix>) -> Self {
        self.fix = fix;
        self
    }
}

/// The drafts of one rule about one task definition.
#[derive(Debug, Default)]
pub struct Findings {
    drafts: Vec<Draft>,
}

impl Findings {
    pub fn add(&mut self, draft: Draft) {
        self.drafts.push(draft);
    }

    /// Adds drafts, or one that may be missing.
    pub fn extend(&mut self, drafts: impl IntoIterator<Item = Draft>) {
        self.drafts.extend(drafts);
    }

    /// All drafts, in the order in which they were added.
    pub fn into_drafts(self) -> Vec<Draft> {
        self.drafts
    }
}

/// The edits that fix a finding.
#[derive(Debug, Clone)]
pub struct Fix {
    /// The edits, in the order in which they must be made. New values are spelled as in ECS's JSON.
    pub edits: Vec<Edit>,
    /// What else must change, outside of the definition.
    pub elsewhere: Option<&'static str>,
}

/// What must change with the network mode: <https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-networking-awsvpc.html>
pub const NEEDS_SUBNETS: &str = "with awsvpc, ECS services and RunTask need a networkConfiguration with subnets";

impl Fix {
    /// Sets the value at `place`; `None` if edits do not reach it.
    pub fn set(place: &Place, value: impl Into<Value>) -> Option<Self> {
        Self::one(place, Change::Set(value.into()))
    }

    /// Adds `value` to the end of `list`, which may be absent.
    pub fn append<T>(list: &List<T>, value: impl Into<Value>) -> Option<Self> {
        let value = value.into();
        match (list.is_present, list.is_complete) {
            (true, true) => Self::one(&list.place, Change::Append(value)),
            (false, true) => Self::one(&list.place, Change::Set(Value::Array(vec![value]))),
            (_, false) => None,
        }
    }

    /// Removes the value at `place`.
    pub fn remove(place: &Place) -> Option<Self> {
        Self::one(place, Change::Remove)
    }

    /// The edits of both fixes; `None` if there is no other fix.
    pub fn and(mut self, other: Option<Self>) -> Option<Self> {
        self.edits.extend(other?.edits);
        Some(self)
    }

    /// Says what else must change, outside of the definition.
    #[must_use]
    pub fn needing(self, elsewhere: &'static str) -> Self {
        Self { elsewhere: Some(elsewhere), ..self }
    }

    fn one(place: &Place, change: Change) -> Option<Self> {
        Some(Self { edits: vec![Edit { route: place.route.clone()?, change }], elsewhere: None })
    }
}
