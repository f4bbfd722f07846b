//! Patterns of paths and of names.

use globset::{GlobBuilder, GlobMatcher};

/// A pattern: `*` is anything but `/`, `**` any folders, `{a,b}` either.
pub(super) fn pattern(text: &str) -> Result<GlobMatcher, String> {
    let glob = GlobBuilder::new(text).literal_separator(true).build();
    glob.map(|glob| glob.compile_matcher()).map_err(|error| error.to_string())
}
