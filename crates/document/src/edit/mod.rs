//! Edits of values in the text of a file. Everything else keeps its formatting and comments.
//!
//! Each edit is verified: the edited text is read again, and must contain exactly what it contained before, with that one
//! change.

mod change;
mod error;
mod hcl;
mod json;
#[cfg(test)]
mod tests;
mod text;
mod tree;
mod yaml;

pub use self::{
    change::{Change, Edit},
    error::EditError,
};
use self::{text::in_plain_lines, tree::Manner};

/// The language of a text.
#[derive(Debug, Clone, Copy)]
pub enum Language {
    /// JSON or YAML: the text shows which.
    JsonOrYaml,
    /// HCL, whose schema makes `blocks` nested blocks instead of arguments.
    Hcl { blocks: &'static [&'static str] },
}

/// Makes `edits` in `text`, one after the other.
///
/// # Errors
/// One of the edits cannot be made; then none of them is.
pub fn apply(text: &str, language: Language, edits: &[Edit]) -> Result<String, EditError> {
    match language {
        Language::JsonOrYaml => tree::edit(text, edits),
        Language::Hcl { blocks } => in_plain_lines(text, |text| hcl::edit(text, blocks, edits)),
    }
}

/// As [`apply`], in the manner that takes the least time: for many edits at once, which are made in smaller groups if it
/// fails.
///
/// # Errors
/// As [`apply`], or only another manner could make one of the edits.
pub fn apply_many(text: &str, language: Language, edits: &[Edit]) -> Result<String, EditError> {
    match language {
        Language::JsonOrYaml => tree::edit_in(Manner::PartByPart, text, edits),
        Language::Hcl { .. } => apply(text, language, edits),
    }
}
