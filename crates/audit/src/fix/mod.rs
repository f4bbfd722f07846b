//! Fixes: the edits of findings, made in the text of the file. Everything else keeps its formatting and comments.
//!
//! Each edit is verified: the edited text is read again, and must contain exactly what it contained before, with that one
//! change.

mod apply;
mod comment;
mod documents;
mod error;
mod hcl;
mod hcl_block;
mod hcl_part;
mod hcl_text;
mod inline;
mod json;
mod part;
mod read;
mod repair;
#[cfg(test)]
mod tests;
mod tree;
mod yaml;

pub use self::{
    apply::apply,
    error::EditError,
    repair::{Left, Repair, repair},
};
