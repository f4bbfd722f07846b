//! Patterns of paths and of names.

use globset::{Error, GlobBuilder, GlobMatcher};

/// A pattern: `*` is anything but `/`, `**` any folders, `{a,b}` either.
///
/// # Errors
/// `text` is not a pattern.
pub(super) fn pattern(text: &str) -> Result<GlobMatcher, Error> {
    Ok(GlobBuilder::new(text).literal_separator(true).build()?.compile_matcher())
}
