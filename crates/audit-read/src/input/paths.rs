//! The files of the arguments: files, directories and globs.

use std::{
    collections::BTreeMap,
    fs,
    io::ErrorKind,
    path::{Component, Path, PathBuf},
};

use globset::{GlobBuilder, GlobMatcher};
use ignore::{DirEntry, WalkBuilder};

use document::{InputProblem, because};
use terraform::{has_generator, is_of_generator};

/// The files that are read in directories.
const EXTENSIONS: [&str; 6] = ["json", "yaml", "yml", "template", "tf", "tofu"];

/// A file to read.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FoundFile {
    pub(super) path: PathBuf,
    /// Its path in reports.
    pub(super) name: String,
    /// Whether the user named it, instead of a directory or a glob.
    pub(super) is_named: bool,
}

impl FoundFile {
    /// Whether it is read for no definition, and only shows that Terragrunt or Terramate is used.
    pub(super) fn is_of_generator(&self) -> bool {
        !self.is_named && is_of_generator(&self.path)
    }

    /// Of two names of a file, that with the higher rank counts: one that the user wrote, else one that is no link.
    fn rank(&self) -> (bool, bool) {
        (self.is_named, !self.path.is_symlink())
    }
}

/// The files of `arguments`, each once, sorted by name.
pub(super) fn files<'a>(
    arguments: impl Iterator<Item = &'a String>,
    problems: &mut Vec<InputProblem>,
) -> Vec<FoundFile> {
    let mut found: BTreeMap<PathBuf, FoundFile> = BTreeMap::new();
    for argument in arguments {
        for file in files_of(argument, problems) {
            let identity = fs::canonicalize(&file.path).unwrap_or_else(|_| file.path.clone());
            match found.get_mut(&identity) {
                Some(known) if known.rank() >= file.rank() => {}
                Some(known) => *known = file,
                None => drop(found.insert(identity, file)),
            }
        }
    }
    let mut files: Vec<FoundFile> = found.into_values().collect();
    files.sort_by(|a, b| a.name.cmp(&b.name));
    files
}

/// The directories that `arguments` name, the directories of the named files, and those in which globs begin.
pub(super) fn roots<'a>(arguments: impl Iterator<Item = &'a String>) -> Vec<PathBuf> {
    let root = |argument: &String| {
        let path = Path::new(argument);
        if path.is_dir() {
            return path.to_owned();
        }
        let base = if path.exists() { path.parent().unwrap_or(Path::new("")).to_owned() } else { glob_base(argument) };
        if base.as_os_str().is_empty() { PathBuf::from(".") } else { base }
    };
    arguments.map(root).collect()
}

/// The path before the first part with a wildcard: the directory in which a glob begins. Empty for the working directory.
fn glob_base(pattern: &str) -> PathBuf {
    let is_plain = |part: &&str| !part.contains(['*', '?', '[', '{', '\\']);
    pattern.strip_prefix("./").unwrap_or(pattern).split_inclusive('/').take_while(is_plain).collect::<String>().into()
}

fn files_of(argument: &str, problems: &mut Vec<InputProblem>) -> Vec<FoundFile> {
    let path = Path::new(argument);
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => walk(path, None, problems),
        Ok(_) => vec![FoundFile { path: path.to_owned(), name: in_reports(path), is_named: true }],
        Err(error) if error.kind() == ErrorKind::NotFound && argument.contains(['*', '?', '[', '{']) => {
            matching(argument, problems)
        }
        Err(error) => {
            problems.push(InputProblem::of(argument, because(&error)));
            Vec::new()
        }
    }
}

/// The name of a file, however it was spelt: without `./` and double slashes.
fn in_reports(path: &Path) -> String {
    let parts = path.components().filter(|part| *part != Component::CurDir);
    parts.collect::<PathBuf>().to_string_lossy().into_owned()
}

