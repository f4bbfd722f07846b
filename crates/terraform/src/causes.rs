//! Why values are unknown.

use std::{cell::RefCell, sync::Arc};

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
}

impl Causes {
    pub(crate) fn clear(&self) {
        self.met.take();
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
