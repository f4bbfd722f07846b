//! A finding as a rule describes it, without the rule, the file and the task definition.

use super::fix::Fix;
use audit_read::{definition::Container, document::Span};

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
    pub(super) span: Span,
    pub(super) container: Option<String>,
    pub(super) message: String,
    pub(super) help: String,
    pub(super) notes: Vec<Note>,
    pub(super) fix: Option<Fix>,
}

impl Draft {
    /// What is wrong at `span`, and how to correct it.
    pub fn new(span: Span, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { span, container: None, message: message.into(), help: help.into(), notes: Vec::new(), fix: None }
    }

    /// The container that it is about.
    #[must_use]
    pub fn of(mut self, container: &Container) -> Self {
        self.container = Some(container.label());
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