/// The files of a glob: those that match, and those in the directories that match.
fn matching(pattern: &str, problems: &mut Vec<InputProblem>) -> Vec<FoundFile> {
    let pattern_of_walk = pattern.strip_prefix("./").unwrap_or(pattern);
    let glob = match GlobBuilder::new(pattern_of_walk).literal_separator(true).build() {
        Ok(glob) => glob.compile_matcher(),
        Err(error) => {
            problems.push(InputProblem::of(pattern, format!("no such file, and not a glob: {}", error.kind())));
            return Vec::new();
        }
    };
    let base = glob_base(pattern);
    let base = if base.as_os_str().is_empty() { Path::new(".") } else { &base };
    let files = if base.is_dir() { walk(base, Some(&glob), problems) } else { Vec::new() };
    if files.is_empty() {
        let reason =
            "no file matches (files: *.json, *.yaml, *.yml, *.template, *.tf, *.tofu, without those that Git ignores)";
        problems.push(InputProblem::of(pattern, reason));
    }
    files
}

/// The files below a directory that Git does not ignore, inside and outside of a repository.
fn walk(root: &Path, glob: Option<&GlobMatcher>, problems: &mut Vec<InputProblem>) -> Vec<FoundFile> {
    let mut builder = WalkBuilder::new(root);
    // Links to directories are not followed: they may lead out of the directory or form cycles.
    builder.require_git(false).ignore(false).follow_links(false).sort_by_file_name(Ord::cmp);
    builder.filter_entry(is_read);
    let mut files = Vec::new();
    for entry in builder.build() {
        match entry {
            Ok(entry) if is_candidate(&entry) => {
                let path = entry.path().strip_prefix("./").unwrap_or(entry.path());
                if glob.is_none_or(|glob| path.ancestors().any(|part| glob.is_match(part))) {
                    files.push(FoundFile { path: path.to_owned(), name: in_reports(path), is_named: false });
                }
            }
            Ok(_) => {}
            Err(error) => {
                let reason = error.io_error().map_or_else(|| error.to_string(), because);
                let place = path_of(&error).unwrap_or(root);
                problems.push(InputProblem::of(place.to_string_lossy(), reason));
            }
        }
    }
    files
}

fn is_candidate(entry: &DirEntry) -> bool {
    let extension = entry.path().extension().and_then(|extension| extension.to_str());
    let has_extension = extension.is_some_and(|own| EXTENSIONS.iter().any(|wanted| own.eq_ignore_ascii_case(wanted)));
    // A link to a file counts as that file.
    let is_wanted = has_extension || is_of_generator(entry.path());
    is_wanted && fs::metadata(entry.path()).is_ok_and(|metadata| metadata.is_file())
}

/// The directories in each other that [`has_generator_below`] enters: an editor must not wait for a large folder.
const DEEP: usize = 4;

/// Whether Terragrunt or Terramate is used in a folder.
pub(super) fn has_generator_below(folder: &Path) -> bool {
    let mut builder = WalkBuilder::new(folder);
    builder.require_git(false).ignore(false).follow_links(false).max_depth(Some(DEEP));
    builder.build().filter_map(Result::ok).any(|entry| is_of_generator(entry.path()))
}

/// Whether a directory, or one above it in its repository, has a file of Terragrunt or Terramate.
pub(super) fn is_below_generator(directory: &Path) -> bool {
    let path = fs::canonicalize(directory).unwrap_or_else(|_| directory.to_owned());
    let root = path.ancestors().find(|above| above.join(".git").exists());
    let in_repository = |above: &&Path| root.is_none_or(|root| above.starts_with(root));
    path.ancestors().take_while(in_repository).any(has_generator)
}

fn path_of(error: &ignore::Error) -> Option<&Path> {
    match error {
        ignore::Error::WithPath { path, .. } => Some(path),
        ignore::Error::WithDepth { err, .. } | ignore::Error::WithLineNumber { err, .. } => path_of(err),
        _ => None,
    }
}

/// A file in every cloud assembly, with its version.
const MARK: &str = "cdk.out";

/// Whether an entry of a directory is to be read: in a cloud assembly, only templates and the nested assemblies of
/// stages. Its other files describe the constructs again or are assets, copies of the project's own files.
pub(super) fn is_read(entry: &DirEntry) -> bool {
    let is_in_assembly = entry.depth() > 0 && entry.path().parent().is_some_and(|parent| parent.join(MARK).is_file());
    let name = entry.file_name().to_string_lossy();
    let is_directory = entry.file_type().is_some_and(|kind| kind.is_dir());
    !is_in_assembly || if is_directory { name.starts_with("assembly-") } else { name.ends_with(".template.json") }
}
