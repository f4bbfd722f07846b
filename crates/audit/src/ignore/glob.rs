//! Patterns of paths and of names.

use globset::{Error, GlobBuilder, GlobMatcher};

/// Compiles a pattern: `*` matches anything but `/`, `**` any directories, `{a,b}` either.
///
/// # Errors
/// `text` is not a pattern.
pub(super) fn pattern(text: &str) -> Result<GlobMatcher, Error> {
    Ok(GlobBuilder::new(text).literal_separator(true).build()?.compile_matcher())
}
