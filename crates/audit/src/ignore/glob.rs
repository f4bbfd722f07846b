//! Patterns of paths and of names: `*` matches anything but `/`, `**` any directories, `{a,b}` either.

use std::path::{Path, PathBuf};

use globset::{Error, GlobBuilder, GlobMatcher};

/// A pattern of paths. One without wildcards also means what is below it.
#[derive(Debug)]
pub struct PathPattern {
    glob: GlobMatcher,
    directory: Option<PathBuf>,
}

impl PathPattern {
    /// Compiles a pattern.
    ///
    /// # Errors
    /// `text` is not a pattern.
    pub(super) fn new(text: &str) -> Result<Self, Error> {
        let text = text.strip_prefix("./").unwrap_or(text);
        let has_wildcards = text.contains(['*', '?', '[', '{', '\\']);
        Ok(Self { glob: pattern(text)?, directory: (!has_wildcards).then(|| PathBuf::from(text)) })
    }

    /// The pattern, as it was written.
    pub fn as_str(&self) -> &str {
        self.glob.glob().glob()
    }

    /// Whether it means the file called `path`.
    pub(super) fn is_match(&self, path: &Path) -> bool {
        self.glob.is_match(path) || self.directory.as_ref().is_some_and(|directory| path.starts_with(directory))
    }
}

/// Compiles a pattern of names.
///
/// # Errors
/// `text` is not a pattern.
pub(super) fn pattern(text: &str) -> Result<GlobMatcher, Error> {
    Ok(GlobBuilder::new(text).literal_separator(true).build()?.compile_matcher())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_without_wildcards_is_a_file_or_a_directory() {
        for (pattern, path, is_match) in [
            ("services", "services/web.json", true),
            ("services/", "services/web.json", true),
            ("./services/web.json", "services/web.json", true),
            ("services", "services-old/web.json", false),
            ("services/*", "services/web/task.json", false),
            ("services/**", "services/web/task.json", true),
        ] {
            assert_eq!(PathPattern::new(pattern).unwrap().is_match(Path::new(path)), is_match, "{pattern} {path}");
        }
    }
}
