//! Findings as rules describe them: where, what they cause, and how to fix them.

use std::sync::Arc;

use audit_read::definition::{Container, List};
use document::{
    Place, SourceFile, Span,
    edit::{Change, Edit},
};
use mesh::release::Release;
use serde_json::Value;

use crate::severity::Severity;

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
    pub(crate) span: Span,
    pub(crate) container: Option<String>,
    pub(crate) severity: Option<Severity>,
    pub(crate) message: String,
    pub(crate) effect: Option<String>,
    pub(crate) help: String,
    pub(crate) notes: Vec<Note>,
    pub(crate) fix: Option<Fix>,
    pub(crate) file: Option<Arc<SourceFile>>,
    pub(crate) corrected_in: Option<Release>,
}

impl Draft {
    /// What is wrong at `span`, and how to correct it.
    pub fn new(span: Span, message: impl Into<String>, help: impl Into<String>) -> Self {
        let (message, help) = (message.into(), help.into());
        Self {
            span,
            container: None,
            severity: None,
            message,
            effect: None,
            help,
            notes: Vec::new(),
            fix: None,
            file: None,
            corrected_in: None,
        }
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

    /// The release of consul-ecs whose modules no longer make this defect.
    #[must_use]
    pub fn corrected_in(mut self, release: Option<Release>) -> Self {
        self.corrected_in = release;
        self
    }

    /// How severe this case is, if not like the others of its rule.
    #[must_use]
    pub fn severity(mut self, severity: Severity) -> Self {
        self.severity = Some(severity);
        self
    }

    /// What this case causes at run time, if not what the page of its rule says.
    #[must_use]
    pub fn effect(mut self, effect: impl Into<String>) -> Self {
        self.effect = Some(effect.into());
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

    /// Adds the same mistake in another place, with a note there. It is fixed only if both are.
    pub fn absorb(&mut self, other: Self, note: &str) {
        if other.span != self.span {
            self.add_note(other.span, note);
            self.fix = self.fix.take().and_then(|fix| fix.and(other.fix));
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
