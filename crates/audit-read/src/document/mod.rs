//! Files as trees of values with places. Every input format is read from such a tree, and findings point at its places.

mod json;
mod node;
mod place;
mod text_parts;
mod yaml;

pub use self::{
    json::{JSON_WITH_COMMENTS, parse_json},
    node::{Entry, HOLE, Node, RepeatedKey, Value},
    place::{Place, Position, Route, Span, Step},
    text_parts::{TextBuilder, TextParts, embedded_json},
    yaml::{parse_yaml, parse_yaml_document, yaml_documents},
};

/// Containers nested deeper than this are refused, in JSON and in YAML.
const MAX_DEPTH: usize = 128;

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
