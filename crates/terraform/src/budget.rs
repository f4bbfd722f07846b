//! What evaluation may cost: a limit for malicious files.

use std::cell::Cell;

/// Expressions nested deeper than this, counting through references, are unknown.
const MAX_DEPTH: usize = 100;

/// What the expressions of a root module and its called modules may produce: enough for thousands of
/// large resources.
const MAX_COST: usize = 2_000_000;

/// What the expressions of a root module and its called modules may still produce.
#[derive(Debug)]
pub(crate) struct Budget {
    left: Cell<usize>,
}

impl Budget {
    pub(crate) fn new() -> Self {
        Self { left: Cell::new(MAX_COST) }
    }

    /// Begins with the next root module, which has all of the limit.
    pub(crate) fn renew(&self) {
        self.left.set(MAX_COST);
    }

    /// Whether an expression of this depth and cost may be evaluated.
    pub(crate) fn spend(&self, depth: usize, cost: usize) -> bool {
        self.left.set(self.left.get().saturating_sub(cost));
        depth < MAX_DEPTH && self.left.get() > 0
    }

    /// Whether the limit is reached, so that values are unknown.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.left.get() == 0
    }
}
