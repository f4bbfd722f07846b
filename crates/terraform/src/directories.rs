//! The directories of a run, each read once.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    rc::Rc,
    sync::Arc,
};

use document::{InputProblem, SourceFile};

use crate::{
    directory::Directory,
    interest::Interest,
    syntax::is_source_name,
    tree::{Refusal, Tree, identity},
};

/// The directories of a run.
#[derive(Debug)]
pub(crate) struct Directories {
    /// The directory tree that is checked; without one, no other file is read.
    tree: Option<Tree>,
    pub(crate) interest: Interest,
    known: RefCell<BTreeMap<PathBuf, Rc<Directory>>>,
    problems: RefCell<Vec<InputProblem>>,
}

impl Directories {
    pub(crate) fn new(tree: Option<Tree>, interest: Interest) -> Self {
        Self { tree, interest, known: RefCell::default(), problems: RefCell::default() }
    }

    /// The module in a directory. What cannot be read is a problem if the directory `is_named` or has one of the words.
    pub(crate) fn load(&self, path: &Path, is_named: bool) -> Rc<Directory> {
        let identity = identity(path);
        if let Some(known) = self.known.borrow().get(&identity) {
            return Rc::clone(known);
        }
        let Some(tree) = &self.tree else { return Rc::default() };
        let shown = path.to_string_lossy().into_owned();
        let mut unread = Vec::new();
        let mut sources = tree.files(path, &shown, is_source_name, &mut unread);
        // OpenTofu reads `main.tofu` instead of `main.tf`.
        let is_tofu = |file: &&Arc<SourceFile>| file.name.contains(".tofu");
        let replaced: BTreeSet<String> =
            sources.iter().filter(is_tofu).map(|file| file.name.replace(".tofu", ".tf")).collect();
        sources.retain(|file| !replaced.contains(&file.name));
        let is_relevant = is_named
            || sources.iter().any(|file| self.interest.has_word(&file.text))
            || unread.iter().any(|file| file.may_have_word(&self.interest));
        let is_partial = !unread.is_empty();
        let values = tree.files(path, &shown, is_values_name, &mut unread);
        let mut problems: Vec<InputProblem> = unread.into_iter().map(|file| file.problem).collect();
        let mut directory = Directory::of(sources, values, tree, &self.interest, &mut problems);
        directory.is_partial |= is_partial;
        directory.is_generated = tree.may_generate_in(&identity);
        path.clone_into(&mut directory.path);
        if is_relevant {
            self.problems.borrow_mut().extend(problems);
        }
        let directory = Rc::new(directory);
        self.known.borrow_mut().insert(identity, Rc::clone(&directory));
        directory
    }

    /// The module of one text. No other file is read.
    pub(crate) fn alone(&self, file: Arc<SourceFile>) -> Rc<Directory> {
        let mut problems = self.problems.borrow_mut();
        let directory = Directory::of(vec![file], Vec::new(), &Tree::default(), &self.interest, &mut problems);
        Rc::new(Directory { is_alone: true, ..directory })
    }

    /// The path of something in the tree.
    pub(crate) fn find(&self, base: &Path, relative: &str) -> Result<PathBuf, Refusal> {
        self.tree.as_ref().ok_or(Refusal::Alone)?.find(base, relative)
    }

    /// The text of a file in the tree.
    pub(crate) fn read(&self, base: &Path, relative: &str) -> Result<String, Refusal> {
        self.tree.as_ref().ok_or(Refusal::Alone)?.read(base, relative, &mut self.problems.borrow_mut())
    }

    /// What could not be read so far.
    pub(crate) fn take_problems(&self) -> Vec<InputProblem> {
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
