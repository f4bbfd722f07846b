//! What all modules of a run share: their directories, the limits, and why values are unknown.

use std::{
    cell::{Cell, RefCell},
    sync::Arc,
};

use super::directories::Directories;
use crate::{document::Span, source::SourceFile};

/// Expressions nested deeper than this, counting through references, are unknown.
const MAX_DEPTH: usize = 100;

/// What the expressions of a root module, and of those that it calls, may produce: enough for thousands of task definitions, and a limit for malicious
/// files.
const MAX_COST: usize = 2_000_000;

/// What all modules of a run share.
#[derive(Debug)]
pub(super) struct World {
    pub(super) directories: Directories,
    left: Cell<usize>,
    causes: RefCell<Vec<Cause>>,
}

/// Why a value is unknown.
#[derive(Debug, Clone)]
pub(super) struct Cause {
    pub(super) file: Arc<SourceFile>,
    pub(super) span: Span,
    pub(super) reason: String,
}

impl World {
    pub(super) fn new(directories: Directories) -> Self {
        Self { directories, left: Cell::new(MAX_COST), causes: RefCell::default() }
    }

    /// Begins with the next root module, which has all of the limit.
    pub(super) fn renew(&self) {
        self.left.set(MAX_COST);
        self.causes.take();
    }

    /// Whether an expression of this depth and cost may be evaluated.
    pub(super) fn pay(&self, depth: usize, cost: usize) -> bool {
        self.left.set(self.left.get().saturating_sub(cost));
        depth < MAX_DEPTH && self.left.get() > 0
    }

    /// Whether the limit is reached, so that values are unknown.
    pub(super) fn is_exhausted(&self) -> bool {
        self.left.get() == 0
    }

    /// Notes why a value is unknown.
    pub(super) fn because(&self, cause: Cause) {
        self.causes.borrow_mut().push(cause);
    }

    /// The same for something that was evaluated before.
    pub(super) fn because_of(&self, cause: Option<&Cause>) {
        self.causes.borrow_mut().extend(cause.cloned());
    }

    /// Evaluates something, and returns also the first reason for which a part of it is unknown.
    pub(super) fn with_cause<T>(&self, evaluate: impl FnOnce() -> T) -> (T, Option<Cause>) {
        let before = self.causes.take();
        let value = evaluate();
        let mut found = self.causes.replace(before);
        let first = if found.is_empty() { None } else { Some(found.swap_remove(0)) };
        (value, first)
    }
}
