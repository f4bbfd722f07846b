//! Where an expression is evaluated, and the names that are known there.

use crate::document::Node;

/// Where an expression is evaluated.
#[derive(Clone, Copy)]
pub(super) struct Frame<'f> {
    /// The file whose bytes places count.
    pub(super) file: usize,
    pub(super) bindings: Option<&'f Binding<'f>>,
    pub(super) depth: usize,
}

/// A name that is known within an expression: of `for`, `each` and `count`.
pub(super) struct Binding<'f> {
    pub(super) name: &'f str,
    pub(super) value: &'f Node,
    pub(super) next: Option<&'f Binding<'f>>,
}

impl<'f> Frame<'f> {
    pub(super) fn of(file: usize) -> Self {
        Self { file, bindings: None, depth: 0 }
    }

    /// The value that a name is bound to.
    pub(super) fn bound(self, name: &str) -> Option<&'f Node> {
        let mut next = self.bindings;
        while let Some(binding) = next {
            if binding.name == name {
                return Some(binding.value);
            }
            next = binding.next;
        }
        None
    }
}
