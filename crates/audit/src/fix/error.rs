//! Why an edit cannot be made.

use crate::document::{ParseError, Step};

/// An edit that cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// The text is not what the edit was made for.
    #[error("the text cannot be read: {0}")]
    Unreadable(#[from] ParseError),
    /// The way does not lead anywhere.
    #[error("there is no {0} in it")]
    NoSuchPlace(String),
    /// The notation at the place does not allow it without touching more.
    #[error("the notation there does not allow it: {0}")]
    Notation(String),
    /// The edited text would differ in more than the edit.
    #[error("the edit would change something else as well")]
    NotMinimal,
}

impl EditError {
    /// There is nothing at the end of `steps`.
    pub(super) fn no_such_place(steps: &[Step]) -> Self {
        Self::NoSuchPlace(shown(steps))
    }
}

/// The way as people write it.
pub(super) fn shown(steps: &[Step]) -> String {
    let parts = steps.iter().enumerate().map(|(index, step)| match step {
        Step::Key(key) if index == 0 => key.clone(),
        Step::Key(key) => format!(".{key}"),
        Step::Index(index) => format!("[{index}]"),
        Step::Embedded => " → ".to_owned(),
    });
    let path: String = parts.collect();
    if path.is_empty() { "value".to_owned() } else { path }
}
