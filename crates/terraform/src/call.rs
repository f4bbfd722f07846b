//! Calls of Terraform's functions, with those that need more than the values of their arguments. Source:
//! <https://developer.hashicorp.com/terraform/language/functions>

use document::{Entry, HOLE, Node, Route, Span, Value};
use hcl_edit::{
    expr::{Expression as Native, FuncCall},
    parser::parse_template,
    template::Template,
};

use crate::{
    functions::TABLE,
    json::json_encoded,
    scope::{Binding, Frame, Scope},
    template::template_value,
    tree::Refusal,
    values::{Outcome, cost, is_open, node, text, unknown},
};

/// What a call costs for each part of its arguments: functions copy, compare and sort them.
const COST_OF_CALLS: usize = 4;

/// The value of a call. Edits reach the argument of `jsonencode`: it is spelled as the result is read.
pub(crate) fn call(
    scope: &dyn Scope,
    call: &FuncCall,
    route: Option<&Route>,
    span: Span,
    frame: Frame<'_>,
) -> Option<Node> {
    match name_of(call) {
        // If the first argument that Terraform does not refuse is unknown, so is the result.
        "try" => {
            let evaluate = |argument| scope.causes().attempt(|| scope.evaluate(argument, None, frame));
            let value = call.args.iter().find_map(evaluate)?;
            return Some(if value.is_unknown() { unknown(span) } else { value });
        }
        "can" => {
            let evaluate = |argument| scope.causes().attempt(|| scope.evaluate(argument, None, frame));
            let value = call.args.get(0).and_then(evaluate);
            let is_unknown = value.as_ref().is_some_and(Node::is_unknown);
            return Some(node(if is_unknown { Value::Unknown } else { Value::Bool(value.is_some()) }, span));
        }
        "jsonencode" => return Some(json_encoded(&scope.evaluate(call.args.get(0)?, route, frame)?, span)),
        _ => {}
    }
    let (arguments, cause) = scope.causes().first_of(|| arguments(scope, call, frame));
    // Why the call is unknown comes before why an argument is.
    let (value, own) = scope.causes().first_of(|| match arguments {
        Outcome::Value(arguments) => called_with(scope, call, &arguments, span, frame),
        Outcome::Unknown => Some(unknown(span)),
        Outcome::Refused => None,
    });
    scope.causes().repeat(own.as_ref());
    scope.causes().repeat(cause.as_ref());
    value
}

fn called_with(scope: &dyn Scope, call: &FuncCall, arguments: &[Node], span: Span, frame: Frame<'_>) -> Option<Node> {
    if !scope.spend(frame, COST_OF_CALLS * arguments.iter().map(cost).sum::<usize>()) {
        return Some(unknown(span));
    }
    match name_of(call) {
        "file" | "templatefile" | "fileexists" => file_content(scope, call, arguments, span, frame),
        name => {
            let own = scope.provided().map_or(&[][..], |provided| provided.functions);
            let Some((_, function)) = TABLE.iter().chain(own).find(|(own, _)| *own == name) else {
                return Some(scope.unknown(
                    frame,
                    span,
                    &format!("the function {} is not computed", call.name.name.as_str()),
                ));
            };
            Some(of_input(scope, function.of(arguments, span)?, arguments))
        }
    }
}

/// The name of one of Terraform's own functions; empty for one of a provider.
fn name_of(call: &FuncCall) -> &str {
    if call.name.is_namespaced() { "" } else { call.name.name.as_str() }
}

/// The arguments; unknown if it is not known how many there are.
fn arguments(scope: &dyn Scope, call: &FuncCall, frame: Frame<'_>) -> Outcome<Vec<Node>> {
    let arguments = call.args.iter().map(|argument| scope.evaluate(argument, None, frame));
    let Some(mut arguments) = arguments.collect::<Option<Vec<_>>>() else { return Outcome::Refused };
    if call.args.expand_final() {
        match arguments.pop().map(|last| last.value) {
            Some(Value::List(items)) if !items.iter().any(Node::is_unknown) => arguments.extend(items),
            Some(Value::List(_) | Value::Unknown) => return Outcome::Unknown,
            _ => return Outcome::Refused,
        }
    }
    Outcome::Value(arguments)
}

/// In a module that the program provides, a single value that a function computes has the place of the input that it computes it
/// from.
fn of_input(scope: &dyn Scope, value: Node, arguments: &[Node]) -> Node {
    let is_input = |argument: &&Node| Some(argument.place.span) != scope.made_at();
    match (scope.made_at(), arguments.iter().find(is_input), &value.value) {
        (Some(at), Some(input), Value::Text(_) | Value::Number(_) | Value::Bool(_)) if value.place.span == at => {
            node(value.value, input.place.span)
        }
        _ => value,
    }
}

/// The content of a file in the directory tree that is checked.
fn file_content(scope: &dyn Scope, call: &FuncCall, arguments: &[Node], span: Span, frame: Frame<'_>) -> Option<Node> {
    let name = name_of(call);
    let path = arguments.first()?.as_text()?;
    if path.contains(HOLE) {
        return Some(unknown(span));
    }
    let content = match (scope.read_file(&path), name == "fileexists") {
        (Err(Refusal::Alone), _) => return Some(scope.unknown(frame, span, "files next to this text are not read")),
        (Err(Refusal::Outside), true) => return Some(unknown(span)),
        (read, true) => return Some(node(Value::Bool(read.is_ok()), span)),
        (Ok(content), false) => content,
        (Err(Refusal::Missing), false) => {
            return Some(scope.unknown(frame, span, "the file does not exist or cannot be read"));
        }
        (Err(Refusal::Outside), false) => {
            return Some(scope.unknown(frame, span, "the file is outside the checked directories"));
        }
    };
    if !scope.spend(frame, content.len() / 32) {
        return Some(unknown(span));
    }
    if name == "file" {
        return Some(text(content, span));
    }
    // Any other map may have more names: a variable of the root module has its default only if nothing sets it.
    let has_all_names = matches!(call.args.get(1), Some(Native::Object(_)));
    of_template(scope, &content, arguments.get(1)?, has_all_names, span, frame)
}

/// The text that a template in another place produces: its values have the place of the call. `has_all_names` if the call
/// shows the names of all variables.
pub(crate) fn of_template(
    scope: &dyn Scope,
    text: &str,
    variables: &Node,
    has_all_names: bool,
    span: Span,
    frame: Frame<'_>,
) -> Option<Node> {
    let template = parse_template(text).ok();
    match &variables.value {
        Value::Map(entries) => {
            let frame = frame.in_template(span, has_all_names && !is_open(variables));
            rendered(scope, &template?, entries, None, span, frame)
        }
        Value::Unknown => template.map(|_| unknown(span)),
        _ => None,
    }
}

/// The text of a template with these variables. They are bound one after the other.
fn rendered(
    scope: &dyn Scope,
    template: &Template,
    variables: &[Entry],
    bindings: Option<&Binding<'_>>,
    span: Span,
    frame: Frame<'_>,
) -> Option<Node> {
    let Some((first, rest)) = variables.split_first() else {
        return Some(template_value(scope, template, span, Frame { bindings, ..frame })?.placed(span));
    };
    // More variables than expressions may be nested are not bound.
    let inner = frame.deeper();
    if !scope.spend(inner, 1) {
        return Some(unknown(span));
    }
    let binding = Binding { name: &first.key, value: &first.node, next: bindings };
    rendered(scope, template, rest, Some(&binding), span, inner)
}
