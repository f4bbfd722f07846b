//! Local values and variables. Source: <https://developer.hashicorp.com/terraform/language/values>

use std::rc::Rc;

use super::{
    frame::Frame,
    module::{Known, Module},
    syntax::Attribute,
    types::convert,
    values::{cost, depth, pinned, placed, unknown},
};
use crate::document::{Node, Span, Value};

/// Values of references nested deeper than this are unknown.
const MAX_NESTING: usize = 64;

impl Module<'_> {
    /// `local.NAME`
    pub(super) fn local(&self, name: &str, frame: Frame<'_>, span: Span) -> Option<Node> {
        let directory = Rc::clone(&self.directory);
        let Some(attribute) = directory.locals.get(name) else {
            return Some(self.unknown(frame, span, format!("local.{name} is not declared")));
        };
        self.remembered(&format!("local.{name}"), attribute.file, frame, span, |frame| {
            self.evaluate(&attribute.expression, frame)
        })
    }

    /// `var.NAME`
    pub(super) fn variable(&self, name: &str, frame: Frame<'_>, span: Span) -> Option<Node> {
        let directory = Rc::clone(&self.directory);
        let Some(block) = directory.variables.get(name) else {
            return Some(self.unknown(frame, span, format!("var.{name} is not declared")));
        };
        let is_sensitive = block.body.attribute("sensitive").is_some();
        if is_sensitive {
            return Some(self.unknown(frame, span, format!("var.{name} is sensitive")));
        }
        let kind = block.body.attribute("type");
        let typed = |value: Node| match kind {
            Some(kind) => convert(self, value, &kind.expression),
            None => value,
        };
        let set: Option<&Attribute> = match &self.inputs {
            Some(inputs) => {
                if let Some(input) = inputs.get(name) {
                    // The value is from another file.
                    return Some(typed(placed(input, span)));
                }
                None
            }
            None => directory.values.get(name),
        };
        let Some(attribute) = set.or_else(|| block.body.attribute("default")) else {
            return Some(self.unknown(frame, span, format!("var.{name} has no value")));
        };
        self.remembered(&format!("var.{name}"), attribute.file, frame, span, |frame| {
            self.evaluate(&attribute.expression, frame).map(typed)
        })
    }

    /// A value that is evaluated once. In its own file it keeps its places; in others it has that of the reference.
    fn remembered(
        &self,
        name: &str,
        file: usize,
        frame: Frame<'_>,
        span: Span,
        evaluate: impl FnOnce(Frame<'_>) -> Option<Node>,
    ) -> Option<Node> {
        let known = self.known.borrow().get(name).cloned();
        let known = match known {
            Some(Known::Open) => return None,
            Some(known) => known,
            None => {
                self.known.borrow_mut().insert(name.to_owned(), Known::Open);
                let inner = Frame { file, bindings: None, depth: frame.depth + 1 };
                let (value, cause) = self.world.with_cause(|| evaluate(inner));
                let value =
                    value.map(|value| if depth(&value) > MAX_NESTING { unknown(value.place.span) } else { value });
                let known = Known::Value { value: value.map(pinned), file, cause };
                self.known.borrow_mut().insert(name.to_owned(), known.clone());
                known
            }
        };
        let Known::Value { value, file, cause } = known else { return None };
        if let Some(cause) = cause {
            self.world.because(cause);
        }
        let value = value?;
        if !self.world.pay(frame.depth, cost(&value)) {
            return Some(unknown(span));
        }
        let is_here = file == frame.file && !matches!(value.value, Value::Unknown);
        Some(if is_here { value } else { placed(&value, span) })
    }
}
