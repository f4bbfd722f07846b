//! The files that modules may read: those in the directories that are checked, and what an editor has not saved.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsStr,
    fs::{self, File},
    io::Read,
    path::{Component, Path, PathBuf},
    sync::{Arc, Mutex},
};

use document::{InputProblem, ParseError, SourceFile, because, read_text};

use crate::{
    generator::has_generator,
    interest::Interest,
    syntax::{Body, read_body},
};

/// The directory tree that is checked.
#[derive(Debug, Clone, Default)]
pub struct Tree {
    /// The directories that the user named, without links.
    roots: Vec<PathBuf>,
    /// Texts that count instead of the files on disk, by their paths without links: what an editor has not saved.
    open: BTreeMap<PathBuf, Arc<SourceFile>>,
    /// What was read of files before; `None` if each is read once.
    bodies: Option<Arc<Mutex<Bodies>>>,
    /// Whether Terragrunt or Terramate may generate files of any module.
    is_generated: bool,
}

/// The content of files by their names, with the text and the number that each file had.
type Bodies = BTreeMap<String, (Arc<SourceFile>, usize, Body)>;

/// Why a file next to a module is not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// It does not exist or cannot be read.
    Missing,
    /// It is outside of the directories that are checked.
    Outside,
    /// No file next to the module is read.
    Alone,
}

impl Tree {
    /// The tree below these directories.
    pub fn new(roots: impl IntoIterator<Item = PathBuf>) -> Self {
        let roots = roots.into_iter().filter_map(|root| fs::canonicalize(root).ok()).collect();
        Self { roots, ..Self::default() }
    }

    /// The tree, which keeps the content of files until their texts change: for an editor, which asks after each keystroke.
    #[must_use]
    pub fn remembering(mut self) -> Self {
        self.bodies = Some(Arc::default());
        self
    }

    /// The tree, whose modules may have further files, because Terragrunt or Terramate generates them.
    #[must_use]
    pub fn generated(mut self, is_generated: bool) -> Self {
        self.is_generated = is_generated;
        self
    }

    /// Whether Terragrunt or Terramate may generate files in a directory: their configuration is in it, or between it and the
    /// directory of the tree.
    pub(crate) fn may_generate_in(&self, directory: &Path) -> bool {
        let is_in_tree = |above: &&Path| self.roots.iter().any(|root| above.starts_with(root));
        let above = directory.ancestors().skip(1).take_while(is_in_tree);
        self.is_generated || std::iter::once(directory).chain(above).any(has_generator)
    }

    /// The content of a file, which has this number in its module.
    pub(crate) fn body(&self, file: &Arc<SourceFile>, index: usize) -> Result<Body, ParseError> {
        let Some(mut bodies) = self.bodies.as_ref().and_then(|bodies| bodies.lock().ok()) else {
            return read_body(file, index);
        };
        if let Some((known, number, body)) = bodies.get(&file.name)
            && (number, &known.text) == (&index, &file.text)
        {
            return Ok(body.clone());
        }
        let body = read_body(file, index)?;
        bodies.insert(file.name.clone(), (Arc::clone(file), index, body.clone()));
        Ok(body)
    }

    /// The tree with one more directory.
    #[must_use]
    pub fn with(mut self, root: &Path) -> Self {
        self.roots.push(identity(root));
        self
    }

    /// Puts a text in the place of the file that has its name, which need not exist.
    pub fn open(&mut self, file: Arc<SourceFile>) {
        self.open.insert(file_identity(Path::new(&file.name)), file);
    }

    /// The file on disk counts again.
    pub fn close(&mut self, name: &str) {
        self.open.remove(&file_identity(Path::new(name)));
    }

    /// The text that counts instead of the file at `path`.
    pub fn opened(&self, path: &Path) -> Option<&Arc<SourceFile>> {
        self.open.get(&file_identity(path))
    }

    /// The path of something in the tree.
    pub(crate) fn find(&self, base: &Path, relative: &str) -> Result<PathBuf, Refusal> {
        let base = if base.as_os_str().is_empty() { Path::new(".") } else { base };
        let path = fs::canonicalize(base.join(relative)).map_err(|_| Refusal::Missing)?;
        if self.roots.iter().any(|root| path.starts_with(root)) { Ok(path) } else { Err(Refusal::Outside) }
    }

