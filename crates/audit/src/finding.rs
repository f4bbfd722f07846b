//! What a rule finds: where, what happens because of it, and how to mend it.

use std::sync::Arc;

use serde::Serialize;

use super::{
    definition::{Container, List, TaskDefinition},
    document::{Place, Route, Span},
    rule::Rule,
    source::SourceFile,
};

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing.
    Info,
    /// It works now, and will not always.
    Warning,
    /// It does not work.
    Error,
}

impl Severity {
    /// As reports write it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

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
    /// Whether another finding, of the same file before or after an edit, is this one.
    #[must_use]
    pub fn is_same_as(&self, other: &Self) -> bool {
        (self.rule.id, &self.subject, &self.container, &self.message)
            == (other.rule.id, &other.subject, &other.container, &other.message)
    }
}

/// Another part of the file that matters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// Where.
    pub span: Span,
    /// Why it matters.
    pub text: String,
}

/// Edits that mend a finding.
#[derive(Debug, Clone)]
pub struct Fix {
    /// The edits, in the order in which to make them.
    pub edits: Vec<Edit>,
}

/// A change at one place of a file.
#[derive(Debug, Clone)]
pub struct Edit {
    /// The way to the value; for a change that adds a key, to where it will be.
    pub route: Route,
    /// What to do there.
    pub change: Change,
}

/// What to do at a place. Values are spelled as ECS's JSON spells them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Make the value this, whether there is one or not.
    Set(serde_json::Value),
    /// Add this to the end of the list.
    Append(serde_json::Value),
    /// Take the value away, and its key.
    Remove,
}

impl Fix {
    /// Sets the value at `place`; nothing where edits do not reach it.
    #[must_use]
    pub fn set(place: &Place, value: impl Into<serde_json::Value>) -> Option<Self> {
        Self::one(place, Change::Set(value.into()))
    }

    /// Adds `value` to the end of `list`, which may be absent.
    #[must_use]
    pub fn append<T>(list: &List<T>, value: impl Into<serde_json::Value>) -> Option<Self> {
        let value = value.into();
        match (list.is_present, list.is_complete) {
            (true, true) => Self::one(&list.place, Change::Append(value)),
            (false, true) => Self::one(&list.place, Change::Set(serde_json::Value::Array(vec![value]))),
            (_, false) => None,
        }
    }

    /// Takes the value at `place` away.
    #[must_use]
    pub fn remove(place: &Place) -> Option<Self> {
        Self::one(place, Change::Remove)
    }

    /// Both, or nothing if one of them is not possible.
    #[must_use]
    pub fn and(mut self, other: Option<Self>) -> Option<Self> {
        self.edits.extend(other?.edits);
        Some(self)
    }

    fn one(place: &Place, change: Change) -> Option<Self> {
        Some(Self { edits: vec![Edit { route: place.route.clone()?, change }] })
    }
}

/// A finding in the making: a rule says what only it knows.
#[derive(Debug)]
pub struct Draft {
    span: Span,
    container: Option<String>,
    message: String,
    help: String,
    notes: Vec<Note>,
    fix: Option<Fix>,
}

impl Draft {
    /// What is wrong at `span`, and what to do about it.
    pub fn new(span: Span, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { span, container: None, message: message.into(), help: help.into(), notes: Vec::new(), fix: None }
    }

    /// The container that it is about.
    #[must_use]
    pub fn of(mut self, container: &Container) -> Self {
        self.container = Some(container.label());
        self
    }

    /// Another part of the file that matters.
    #[must_use]
    pub fn note(mut self, span: Span, text: impl Into<String>) -> Self {
        self.notes.push(Note { span, text: text.into() });
        self
    }

    /// The edits that mend it.
    #[must_use]
    pub fn fix(mut self, fix: Option<Fix>) -> Self {
        self.fix = fix;
        self
    }
}

/// Where a rule puts what it finds.
#[derive(Debug)]
pub struct Findings<'f> {
    rule: &'static Rule,
    file: Arc<SourceFile>,
    subject: String,
    family: String,
    out: &'f mut Vec<Finding>,
}

impl<'f> Findings<'f> {
    /// The findings of `rule` about one task definition.
    pub fn about(rule: &'static Rule, definition: &TaskDefinition, out: &'f mut Vec<Finding>) -> Self {
        let (subject, family) = (definition.label(), definition.name());
        Self { rule, file: definition.file.clone(), subject, family, out }
    }

    /// The findings of `rule` about something called `subject`.
    pub fn within(rule: &'static Rule, file: Arc<SourceFile>, subject: String, out: &'f mut Vec<Finding>) -> Self {
        Self { rule, file, family: subject.clone(), subject, out }
    }

    /// Adds one.
    pub fn add(&mut self, draft: Draft) {
        let Draft { span, container, message, help, notes, fix } = draft;
        self.out.push(Finding {
            rule: self.rule,
            severity: self.rule.severity,
            file: self.file.clone(),
            span,
            subject: self.subject.clone(),
            family: self.family.clone(),
            container,
            message,
            help,
            notes,
            fix,
        });
    }
}
