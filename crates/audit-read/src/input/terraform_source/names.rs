//! Local values, variables and outputs. Source: <https://developer.hashicorp.com/terraform/language/values>

use std::rc::Rc;

use super::{
    frame::Frame,
    module::{Input, Known, Module},
    syntax::{Attribute, Block, Expression},
    types::convert,
    values::{as_bool, cost, depth, unknown},
};
use crate::document::{Node, Span, Value};

/// Values of references nested deeper than this are unknown.
const MAX_NESTING: usize = 64;

impl Module<'_> {
    /// `local.NAME`
    pub(super) fn local(&self, name: &str, frame: Frame<'_>, span: Span) -> Option<Node> {
        let directory = Rc::clone(&self.directory);
        let Some(attribute) = directory.locals.get(name) else {
            return Some(self.unknown(frame, span, self.undeclared(&format!("local.{name}"))));
        };
        self.remembered(&format!("local.{name}"), attribute.file, frame, span, |frame| {
            self.evaluate(&attribute.expression, frame)
        })
    }

    /// `var.NAME`
    pub(super) fn variable(&self, name: &str, frame: Frame<'_>, span: Span) -> Option<Node> {
        let directory = Rc::clone(&self.directory);
        let Some(block) = directory.variables.get(name) else {
            return Some(self.unknown(frame, span, self.undeclared(&format!("var.{name}"))));
        };
        if is_sensitive(block) {
            return Some(self.unknown(frame, span, format!("var.{name} is sensitive")));
        }
        let kind = block.body.attribute("type");
        let typed = |value: Node| match kind {
            Some(kind) => convert(self, value, &kind.expression),
            None => value,
        };
        let takes_default =
            |value: &Node| matches!(value.value, Value::Null) && literal_bool(block, "nullable") == Some(false);
        let default = block.body.attribute("default");
        let set: Option<&Attribute> = match &self.inputs {
            Some(inputs) => {
                let input = inputs.get(name).filter(|input| !takes_default(&input.value));
                if let Some(Input { value, cause }) = input {
                    self.world.because_of(cause.as_ref());
                    // The value is from another file.
                    return Some(typed(value.placed(span)));
                }
                None
            }
            None => directory.values.get(name),
        };
        let Some(attribute) = set.or(default) else {
            return Some(self.unknown(frame, span, format!("var.{name} has no value")));
        };
        self.remembered(&format!("var.{name}"), attribute.file, frame, span, |frame| {
            let mut value = self.evaluate(&attribute.expression, frame)?;
            if takes_default(&value) {
                let default = default?;
                value = self.evaluate(&default.expression, Frame { file: default.file, ..frame })?;
            }
            Some(typed(value))
        })
    }

    /// An output, for `caller`, which refers to it at `span`.
    pub(super) fn output(&self, name: &str, caller: &Module<'_>, frame: Frame<'_>, span: Span) -> Option<Node> {
        let shown = format!("{}.{name}", self.address);
        let Some(block) = self.directory.outputs.get(name) else {
            return Some(caller.unknown(frame, span, self.undeclared(&shown)));
        };
        let attribute = block.body.attribute("value")?;
        if is_sensitive(block) {
            return Some(caller.unknown(frame, span, format!("{shown} is sensitive")));
        }
        let value = self.remembered(&format!("output.{name}"), attribute.file, frame, span, |frame| {
            self.evaluate(&attribute.expression, frame)
        });
        value.map(|value| value.placed(span))
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
                let value = value.map(|mut value| {
                    value.remove_routes();
                    value
                });
                let known = Known::Value { value, file, cause };
                self.known.borrow_mut().insert(name.to_owned(), known.clone());
                known
            }
        };
        let Known::Value { value, file, cause } = known else { return None };
        self.world.because_of(cause.as_ref());
        let value = value?;
        if !self.world.pay(frame.depth, cost(&value)) {
            return Some(unknown(span));
        }
        let is_here = file == frame.file && !value.is_unknown();
        Some(if is_here { value } else { value.placed(span) })
    }
}

/// Terraform shows no value of a sensitive variable or output.
fn is_sensitive(block: &Block) -> bool {
    block.body.attribute("sensitive").is_some() && literal_bool(block, "sensitive") != Some(false)
}

/// A boolean argument. Terraform takes only literals; strings are converted.
fn literal_bool(block: &Block, name: &str) -> Option<bool> {
    let expression = &block.body.attribute(name)?.expression;
    let own = match expression {
        Expression::Native(native) => native.as_bool(),
        Expression::Json(json) => as_bool(json),
    };
    own.or_else(|| expression.literal()?.parse().ok())
}
