//! Outputs of the modules that a module calls. Source:
//! <https://developer.hashicorp.com/terraform/language/values/outputs>

use std::rc::Rc;

use document::{HOLE, Node, Span};
use hcl_edit::expr::TraversalOperator;

use crate::{
    callees::{Callee, callee, callees},
    module::{Called, Module},
    scope::{Frame, Scope},
    traversal::{attribute_name, attribute_of_resource, follow},
    values::{entry, list, map, unknown},
    variables::output,
};

/// The value of a reference that begins with `module`. Outputs of other modules are known only to Terraform.
pub(crate) fn of_call(
    module: &Module<'_>,
    operators: &[&TraversalOperator],
    span: Span,
    frame: Frame<'_>,
) -> Option<Node> {
    let directory = Rc::clone(&module.directory);
    let elsewhere = || Some(attribute_of_resource(module, "module", operators, span, frame));
    let (first, rest) = operators.split_first()?;
    let call = directory.calls.iter().find(|call| call.label(0) == attribute_name(first));
    let Some(call) = call else {
        let name = attribute_name(first).map(|name| format!("module.{name}"));
        return name.map_or_else(elsewhere, |name| Some(module.undeclared(frame, span, &name)));
    };
    // To find a directory takes longer than other references do.
    if !module.spend(frame, 50) {
        return Some(unknown(span));
    }
    let Callee::Directory(_, source) = callee(module, call) else { return elsewhere() };
    let Some(callees) = callees(module, call, &source, frame.depth + 1) else {
        let name = call.label(0).unwrap_or_default();
        return Some(module.unknown(frame, span, &format!("the inputs of module.{name} depend on its own outputs")));
    };
    let attribute = |name| call.body.attribute(name).is_some();
    let callees = callees.as_slice();
    match rest {
        _ if !attribute("count") && !attribute("for_each") => outputs(module, callees.first()?, rest, span, frame),
        [TraversalOperator::Index(key), rest @ ..] => {
            let key = module.evaluate(key, None, frame)?.as_text()?;
            if key.contains(HOLE) {
                return Some(unknown(span));
            }
            outputs(module, instance(callees, &key)?, rest, span, frame)
        }
        _ => {
            let outputs = |called: &Called<'_>| all_outputs(&called.module, module, frame, span);
            let all = if callees.iter().any(|called| key_of(called).contains(HOLE)) {
                unknown(span)
            } else if attribute("count") {
                list(callees.iter().map(outputs).collect(), span)
            } else {
                map(callees.iter().map(|called| entry(key_of(called), outputs(called))).collect(), span)
            };
            follow(module, all, rest, span, frame)
        }
    }
}

/// The value of a reference that follows the call: only the output that it names is evaluated.
fn outputs(
    module: &Module<'_>,
    called: &Called<'_>,
    operators: &[&TraversalOperator],
    span: Span,
    frame: Frame<'_>,
) -> Option<Node> {
    let Some((name, rest)) = operators.split_first().and_then(|(first, rest)| Some((attribute_name(first)?, rest)))
    else {
        return follow(module, all_outputs(&called.module, module, frame, span), operators, span, frame);
    };
    follow(module, output(&called.module, name, module, frame, span)?, rest, span, frame)
}

/// All outputs as a map, for `caller`, which refers to them at `span`.
fn all_outputs(module: &Module<'_>, caller: &Module<'_>, frame: Frame<'_>, span: Span) -> Node {
    let names = module.directory.outputs.keys();
    let value = |name| output(module, name, caller, frame, span).unwrap_or_else(|| unknown(span));
    map(names.map(|name| entry(name, value(name))).collect(), span)
}

/// The instance with this key. If it is not known which instances there are, the only one stands for all of them.
fn instance<'c, 'w>(callees: &'c [Called<'w>], key: &str) -> Option<&'c Called<'w>> {
    callees.iter().find(|called| {
        let own = key_of(called);
        own == key || own.contains(HOLE)
    })
}

fn key_of(called: &Called<'_>) -> String {
    called.instance.key().and_then(Node::as_text).unwrap_or_default()
}
