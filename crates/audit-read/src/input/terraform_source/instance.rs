//! An instance of a block with `count` or `for_each`. Source:
//! <https://developer.hashicorp.com/terraform/language/meta-arguments>

use super::{
    frame::{Binding, Frame},
    values::{entry, map, node},
    world::Cause,
};
use crate::document::{Node, Span, Value};

/// An instance of a block.
pub(super) struct Instance {
    /// The end of its address: empty, `[0]` or `["key"]`.
    pub(super) suffix: String,
    /// What `each` or `count` is bound to.
    bound: Option<(&'static str, Node)>,
    /// Why it is not known which instances there are.
    pub(super) cause: Option<Cause>,
}

impl Instance {
    /// Evaluates something for this instance.
    pub(super) fn within<T>(&self, file: usize, depth: usize, evaluate: impl FnOnce(Frame<'_>) -> T) -> T {
        let binding = self.bound.as_ref().map(|(name, value)| Binding { name, value, next: None });
        evaluate(Frame { file, bindings: binding.as_ref(), depth })
    }

    /// The only one of a block.
    pub(super) fn only() -> Self {
        Self { suffix: String::new(), bound: None, cause: None }
    }

    /// Its key or number; `None` if there is only one instance.
    pub(super) fn key(&self) -> Option<&Node> {
        let (_, bound) = self.bound.as_ref()?;
        bound.get("key").or_else(|| bound.get("index"))
    }

    /// One of `for_each`.
    pub(super) fn each(key: Node, value: Node, suffix: String, span: Span) -> Self {
        let bound = map(vec![entry("key", key), entry("value", value)], span);
        Self { suffix, bound: Some(("each", bound)), cause: None }
    }

    /// One of `count`.
    pub(super) fn counted(index: Value, suffix: String, span: Span) -> Self {
        let bound = map(vec![entry("index", node(index, span))], span);
        Self { suffix, bound: Some(("count", bound)), cause: None }
    }
}
