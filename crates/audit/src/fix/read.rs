//! Reading a text before and after an edit.

use crate::{
    document::{Node, ParseError},
    input::{Notation, parse},
    source::SourceFile,
};

/// By its content: nothing else is known here, and it was read already as what it is.
pub(super) fn read(text: &str) -> Result<(Notation, Node), ParseError> {
    parse(&SourceFile::new("", text))
}
