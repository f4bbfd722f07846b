//! The directory tree that is checked. Nothing outside of it is read.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    sync::Arc,
};

use crate::{
    input::{InputProblem, text},
    source::SourceFile,
};

/// The directory tree that is checked.
#[derive(Debug, Clone)]
pub(super) struct Tree {
    /// The directories that the user named, without links.
    roots: Vec<PathBuf>,
}

/// Why something beside a module is not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    /// It does not exist or cannot be read.
    Missing,
    /// It is outside of the directories that are checked.
    Outside,
}

impl Tree {
    pub(super) fn new(roots: impl IntoIterator<Item = PathBuf>) -> Self {
        Self { roots: roots.into_iter().filter_map(|root| fs::canonicalize(root).ok()).collect() }
    }

    /// The path of something in the tree.
    pub(super) fn find(&self, base: &Path, relative: &str) -> Result<PathBuf, Refusal> {
        let base = if base.as_os_str().is_empty() { Path::new(".") } else { base };
        let path = fs::canonicalize(base.join(relative)).map_err(|_| Refusal::Missing)?;
        if self.roots.iter().any(|root| path.starts_with(root)) { Ok(path) } else { Err(Refusal::Outside) }
    }

    /// The text of a file in the tree.
    pub(super) fn read(&self, base: &Path, relative: &str) -> Result<String, Refusal> {
        let path = self.find(base, relative)?;
        let is_file = fs::metadata(&path).is_ok_and(|metadata| metadata.is_file());
        let mut file = File::open(&path).ok().filter(|_| is_file).ok_or(Refusal::Missing)?;
        text::read_text(relative, &mut file).map(|file| file.text).map_err(|_| Refusal::Missing)
    }

    /// The files of a directory whose names are `wanted`, sorted by name. `shown` is its path in reports.
    pub(super) fn files(
        path: &Path,
        shown: &str,
        wanted: impl Fn(&str) -> bool,
        problems: &mut Vec<InputProblem>,
    ) -> Vec<Arc<SourceFile>> {
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        let entries = fs::read_dir(path).into_iter().flatten().filter_map(Result::ok);
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        let mut names: Vec<String> = names.filter(|name| !name.starts_with('.') && wanted(name)).collect();
        names.sort();
        let mut files = Vec::new();
        for name in names {
            let shown = if shown.is_empty() { name.clone() } else { format!("{shown}/{name}") };
            match read(&path.join(&name), &shown) {
                Ok(file) => files.push(Arc::new(file)),
                Err(problem) => problems.push(problem),
            }
        }
        files
    }
}

fn read(path: &Path, shown: &str) -> Result<SourceFile, InputProblem> {
    let mut file = File::open(path).map_err(|error| InputProblem::of(shown, text::because(&error)))?;
    text::read_text(shown, &mut file)
}
