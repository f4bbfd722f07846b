//! Calls of Terraform's functions. Source: <https://developer.hashicorp.com/terraform/language/functions>

use hcl_edit::expr::FuncCall;

use super::{
    encoding,
    frame::{Binding, Frame},
    lists, maps,
    module::Module,
    outcome::Outcome,
    strings,
    tree::Refusal,
    values::{as_text, cost, node, text, unknown},
};
use crate::document::{HOLE, Node, Route, Span, Value};

/// What a call costs for each part of its arguments: functions copy, compare and sort them.
const COST_OF_CALLS: usize = 4;

impl Module<'_> {
    /// The value of a call. Edits reach the argument of `jsonencode`: it is spelled as the result is read.
    pub(super) fn call(&self, call: &FuncCall, route: Option<&Route>, span: Span, frame: Frame<'_>) -> Option<Node> {
        let name = if call.name.is_namespaced() { "" } else { call.name.name.as_str() };
        match name {
            "try" => return self.first_valid(call, span, frame),
            "can" => {
                let value = call.args.get(0).and_then(|argument| self.native(argument, None, frame));
                let is_unknown = matches!(&value, Some(Node { value: Value::Unknown, .. }));
                let can = if is_unknown { Value::Unknown } else { Value::Bool(value.is_some()) };
                return Some(node(can, span));
            }
            "jsonencode" => {
                let value = self.native(call.args.get(0)?, route, frame)?;
                return Some(encoding::json_encoded(&value, span));
            }
            _ => {}
        }
        let arguments = self.arguments(call, frame)?;
        let Some(arguments) = arguments else { return Some(unknown(span)) };
        let size: usize = arguments.iter().map(cost).sum();
        if !self.world.pay(frame.depth, COST_OF_CALLS * size) {
            return Some(unknown(span));
        }
        let outcome = match name {
            "file" | "templatefile" | "fileexists" => self.file_content(name, &arguments, span, frame),
            "sensitive" => Outcome::Unknown,
            "nonsensitive" => only(&arguments).cloned().map(Outcome::Node).into(),
            "jsondecode" => only(&arguments).map(|json| encoding::json_decoded(json, span)).into(),
            _ => computed(name, &arguments, span),
        };
        match outcome {
            Outcome::Value(value) => Some(node(value, span)),
            Outcome::Node(node) => Some(node),
            Outcome::Unknown => Some(unknown(span)),
            Outcome::Invalid => None,
            Outcome::NoSuchFunction => {
                Some(self.unknown(frame, span, format!("the function {} is not computed", call.name.name.as_str())))
            }
        }
    }

    /// The arguments; `Some(None)` if it is not known how many there are.
    #[expect(clippy::option_option, reason = "unknown is not the same as invalid")]
    fn arguments(&self, call: &FuncCall, frame: Frame<'_>) -> Option<Option<Vec<Node>>> {
        let mut arguments = Vec::new();
        for argument in &call.args {
            arguments.push(self.native(argument, None, frame)?);
        }
        if call.args.expand_final() {
            let last = arguments.pop()?;
            match last.value {
                Value::List(items) if !items.iter().any(Node::is_unknown) => {
                    arguments.extend(items);
                }
                Value::List(_) | Value::Unknown => return Some(None),
                _ => return None,
            }
        }
        Some(Some(arguments))
    }

    /// `try`: the first argument that Terraform does not refuse. If that argument is unknown, so is the result.
    fn first_valid(&self, call: &FuncCall, span: Span, frame: Frame<'_>) -> Option<Node> {
        let value = call.args.iter().find_map(|argument| self.native(argument, None, frame))?;
        Some(if value.is_unknown() { unknown(span) } else { value })
    }

    /// The content of a file in the directory tree that is checked.
    fn file_content(&self, name: &str, arguments: &[Node], span: Span, frame: Frame<'_>) -> Outcome {
        let Some(path) = arguments.first() else { return Outcome::Invalid };
        let Some(path) = as_text(path) else { return Outcome::Invalid };
        if path.contains(HOLE) {
            return Outcome::Unknown;
        }
        let Some(tree) = &self.world.directories.tree else {
            return Outcome::Node(self.unknown(frame, span, "files beside this text are not read"));
        };
        let read = tree.read(&self.location.root, &path);
        if name == "fileexists" {
            return match read {
                Ok(_) => Outcome::Value(Value::Bool(true)),
                Err(Refusal::Missing) => Outcome::Value(Value::Bool(false)),
                Err(Refusal::Outside) => Outcome::Unknown,
            };
        }
        let content = match read {
            Ok(content) => content,
            Err(Refusal::Missing) => {
                return Outcome::Node(self.unknown(frame, span, "the file does not exist or cannot be read"));
            }
            Err(Refusal::Outside) => {
                let reason = "the file is outside of the directories that are checked";
                return Outcome::Node(self.unknown(frame, span, reason));
            }
        };
        if !self.world.pay(frame.depth, content.len() / 32) {
            return Outcome::Unknown;
        }
        if name == "file" {
            return Outcome::Node(text(content, span));
        }
        self.rendered(&content, arguments.get(1), span, frame).into()
    }

    /// `templatefile`: the places in the template are those of the call, because it is another file.
    fn rendered(&self, template: &str, variables: Option<&Node>, span: Span, frame: Frame<'_>) -> Option<Outcome> {
        let variables = variables?;
        let template = hcl_edit::parser::parse_template(template).ok()?;
        let known = match &variables.value {
            Value::Map(entries) => entries.as_slice(),
            Value::Unknown => return Some(Outcome::Unknown),
            _ => return None,
        };
        self.rendered_with(&template, known, None, span, frame)
    }

    /// Binds the variables one after the other.
    fn rendered_with(
        &self,
        template: &hcl_edit::template::Template,
        variables: &[crate::document::Entry],
        bindings: Option<&Binding<'_>>,
        span: Span,
        frame: Frame<'_>,
    ) -> Option<Outcome> {
        if let Some((first, rest)) = variables.split_first() {
            // More variables than expressions may be nested are not bound.
            let depth = frame.depth + 1;
            if !self.world.pay(depth, 1) {
                return Some(Outcome::Unknown);
            }
            let binding = Binding { name: &first.key, value: &first.node, next: bindings };
            return self.rendered_with(template, rest, Some(&binding), span, Frame { depth, ..frame });
        }
        let value = self.template_value(template, span, Frame { bindings, ..frame })?;
        Some(Outcome::Node(value.placed(span)))
    }
}

/// The result of a function that depends on its arguments alone.
fn computed(name: &str, arguments: &[Node], span: Span) -> Outcome {
    let results =
        [strings::call(name, arguments), maps::call(name, arguments, span), lists::call(name, arguments, span)];
    results.into_iter().find(|result| !matches!(result, Outcome::NoSuchFunction)).unwrap_or(Outcome::NoSuchFunction)
}

fn only(arguments: &[Node]) -> Option<&Node> {
    if let [argument] = arguments { Some(argument) } else { None }
}
