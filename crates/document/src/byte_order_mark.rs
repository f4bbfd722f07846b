//! The byte order mark at the beginning of a text.

use std::borrow::Cow;

pub(crate) const BYTE_ORDER_MARK: char = '\u{FEFF}';

/// The text with a placeholder of the same length for a byte order mark, so that all positions remain valid.
pub fn without_mark<'t>(text: &'t str, instead: &str) -> Cow<'t, str> {
    match text.strip_prefix(BYTE_ORDER_MARK) {
        Some(rest) => Cow::Owned(format!("{instead}{rest}")),
        None => Cow::Borrowed(text),
    }
}
