//! Reads task definitions: texts in any of four formats, from files, directories and standard input.
//!
//! A problem with one file or one definition does not prevent the others from being checked.

mod cloudformation;
mod gathered;
mod paths;
mod source;
mod terraform_app_mesh;
mod terraform_attributes;
mod terraform_show;
mod terraform_source;
mod words;

use std::{fs::File, io::Read, path::PathBuf, sync::Arc};

use self::paths::FoundFile;
pub use self::{
    gathered::Gathered,
    source::{ecs_definition, read_edited, read_open, read_source},
    terraform_source::{CHECK_THE_PLAN, mesh_task},
};
use crate::parallel::on_all_processors;
use document::{InputProblem, SourceFile, because, read_text};
use terraform::{Tree, is_source_name};

/// The argument for standard input.
const STANDARD_INPUT: &str = "-";

/// Reads files, directories and globs; `-` is standard input.
///
/// In directories, it reads the files `*.json`, `*.yaml`, `*.yml`, `*.template`, `*.tf` and `*.tofu`, except hidden ones
/// and those that Git ignores, and skips files of other formats. Of what the AWS CDK has synthesised, it reads the
/// templates. A file that is named explicitly must have one of the formats.
pub fn gather(paths: &[String], stdin: &mut dyn Read) -> Gathered {
    gather_except(paths, stdin, |_| false)
}

/// The tree below these directories, which an editor has open.
pub fn tree_of(folders: Vec<PathBuf>) -> Tree {
    let is_generated =
        folders.iter().any(|folder| paths::has_generator_below(folder) || paths::is_below_generator(folder));
    Tree::new(folders).generated(is_generated)
}

/// As [`gather`], without the files in directories whose names are `excluded`.
pub fn gather_except(paths: &[String], stdin: &mut dyn Read, excluded: impl Fn(&str) -> bool) -> Gathered {
    let mut gathered = Gathered::default();
    if paths.iter().any(|path| path == STANDARD_INPUT) {
        gathered.take(read_text("<stdin>", stdin), true);
    }
    let named = paths.iter().filter(|path| *path != STANDARD_INPUT);
    let mut files = paths::files(named.clone(), &mut gathered.problems);
    let is_generated = files.iter().any(FoundFile::is_of_generator);
    files.retain(|file| !file.is_of_generator() && (file.is_named || !excluded(&file.name)));
    let (sources, files): (Vec<_>, Vec<_>) = files.into_iter().partition(|file| is_source_name(&file.name));
    // The order of the files is kept, so that reports do not depend on the number of processors.
    for part in on_all_processors(&files, read_files) {
        gathered.add(part);
    }
    if !sources.is_empty() {
        let read = |source: &FoundFile| read_text(&source.name, &mut File::open(&source.path).ok()?).ok();
        gathered.unchecked.extend(sources.iter().filter_map(read).filter_map(|source| words::near_miss(&source)));
        let roots = paths::roots(named);
        let is_generated = is_generated || roots.iter().any(|root| paths::is_below_generator(root));
        gathered.tree = Tree::new(roots).generated(is_generated);
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
