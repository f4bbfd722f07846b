//! Files as trees of values with places. Every input format is read from such a tree, and findings point at its places.

mod embedded;
mod json;
mod node;
mod place;
mod span;
mod text_parts;
mod yaml;
mod yaml_scalar;
mod yaml_stream;

pub use self::{
    embedded::embedded_json,
    json::{JSON_WITH_COMMENTS, parse_json},
    node::{Entry, HOLE, Node, Value},
    place::{Place, Position, Route, Step},
    span::Span,
    text_parts::{TextBuilder, TextParts},
    yaml::parse_yaml,
    yaml_stream::{parse_yaml_document, yaml_documents},
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
