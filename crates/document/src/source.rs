//! A text and its name.

use crate::span::Position;

/// A text and its name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SourceFile {
    /// Its path as the user gave it, `<stdin>`, or the ARN of a task definition.
    pub name: String,
    pub text: String,
}

impl SourceFile {
    /// A text called `name`.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self { name: name.into(), text: text.into() }
    }

    /// The line and column of a byte.
    pub fn position(&self, byte: usize) -> Position {
        Position::of(&self.text, byte)
    }
}
