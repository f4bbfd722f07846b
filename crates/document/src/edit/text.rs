//! The text that an edit changes: its parts, its line ends, and what it contains.

use std::{borrow::Cow, collections::BTreeMap};

use super::error::EditError;
use crate::{
    error::ParseError,
    node::Node,
    notation::{Notation, parse},
    source::SourceFile,
    span::Span,
};

/// Reads a text before or after an edit. The content shows the notation: the name of the file is not known here.
pub(super) fn read(text: &str) -> Result<(Notation, Node), ParseError> {
    parse(&SourceFile::new("", text))
}

/// Makes the edits of each part in the text of that part.
pub(super) fn in_parts<E>(
    text: &str,
    parts: BTreeMap<Span, Vec<E>>,
    edit: impl Fn(&str, &[E]) -> Result<String, EditError>,
) -> Result<String, EditError> {
    let mut edited = text.to_owned();
    // From the end, so that the bytes before an edit keep their positions.
    for (span, edits) in parts.into_iter().rev() {
        let part = text.get(span.start..span.end).unwrap_or_default();
        edited.replace_range(span.start..span.end, &edit(part, &edits)?);
    }
    Ok(edited)
}

/// The text with other bytes at `span`.
pub(super) fn put(text: &str, span: Span, with: &str) -> Result<String, EditError> {
    match (text.get(..span.start), text.get(span.end..)) {
        (Some(before), Some(after)) => Ok([before, with, after].concat()),
        _ => Err(EditError::NotMinimal),
    }
}

/// Makes an edit in a text without its byte order mark and with `\n` at the end of its lines, which the editing libraries
/// expect. The edited text has both again.
pub(super) fn in_plain_lines(
    text: &str,
    edit: impl FnOnce(&str) -> Result<String, EditError>,
) -> Result<String, EditError> {
    let (mark, text) = text.strip_prefix('\u{feff}').map_or(("", text), |rest| ("\u{feff}", rest));
    let newlines = text.matches('\n').count();
    let has_returns = newlines > 0 && text.matches("\r\n").count() == newlines;
    let plain = if has_returns { Cow::Owned(text.replace("\r\n", "\n")) } else { Cow::Borrowed(text) };
    let edited = edit(&plain)?;
    let edited = if has_returns { edited.replace('\n', "\r\n") } else { edited };
    Ok([mark, &edited].concat())
}
