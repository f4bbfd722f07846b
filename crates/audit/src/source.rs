//! A text that was read, and what to call it.

use super::document::Position;

/// A text that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceFile {
    /// Its path as the user gave it, `<stdin>`, or the ARN of what was described.
    pub name: String,
    /// Its text.
    pub text: String,
}

impl SourceFile {
    /// A text called `name`.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self { name: name.into(), text: text.into() }
    }

    /// Where a byte of it stands.
    #[must_use]
    pub fn position(&self, byte: usize) -> Position {
        Position::of(&self.text, byte)
    }
}
