//! What a rule says about one defect, before the rule, the file and the task definition are added.

use super::fix::Fix;
use crate::{definition::Container, document::Span};

/// Another part of the file that matters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// Where.
    pub span: Span,
    /// Why it matters.
    pub text: String,
}

/// A finding in the making: a rule says what only it knows.
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

/// The drafts of one rule about one task definition.
#[derive(Debug, Default)]
pub struct Findings {
    drafts: Vec<Draft>,
}

impl Findings {
    /// Adds one.
    pub fn add(&mut self, draft: Draft) {
        self.drafts.push(draft);
    }

    /// All of them, in the order in which they were added.
    #[must_use]
    pub fn into_drafts(self) -> Vec<Draft> {
        self.drafts
    }
}
