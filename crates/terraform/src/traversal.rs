//! What follows a value or a name: attributes, indices and splats. Source:
//! <https://developer.hashicorp.com/terraform/language/expressions/references>

use document::{HOLE, Node, Span, Value};
use hcl_edit::{
    Decorated,
    expr::{Expression as Native, Traversal, TraversalOperator},
};

use crate::{
    scope::{Frame, Scope},
    values::{cost, indexed, item, list, member, text, unknown},
};

/// The value of a reference, or a part of the value of an expression.
pub(crate) fn traversal(scope: &dyn Scope, traversal: &Traversal, span: Span, frame: Frame<'_>) -> Option<Node> {
    let operators: Vec<&TraversalOperator> = traversal.operators.iter().map(Decorated::value).collect();
    let Native::Variable(root) = &traversal.expr else {
        let value = scope.evaluate(&traversal.expr, None, frame)?;
        return follow(scope, value, &operators, span, frame);
    };
    let root = root.as_str();
    if let Some(bound) = frame.bound(root) {
        if !scope.spend(frame, cost(bound)) {
            return Some(unknown(span));
        }
        return follow(scope, bound.clone(), &operators, span, frame);
    }
    if frame.is_in_template() {
        return Some(scope.undeclared(frame, span, root));
    }
    scope.reference(root, &operators, span, frame)
}

/// The value at the end of attributes and indices.
pub(crate) fn follow(
    scope: &dyn Scope,
    mut value: Node,
    operators: &[&TraversalOperator],
    span: Span,
    frame: Frame<'_>,
) -> Option<Node> {
    for (index, operator) in operators.iter().enumerate() {
        if value.is_unknown() {
            return Some(unknown(span));
        }
        value = match operator {
            TraversalOperator::GetAttr(name) => member(&value, name.as_str(), span)?,
            TraversalOperator::LegacyIndex(at) => item(&value, usize::try_from(*at.value()).ok()?, span)?,
            TraversalOperator::Index(key) => {
                let key = scope.evaluate(key, None, frame)?;
                indexed(&value, &key, span)?
            }
            TraversalOperator::AttrSplat(_) | TraversalOperator::FullSplat(_) => {
                let rest = operators.get(index + 1..).unwrap_or_default();
                return splat(scope, value, rest, span, frame);
            }
        };
    }
    Some(value)
}

/// `list[*].name`; a single value counts as a list of it, null as an empty list.
fn splat(
    scope: &dyn Scope,
    value: Node,
    operators: &[&TraversalOperator],
    span: Span,
    frame: Frame<'_>,
) -> Option<Node> {
    let items = match value.value {
        Value::Null => Vec::new(),
        Value::List(items) => items,
        _ => vec![value],
    };
    let inner = Frame { depth: frame.depth + 1, ..frame };
    if !scope.spend(inner, items.len()) {
        return Some(unknown(span));
    }
    let items = items.into_iter().map(|item| follow(scope, item, operators, span, inner));
    Some(list(items.collect::<Option<_>>()?, span))
}

/// The name of an attribute; `None` for an index or a splat.
pub(crate) fn attribute_name(operator: &TraversalOperator) -> Option<&str> {
    match operator {
        TraversalOperator::GetAttr(name) => Some(name.as_str()),
        _ => None,
    }
}

/// An attribute of a resource, of a data source or of another module. An ARN is at least known to be one.
pub(crate) fn attribute_of_resource(
    scope: &dyn Scope,
    root: &str,
    operators: &[&TraversalOperator],
    span: Span,
    frame: Frame<'_>,
) -> Node {
    let names = std::iter::once(root).chain(operators.iter().map_while(|operator| attribute_name(operator)));
    let reference = names.collect::<Vec<_>>().join(".");
    let unknown = scope.unknown(frame, span, &format!("{reference} is known only to Terraform"));
    let is_arn = operators.last().and_then(|operator| attribute_name(operator)) == Some("arn");
    if is_arn && (root.starts_with("aws_") || root == "data") {
        return text(format!("arn:{HOLE}"), span);
    }
    unknown
}
