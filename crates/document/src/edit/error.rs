//! An edit that cannot be made.

use crate::{error::ParseError, place::PathStep};

/// An edit that cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// The text cannot be read.
    #[error("the text cannot be read: {0}")]
    Unreadable(#[from] ParseError),
    /// The route leads to no value.
    #[error("{0} does not exist in the file")]
    NoSuchPlace(String),
    /// The notation does not allow the edit without other changes.
    #[error("the notation of the file does not allow the edit: {0}")]
    Notation(String),
    /// The edited text would differ in more than the edit.
    #[error("the edit would also change another part of the file")]
    NotMinimal,
}

impl EditError {
    pub(super) fn no_such_place(steps: &[PathStep]) -> Self {
        Self::NoSuchPlace(shown(steps))
    }

    pub(super) fn form_changed(steps: &[PathStep]) -> Self {
        Self::Notation(format!("{} cannot be edited without changing the form of this part of the YAML", shown(steps)))
    }

    pub(super) fn comments_lost(steps: &[PathStep]) -> Self {
        Self::Notation(format!("the comments in {} would be lost", shown(steps)))
    }
}

/// The steps as a path: `containerDefinitions[0].name`.
fn shown(steps: &[PathStep]) -> String {
    let parts = steps.iter().enumerate().map(|(index, step)| match step {
        PathStep::Key(key) if index == 0 => key.clone(),
        PathStep::Key(key) => format!(".{key}"),
        PathStep::Index(index) => format!("[{index}]"),
        PathStep::Embedded => " → ".to_owned(),
        PathStep::Document(index) => format!("document {}: ", index + 1),
    });
    let path: String = parts.collect();
    if path.is_empty() { "value".to_owned() } else { path }
}
