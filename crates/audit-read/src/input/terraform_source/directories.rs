//! The directories of a run. Each is read once.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    path::{Component, Path, PathBuf},
    rc::Rc,
    sync::Arc,
};

use super::{directory::Directory, syntax::is_source_name, tree::Tree};
use crate::{input::InputProblem, source::SourceFile};

/// Files of a directory without any of these words are not reported if they cannot be read.
const WORDS: [&str; 3] = ["aws_ecs_task_definition", "aws_ecs_service", "consul-ecs"];

/// The directories of a run.
#[derive(Debug)]
pub(super) struct Directories {
    /// The directory tree that is checked; without one, no other file is read.
    pub(super) tree: Option<Tree>,
    /// A file whose text counts instead of that on disk.
    edited: Option<Arc<SourceFile>>,
    known: RefCell<BTreeMap<PathBuf, Rc<Directory>>>,
    problems: RefCell<Vec<InputProblem>>,
}

impl Directories {
    pub(super) fn new(tree: Option<Tree>, edited: Option<Arc<SourceFile>>) -> Self {
        Self { tree, edited, known: RefCell::default(), problems: RefCell::default() }
    }

    /// The module in a directory. What cannot be read is a problem if the directory `is_named` or has one of the words.
    pub(super) fn load(&self, path: &Path, is_named: bool) -> Rc<Directory> {
        let identity = identity(path);
        if let Some(known) = self.known.borrow().get(&identity) {
            return Rc::clone(known);
        }
        let shown = path.to_string_lossy().into_owned();
        let mut problems = Vec::new();
        let mut sources = Tree::files(path, &shown, is_source_name, &mut problems);
        if let Some(edited) = &self.edited
            && let Some(source) = sources.iter_mut().find(|source| source.name == edited.name)
        {
            *source = Arc::clone(edited);
        }
        // OpenTofu reads `main.tofu` instead of `main.tf`.
        let is_tofu = |file: &&Arc<SourceFile>| file.name.contains(".tofu");
        let replaced: BTreeSet<String> =
            sources.iter().filter(is_tofu).map(|file| file.name.replace(".tofu", ".tf")).collect();
        sources.retain(|file| !replaced.contains(&file.name));
        let is_relevant = is_named || sources.iter().any(|file| WORDS.iter().any(|word| file.text.contains(word)));
        let values = Tree::files(path, &shown, is_values_name, &mut problems);
        let mut directory = Directory::of(sources, values, &mut problems);
        path.clone_into(&mut directory.path);
        if is_relevant {
            self.problems.borrow_mut().extend(problems);
        }
        let directory = Rc::new(directory);
        self.known.borrow_mut().insert(identity, Rc::clone(&directory));
        directory
    }

    /// What could not be read so far.
    pub(super) fn take_problems(&self) -> Vec<InputProblem> {
        self.problems.take()
    }
}

/// A file with values that Terraform reads by itself. Source:
/// <https://developer.hashicorp.com/terraform/language/values/variables#variable-definitions-tfvars-files>
fn is_values_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name == "terraform.tfvars"
        || name == "terraform.tfvars.json"
        || name.ends_with(".auto.tfvars")
        || name.ends_with(".auto.tfvars.json")
}

/// The path without links, to compare it with others.
pub(super) fn identity(path: &Path) -> PathBuf {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

/// The path of the source of a call, as users read it: `stacks/prod` and `../../modules/web` are `modules/web`.
pub(super) fn joined(caller: &Path, source: &str) -> PathBuf {
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
