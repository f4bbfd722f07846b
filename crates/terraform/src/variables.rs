//! Local values, variables and outputs of a module: each is evaluated once. Source:
//! <https://developer.hashicorp.com/terraform/language/values>

use std::rc::Rc;

use document::{Node, Span, Value};
use hcl_edit::expr::TraversalOperator;

use crate::{
    expression::evaluate,
    module::{Input, Known, Module},
    scope::{Frame, Scope},
    syntax::{Attribute, Block, Expression},
    traversal::{attribute_name, follow},
    types::convert,
    values::{as_bool, cost, depth, unknown},
};

/// Instead of the number of a file: inputs are from another module.
const ELSEWHERE: usize = usize::MAX;

/// Values of references nested deeper than this are unknown.
const MAX_NESTING: usize = 64;

/// `local.NAME`, and the `steps` behind it.
pub(crate) fn local(
    module: &Module<'_>,
    name: &str,
    steps: &[&TraversalOperator],
    frame: Frame<'_>,
    span: Span,
) -> Option<Node> {
    let directory = Rc::clone(&module.directory);
    let Some(attribute) = directory.locals.get(name) else {
        return Some(module.undeclared(frame, span, &format!("local.{name}")));
    };
    remembered(module, &format!("local.{name}"), steps, attribute.file, frame, span, |frame| {
        evaluate(module, &attribute.expression, frame)
    })
}

/// `var.NAME`, and the `steps` behind it.
pub(crate) fn variable(
    module: &Module<'_>,
    name: &str,
    steps: &[&TraversalOperator],
    frame: Frame<'_>,
    span: Span,
) -> Option<Node> {
    let directory = Rc::clone(&module.directory);
    let Some(block) = directory.variables.get(name) else {
        return Some(module.undeclared(frame, span, &format!("var.{name}")));
    };
    if is_sensitive(block) {
        return Some(module.unknown(frame, span, &format!("var.{name} is sensitive")));
    }
    let kind = block.body.attribute("type");
    let typed = |value: Node| match kind {
        Some(kind) => convert(module, value, &kind.expression),
        None => value,
    };
    let takes_default =
        |value: &Node| matches!(value.value, Value::Null) && literal_bool(block, "nullable") == Some(false);
    let default = block.body.attribute("default");
    let known = format!("var.{name}");
    let set: Option<&Attribute> = match &module.inputs {
        Some(inputs) => {
            let input = inputs.get(name).filter(|input| !takes_default(&input.value));
            if let Some(Input { value, cause }) = input {
                let file = if module.provided.is_some() { frame.file } else { ELSEWHERE };
                return remembered(module, &known, steps, file, frame, span, |_| {
                    module.causes().repeat(cause.as_ref());
                    Some(typed(value.clone()))
                });
            }
            None
        }
        None => directory.values.get(name),
    };
    let Some(attribute) = set.or(default) else {
        let reason = format!("var.{name} has no value");
        if module.inputs.is_some() {
            module.note_undeclared(
                &directory,
                frame,
                span,
                &format!("{reason}: the call of its module does not set it"),
            );
        }
        return Some(module.unknown(frame, span, &reason));
    };
    remembered(module, &known, steps, attribute.file, frame, span, |frame| {
        let mut value = evaluate(module, &attribute.expression, frame)?;
        if takes_default(&value) {
            let default = default?;
            value = evaluate(module, &default.expression, Frame { file: default.file, ..frame })?;
        }
        Some(typed(value))
    })
}

/// An output, for `caller`, which refers to it at `span`.
pub(crate) fn output(
    module: &Module<'_>,
    name: &str,
    caller: &Module<'_>,
    frame: Frame<'_>,
    span: Span,
) -> Option<Node> {
    let shown = format!("{}.{name}", module.address);
    let Some(block) = module.directory.outputs.get(name) else {
        return Some(caller.undeclared_in(&module.directory, frame, span, &shown));
    };
    let attribute = block.body.attribute("value")?;
    if is_sensitive(block) {
        return Some(caller.unknown(frame, span, &format!("{shown} is sensitive")));
    }
    let value = remembered(module, &format!("output.{name}"), &[], attribute.file, frame, span, |frame| {
        evaluate(module, &attribute.expression, frame)
    });
    value.map(|value| value.placed(span))
}

/// A value that is evaluated once, then followed by `steps`. In its own file it keeps its places; in others it has
/// the place of the reference.
fn remembered(
    module: &Module<'_>,
    name: &str,
    steps: &[&TraversalOperator],
    file: usize,
    frame: Frame<'_>,
    span: Span,
    evaluate: impl FnOnce(Frame<'_>) -> Option<Node>,
) -> Option<Node> {
    let known = module.known.borrow().get(name).cloned();
    let known = match known {
        Some(Known::Open) => return None,
        Some(known) => known,
        None => {
            module.known.borrow_mut().insert(name.to_owned(), Known::Open);
            let inner = Frame { depth: frame.depth + 1, ..Frame::of(file) };
            let (value, cause) = module.causes().first_of(|| evaluate(inner));
            let value = value.map(|mut value| {
                if depth(&value) > MAX_NESTING {
                    value = unknown(value.place.span);
                }
                if module.provided.is_none() {
                    value.remove_routes();
                }
                Rc::new(value)
            });
            let known = Known::Value { value, file, cause };
            module.known.borrow_mut().insert(name.to_owned(), known.clone());
            known
        }
    };
    let Known::Value { value, file, cause } = known else { return None };
    module.causes().repeat(cause.as_ref());
    let value = value?;
    // Only the part that is wanted is copied.
    let (mut part, mut steps): (&Node, _) = (&value, steps);
    while let Some((inner, rest)) = attribute_of(part, steps) {
        (part, steps) = (inner, rest);
    }
    if !module.spend(frame, cost(part)) {
        return Some(unknown(span));
    }
    let is_here = file == frame.file && !part.is_unknown();
    follow(module, if is_here { part.clone() } else { part.placed(span) }, steps, span, frame)
}

/// The attribute of a map that the first step leads to, and the steps behind it.
fn attribute_of<'n, 's, 'o>(
    value: &'n Node,
    steps: &'s [&'o TraversalOperator],
) -> Option<(&'n Node, &'s [&'o TraversalOperator])> {
    let (first, rest) = steps.split_first()?;
    let name = attribute_name(first)?;
    value.entries().iter().find(|entry| entry.key == name).map(|entry| (&entry.node, rest))
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
