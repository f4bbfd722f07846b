//! Values with places, and edits of them: JSON, YAML and HCL as trees in which every value knows the bytes that spell it
//! and the route to it.
//!
//! ```text
//!  SourceFile ─▶ parse, hcl, embedded_json ─▶ Node ─▶ edit
//!  a text and    one notation or another      value,  the same text with other values at some
//!  its name                                   Place   routes: everything else keeps its bytes
//! ```
//!
//! [`parse`] is the entry point for JSON and YAML, [`hcl`] for HCL, [`edit::apply`] for edits. A value that only a deployment
//! knows is [`Value::Unknown`], and a part of a string that only a deployment knows is a [`HOLE`].
//!
//! It knows nothing of ECS or AWS, evaluates no functions and no references, and does not touch the file system: it takes
//! texts and readers.

mod byte_order_mark;
mod comments;
pub mod edit;
mod embedded;
mod error;
pub mod hcl;
mod json;
mod node;
mod notation;
mod place;
mod placeholder;
mod problem;
mod scalar;
mod source;
mod span;
mod text;
mod text_parts;
mod yaml;

pub use self::{
    byte_order_mark::without_mark,
    comments::Comments,
    embedded::embedded_json,
    error::ParseError,
    json::parse_json,
    node::{Entry, HOLE, Node, RepeatedKey, Value},
    notation::{Notation, documents, parse, parse_all, parse_one, trees},
    place::{PathStep, Place, Route},
    placeholder::with_holes,
    problem::InputProblem,
    source::SourceFile,
    span::{Position, Span},
    text::{because, read_text},
    text_parts::{TextBuilder, TextParts},
    yaml::{parse_yaml, parse_yaml_document, yaml_documents},
};
