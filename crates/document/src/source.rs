//! A text and its name.

use std::sync::OnceLock;

use crate::span::Position;

/// A text and its name.
#[derive(Debug, Clone, Default)]
pub struct SourceFile {
    /// Its path as the user gave it, `<stdin>`, or the ARN of a task definition.
    pub name: String,
    pub text: String,
    /// The bytes at which its lines end, once a line was asked for.
    line_ends: OnceLock<Vec<usize>>,
}

impl PartialEq for SourceFile {
    fn eq(&self, other: &Self) -> bool {
        (&self.name, &self.text) == (&other.name, &other.text)
    }
}

impl Eq for SourceFile {}

impl SourceFile {
    /// A text called `name`.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self { name: name.into(), text: text.into(), line_ends: OnceLock::new() }
    }

    /// The line of a byte, counted from 1. Only the first call reads the text.
    pub fn line(&self, byte: usize) -> usize {
        let ends = self.line_ends.get_or_init(|| self.text.match_indices('\n').map(|(end, _)| end).collect());
        ends.partition_point(|end| *end < byte) + 1
    }

    /// The line and column of a byte.
    pub fn position(&self, byte: usize) -> Position {
        Position::of(&self.text, byte)
    }
}
