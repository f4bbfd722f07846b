//! Reads a text before and after an edit.

use audit_read::{
    document::{Node, ParseError},
    input::{Notation, parse},
    source::SourceFile,
};

/// The notation is recognized by the content; the name of the file is not known here.
pub(super) fn read(text: &str) -> Result<(Notation, Node), ParseError> {
    parse(&SourceFile::new("", text))
}
