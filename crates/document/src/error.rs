//! A text that could not be read.

use crate::span::Span;

/// Containers nested deeper than this are refused, in JSON and in YAML.
pub(crate) const MAX_DEPTH: usize = 128;

/// A text that could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct ParseError {
    /// Where reading failed.
    pub span: Span,
    /// Why.
    pub reason: String,
}

impl ParseError {
    /// An error at `span`, with a reason.
    pub fn new(span: Span, reason: impl Into<String>) -> Self {
        Self { span, reason: reason.into() }
    }
}
