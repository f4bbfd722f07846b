//! Why values are unknown.

use std::{cell::RefCell, collections::BTreeSet, sync::Arc};

use document::{SourceFile, Span};

/// Why a value is unknown.
#[derive(Debug, Clone)]
pub struct UnknownCause {
    pub file: Arc<SourceFile>,
    pub span: Span,
    pub reason: String,
}

/// The causes that evaluation has met, in their order.
#[derive(Debug, Default)]
pub(crate) struct Causes {
    met: RefCell<Vec<UnknownCause>>,
    /// Undeclared references of what is being evaluated: Terraform refuses the module.
    undeclared: RefCell<Vec<UnknownCause>>,
    /// Their places: each is reported once.
    seen: RefCell<BTreeSet<(String, Span)>>,
}

impl Causes {
    pub(crate) fn clear(&self) {
        self.met.take();
        self.undeclared.take();
    }

    /// Notes an undeclared reference, unless it is known.
    pub(crate) fn note_undeclared(&self, cause: UnknownCause) {
        if self.seen.borrow_mut().insert((cause.file.name.clone(), cause.span)) {
            self.undeclared.borrow_mut().push(cause);
        }
    }

    /// Evaluates something, and returns also the undeclared references in it that no earlier evaluation met.
    pub(crate) fn undeclared_of<T>(&self, evaluate: impl FnOnce() -> T) -> (T, Vec<UnknownCause>) {
        let before = self.undeclared.take();
        let value = evaluate();
        (value, self.undeclared.replace(before))
    }

    /// Evaluates something that may fail, as the argument of `try`, without noting what is undeclared in it.
    pub(crate) fn attempt<T>(&self, evaluate: impl FnOnce() -> T) -> T {
        let before = self.undeclared.borrow().len();
        let value = evaluate();
        self.undeclared.borrow_mut().truncate(before);
        value
    }

    /// Notes why a value is unknown.
    pub(crate) fn note(&self, cause: UnknownCause) {
        self.met.borrow_mut().push(cause);
    }

    /// Notes the cause of something that was evaluated before.
    pub(crate) fn repeat(&self, cause: Option<&UnknownCause>) {
        self.met.borrow_mut().extend(cause.cloned());
    }

    /// Evaluates something, and returns also the first reason for which a part of it is unknown.
    pub(crate) fn first_of<T>(&self, evaluate: impl FnOnce() -> T) -> (T, Option<UnknownCause>) {
        let before = self.met.take();
        let value = evaluate();
        let mut found = self.met.replace(before);
        let first = if found.is_empty() { None } else { Some(found.swap_remove(0)) };
        (value, first)
    }
}
