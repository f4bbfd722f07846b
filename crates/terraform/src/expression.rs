//! Evaluates expressions whose values the sources determine. Source:
//! <https://developer.hashicorp.com/terraform/language/expressions>
//!
//! A value that only a plan or the state knows is unknown. An expression that Terraform would refuse has no value.

use document::{Entry, HOLE, Node, PathStep, Place, Route, Value, hcl::replaced_key};
use hcl_edit::{
    expr::{Expression as Native, Object, ObjectKey},
    parser::parse_template,
};

use crate::{
    call,
    loops::for_expression,
    operators,
    scope::{Frame, Scope},
    syntax::Expression,
    template::template_value,
    traversal,
    values::{OPEN_KEY, cost, literal, unknown},
};

/// The value of an expression, without a route for edits. `None` if Terraform would refuse it.
pub(crate) fn evaluate(scope: &dyn Scope, expression: &Expression, frame: Frame<'_>) -> Option<Node> {
    match expression {
        Expression::Native(native) => scope.evaluate(native, None, frame),
        Expression::Json(json) => json_value(scope, json, None, frame),
    }
}

/// The value of an expression whose literals edits reach at `route`.
pub(crate) fn evaluate_at(scope: &dyn Scope, expression: &Expression, route: &Route, frame: Frame<'_>) -> Option<Node> {
    match expression {
        Expression::Native(native) => scope.evaluate(native, Some(route), frame),
        Expression::Json(json) => json_value(scope, json, Some(route), frame),
    }
}

/// In JSON, a string is a template, and keys of maps are templates too.
fn json_value(scope: &dyn Scope, json: &Node, route: Option<&Route>, frame: Frame<'_>) -> Option<Node> {
    let span = json.place.span;
    if !scope.spend(frame, 1) {
        return Some(unknown(span));
    }
    let inner = Frame { depth: frame.depth + 1, ..frame };
    let then = |step: PathStep| route.map(|route| route.then(step));
    let value = match &json.value {
        Value::Text(source) if source.contains("${") || source.contains("%{") => {
            let template = parse_template(source).ok()?;
            return Some(template_value(scope, &template, span, inner.within(span))?.placed(span));
        }
        Value::List(items) => {
            let items = items.iter().enumerate();
            let items =
                items.map(|(index, item)| json_value(scope, item, then(PathStep::Index(index)).as_ref(), inner));
            Value::List(items.collect::<Option<_>>()?)
        }
        Value::Map(entries) => {
            let entries = entries.iter().map(|entry| {
                let node = json_value(scope, &entry.node, then(PathStep::Key(entry.key.clone())).as_ref(), inner)?;
                Some(Entry { key: entry.key.clone(), key_span: entry.key_span, node, replaced: entry.replaced })
            });
            Value::Map(entries.collect::<Option<_>>()?)
        }
        other => other.clone(),
    };
    Some(Node { value, place: Place { span, route: route.cloned(), parts: None } })
}

pub(crate) fn native(scope: &dyn Scope, native: &Native, route: Option<&Route>, frame: Frame<'_>) -> Option<Node> {
    let span = scope.span_of(native);
    if !scope.spend(frame, 1) {
        return Some(unknown(span));
    }
    let inner = Frame { depth: frame.depth + 1, ..frame };
    let at = |value: Value| Some(Node { value, place: Place { span, route: route.cloned(), parts: None } });
    match native {
        Native::Null(_) => at(Value::Null),
        Native::Bool(value) => at(Value::Bool(*value.value())),
        Native::Number(value) => at(literal(value.value())),
        Native::String(value) => at(Value::Text(value.value().clone())),
        Native::Array(array) => {
            let items = array.iter().enumerate().map(|(index, item)| {
                let route = route.map(|route| route.then(PathStep::Index(index)));
                scope.evaluate(item, route.as_ref(), inner)
            });
            at(Value::List(items.collect::<Option<_>>()?))
        }
        Native::Object(object) => at(Value::Map(entries(scope, object, route, inner)?)),
        Native::StringTemplate(template) => template_value(scope, template, span, inner),
        Native::HeredocTemplate(heredoc) => template_value(scope, &heredoc.template, span, inner),
        Native::Parenthesis(parenthesis) => scope.evaluate(parenthesis.inner(), route, inner),
        Native::Variable(name) => match frame.bound(name.as_str()) {
            Some(value) if scope.spend(frame, cost(value)) => Some(value.clone()),
            Some(_) => Some(unknown(span)),
            None if frame.is_in_template() => Some(scope.undeclared(frame, span, name.as_str())),
            // The reason does not quote the name, which may be a password without quotes.
            None => Some(scope.unknown(frame, span, "a name is used that is no reference")),
        },
        Native::Conditional(conditional) => operators::conditional(scope, conditional, inner),
        Native::FuncCall(call) => call::call(scope, call, route, span, inner),
        Native::Traversal(traversal) => traversal::traversal(scope, traversal, span, inner),
        Native::UnaryOp(operation) => operators::unary(scope, operation, span, inner),
        Native::BinaryOp(operation) => operators::binary(scope, operation, span, inner),
        Native::ForExpr(expression) => for_expression(scope, expression, span, inner),
    }
}

fn entries(scope: &dyn Scope, object: &Object, route: Option<&Route>, frame: Frame<'_>) -> Option<Vec<Entry>> {
    let mut entries: Vec<Entry> = Vec::new();
    for (key, value) in object {
        let (key, key_span) = match key {
            ObjectKey::Ident(name) => (name.as_str().to_owned(), scope.span_of(name)),
            ObjectKey::Expression(expression) => {
                let key = match replaced_key(expression, &scope.file(frame.file).text) {
                    Some(key) => key.to_owned(),
                    None => scope.evaluate(expression, None, frame)?.as_text()?,
                };
                (key, scope.span_of(expression))
            }
        };
        if key.contains(HOLE) {
            entries.push(Entry::new(OPEN_KEY, key_span, unknown(key_span)));
            continue;
        }
        let route = route.map(|route| route.then(PathStep::Key(key.clone())));
        let node = scope.evaluate(value.expr(), route.as_ref(), frame)?;
        entries.push(Entry::new(key, key_span, node));
    }
    Some(Entry::last_of_each_key(entries))
}
