//! Reads task definitions: texts in any of four formats, from files, directories and standard input.
//!
//! A problem with one file or one definition does not prevent the others from being checked.

mod cloudformation;
mod paths;
mod source;
mod terraform_show;
mod terraform_source;
mod words;

use std::{collections::BTreeSet, fs::File, io::Read, path::PathBuf, sync::Arc};

use self::paths::FoundFile;
pub use self::{
    source::{ecs_definition, read_edited, read_open, read_source},
    terraform_source::mesh_task,
};
use crate::{Material, parallel::on_all_processors};
use document::{InputProblem, SourceFile, because, read_text};
use terraform::{Tree, is_source_name};

/// The argument for standard input.
const STANDARD_INPUT: &str = "-";

/// The input of a run.
#[derive(Debug, Default)]
pub struct Gathered {
    /// The definitions and resources to check.
    pub material: Material,
    /// What could not be read.
    pub problems: Vec<InputProblem>,
    /// What could be read, but not checked, or not all of it: Terraform sources that only a plan completes.
    pub unchecked: Vec<InputProblem>,
    /// The directories of the files. Terraform sources of other directories are not read.
    pub tree: Tree,
    /// The directories of the Terraform modules that other modules call, without links.
    pub called: BTreeSet<PathBuf>,
    /// The number of texts that were read, including texts of other formats.
    pub files_read: usize,
}

/// Reads files, directories and globs; `-` is standard input.
///
/// In directories, it reads the files `*.json`, `*.yaml`, `*.yml`, `*.template`, `*.tf` and `*.tofu`, except hidden ones
/// and those that Git ignores, and skips files of other formats. Of what the AWS CDK has synthesised, it reads the
/// templates. A file that is named explicitly must have one of the formats.
pub fn gather(paths: &[String], stdin: &mut dyn Read) -> Gathered {
    gather_except(paths, stdin, |_| false)
}

/// As [`gather`], without the files in directories whose names are `excluded`.
pub fn gather_except(paths: &[String], stdin: &mut dyn Read, excluded: impl Fn(&str) -> bool) -> Gathered {
    let mut gathered = Gathered::default();
    if paths.iter().any(|path| path == STANDARD_INPUT) {
        gathered.take(read_text("<stdin>", stdin), true);
    }
    let named = paths.iter().filter(|path| *path != STANDARD_INPUT);
    let mut files = paths::files(named.clone(), &mut gathered.problems);
    files.retain(|file| file.is_named || !excluded(&file.name));
    let (sources, files): (Vec<_>, Vec<_>) = files.into_iter().partition(|file| is_source_name(&file.name));
    // The order of the files is kept, so that reports do not depend on the number of processors.
    for part in on_all_processors(&files, read_files) {
        gathered.add(part);
    }
    if !sources.is_empty() {
        gathered.tree = Tree::new(paths::roots(named));
        gathered.add(terraform_source::read_directories(&sources, gathered.tree.clone()));
    }
    gathered.material.resources.is_partial |= !gathered.problems.is_empty();
    gathered
}

/// Reads files other than Terraform sources.
fn read_files(files: &[FoundFile]) -> Gathered {
    let mut gathered = Gathered::default();
    for file in files {
        let read = match File::open(&file.path) {
            Ok(mut opened) => read_text(&file.name, &mut opened),
            Err(error) => Err(InputProblem::of(&file.name, because(&error))),
        };
        if read.is_err() && !file.is_named && !words::may_have_word(&file.path) {
            // A file of another program, which need not be a text.
            gathered.files_read += 1;
            continue;
        }
        gathered.take(read, file.is_named);
    }
    gathered
}

impl Gathered {
    /// Adds input that was collected elsewhere.
    pub fn add(&mut self, other: Self) {
        self.material.definitions.extend(other.material.definitions);
        self.material.resources.add(other.material.resources);
        self.problems.extend(other.problems);
        self.unchecked.extend(other.unchecked);
        self.files_read += other.files_read;
    }

    fn take(&mut self, read: Result<SourceFile, InputProblem>, is_named: bool) {
        match read {
            Ok(file) => {
                self.files_read += 1;
                self.read(&Arc::new(file), is_named);
            }
            Err(problem) => self.problems.push(problem),
        }
    }
}
