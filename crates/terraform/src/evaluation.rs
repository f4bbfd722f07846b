//! What all modules of a run share.

use std::{path::Path, rc::Rc, sync::Arc};

use document::{InputProblem, SourceFile};

use crate::{
    budget::Budget, causes::Causes, directories::Directories, directory::Directory, interest::Interest, tree::Tree,
};

/// A run: the directories that it reads, what its expressions may still cost, and why their values are unknown.
#[derive(Debug)]
pub struct Evaluation {
    pub(crate) directories: Directories,
    pub(crate) budget: Budget,
    pub(crate) causes: Causes,
}

impl Evaluation {
    /// Evaluates modules of `tree`; without one, no file is read.
    pub fn new(tree: Option<Tree>, interest: Interest) -> Self {
        Self { directories: Directories::new(tree, interest), budget: Budget::new(), causes: Causes::default() }
    }

    /// The module in a directory. What cannot be read is a problem if the directory `is_named` or has one of the words of
    /// interest.
    pub fn load(&self, path: &Path, is_named: bool) -> Rc<Directory> {
        self.directories.load(path, is_named)
    }

    /// The module of one text. No other file is read.
    pub fn alone(&self, file: Arc<SourceFile>) -> Rc<Directory> {
        self.directories.alone(file)
    }

    /// What could not be read since the last call.
    pub fn take_problems(&self) -> Vec<InputProblem> {
        self.directories.take_problems()
    }

    /// Whether the expressions of the root module produced too much, so that values are unknown.
    pub fn is_exhausted(&self) -> bool {
        self.budget.is_exhausted()
    }

    /// Begins with the next root module, which has all of the limit.
    pub(crate) fn renew(&self) {
        self.budget.renew();
        self.causes.clear();
    }
}