    /// The text of a file in the tree. One that exists and cannot be read is a problem: Terraform fails too.
    pub(crate) fn read(
        &self,
        base: &Path,
        relative: &str,
        problems: &mut Vec<InputProblem>,
    ) -> Result<String, Refusal> {
        let path = self.find(base, relative)?;
        if let Some(open) = self.open.get(&path) {
            return Ok(open.text.clone());
        }
        let is_file = fs::metadata(&path).is_ok_and(|metadata| metadata.is_file());
        if !is_file {
            return Err(Refusal::Missing);
        }
        read(&path, &joined(base, relative).to_string_lossy()).map(|file| file.text).map_err(|problem| {
            if !problems.contains(&problem) {
                problems.push(problem);
            }
            Refusal::Missing
        })
    }

    /// The files of a directory whose names are `wanted`, sorted by name. `shown` is its path in reports.
    pub(crate) fn files(
        &self,
        path: &Path,
        shown: &str,
        wanted: impl Fn(&str) -> bool,
        unread: &mut Vec<Unread>,
    ) -> Vec<Arc<SourceFile>> {
        let path = identity(path);
        let entries = fs::read_dir(&path).into_iter().flatten().filter_map(Result::ok);
        let on_disk = entries.map(|entry| entry.file_name());
        let open = self.open.keys().filter(|open| open.parent() == Some(&path)).filter_map(|open| open.file_name());
        let names = on_disk.chain(open.map(OsStr::to_owned)).filter_map(|name| name.into_string().ok());
        let names: BTreeSet<String> = names.filter(|name| !name.starts_with('.') && wanted(name)).collect();
        let mut files = Vec::new();
        for name in names {
            let shown = if shown.is_empty() { name.clone() } else { format!("{shown}/{name}") };
            let path = path.join(&name);
            let open = self.open.get(&path).map(|open| SourceFile::new(shown.as_str(), open.text.as_str()));
            match open.map_or_else(|| read(&path, &shown), Ok) {
                Ok(file) => files.push(Arc::new(file)),
                Err(_) if path.is_dir() => {}
                Err(problem) => unread.push(Unread { path, problem }),
            }
        }
        files
    }
}

/// A file that cannot be read as a text.
pub(crate) struct Unread {
    path: PathBuf,
    pub(crate) problem: InputProblem,
}

impl Unread {
    /// Whether the file may have one of the words of interest: its bytes have it, in UTF-8 or UTF-16, or cannot be read.
    pub(crate) fn may_have_word(&self, interest: &Interest) -> bool {
        let mut bytes = Vec::new();
        let read = File::open(&self.path).and_then(|file| file.take(SEARCHED).read_to_end(&mut bytes));
        // In UTF-16, there is a zero beside each letter.
        bytes.retain(|byte| *byte != 0);
        read.is_err() || interest.has_word(&String::from_utf8_lossy(&bytes))
    }
}

/// The bytes of an unreadable file that are searched: more than a text may have.
const SEARCHED: u64 = 64 * 1024 * 1024;

fn read(path: &Path, shown: &str) -> Result<SourceFile, InputProblem> {
    let mut file = File::open(path).map_err(|error| InputProblem::of(shown, because(&error)))?;
    read_text(shown, &mut file)
}

/// The path without links, to compare it with others.
pub fn identity(path: &Path) -> PathBuf {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

/// The path of a file without links in its directory. The file need not exist.
fn file_identity(path: &Path) -> PathBuf {
    let directory = path.parent().map(identity).unwrap_or_default();
    path.file_name().map(|name| directory.join(name)).unwrap_or(directory)
}

/// The path of the source of a call, as users read it: `stacks/prod` and `../../modules/web` are `modules/web`.
pub(crate) fn joined(caller: &Path, source: &str) -> PathBuf {
    let mut joined = PathBuf::new();
    for part in caller.join(source).components() {
        match part {
            Component::ParentDir if joined.file_name().is_some() => drop(joined.pop()),
            Component::CurDir => {}
            part => joined.push(part),
        }
    }
    joined
}
