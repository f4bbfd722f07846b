//! Outputs of modules in directories: `module.web.arn`, `module.web["a"].arn`, `module.web[*].arn`. Source:
//! <https://developer.hashicorp.com/terraform/language/values/outputs>

use std::rc::Rc;

use hcl_edit::expr::TraversalOperator;

use super::{
    calls::{Callee, callee},
    frame::Frame,
    module::{Called, Module},
    traversal::attribute_name,
    values::{as_text, entry, list, map, unknown},
};
use crate::document::{HOLE, Node, Span};

impl Module<'_> {
    /// The value of a reference that begins with `module`. Outputs of other modules are known only to Terraform.
    pub(super) fn of_call(&self, operators: &[&TraversalOperator], span: Span, frame: Frame<'_>) -> Option<Node> {
        let directory = Rc::clone(&self.directory);
        let elsewhere = || Some(self.attribute_of_resource("module", operators, span, frame));
        let (first, rest) = operators.split_first()?;
        let call = directory.calls.iter().find(|call| call.label(0) == attribute_name(first));
        let Some(call) = call else { return elsewhere() };
        // To find a directory takes longer than other references do.
        if !self.world.pay(frame.depth, 50) {
            return Some(unknown(span));
        }
        let Callee::Directory(_, source) = callee(self, call) else { return elsewhere() };
        let Some(callees) = self.callees(call, &source, frame.depth + 1) else {
            let name = call.label(0).unwrap_or_default();
            return Some(self.unknown(frame, span, format!("the inputs of module.{name} depend on its own outputs")));
        };
        let attribute = |name| call.body.attribute(name).is_some();
        let callees = callees.as_slice();
        match rest {
            _ if !attribute("count") && !attribute("for_each") => self.outputs(callees.first()?, rest, span, frame),
            [TraversalOperator::Index(key), rest @ ..] => {
                let key = as_text(&self.native(key, None, frame)?)?;
                if key.contains(HOLE) {
                    return Some(unknown(span));
                }
                self.outputs(instance(callees, &key)?, rest, span, frame)
            }
            _ => {
                let outputs = |called: &Called<'_>| called.module.all_outputs(self, frame, span);
                let all = if callees.iter().any(|called| key_of(called).contains(HOLE)) {
                    unknown(span)
                } else if attribute("count") {
                    list(callees.iter().map(outputs).collect(), span)
                } else {
                    map(callees.iter().map(|called| entry(key_of(called), outputs(called))).collect(), span)
                };
                self.steps(all, rest, span, frame)
            }
        }
    }

    /// The value of a reference that follows the call: only the output that it names is evaluated.
    fn outputs(
        &self,
        called: &Called<'_>,
        operators: &[&TraversalOperator],
        span: Span,
        frame: Frame<'_>,
    ) -> Option<Node> {
        let Some((name, rest)) = operators.split_first().and_then(|(first, rest)| Some((attribute_name(first)?, rest)))
        else {
            return self.steps(called.module.all_outputs(self, frame, span), operators, span, frame);
        };
        self.steps(called.module.output(name, self, frame, span)?, rest, span, frame)
    }

    /// All outputs as a map, for `caller`, which refers to them at `span`.
    fn all_outputs(&self, caller: &Module<'_>, frame: Frame<'_>, span: Span) -> Node {
        let names = self.directory.outputs.keys();
        let value = |name| self.output(name, caller, frame, span).unwrap_or_else(|| unknown(span));
        map(names.map(|name| entry(name, value(name))).collect(), span)
    }
}

/// The instance with this key. If it is not known which instances there are, the only one stands for all of them.
fn instance<'c, 'w>(callees: &'c [Called<'w>], key: &str) -> Option<&'c Called<'w>> {
    callees.iter().find(|called| {
        let own = key_of(called);
        own == key || own.contains(HOLE)
    })
}

fn key_of(called: &Called<'_>) -> String {
    called.instance.key().and_then(as_text).unwrap_or_default()
}
