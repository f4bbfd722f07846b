//! References: `var.x`, `local.x["key"].list[0]`, `aws_iam_role.task.arn`. Source:
//! <https://developer.hashicorp.com/terraform/language/expressions/references>

use hcl_edit::expr::{Expression as Native, Traversal, TraversalOperator};

use super::{
    access::{indexed, item, member},
    frame::Frame,
    module::Module,
    values::{cost, list, text, unknown},
};
use crate::document::{HOLE, Node, Span, Value};

impl Module<'_> {
    pub(super) fn traversal(&self, traversal: &Traversal, span: Span, frame: Frame<'_>) -> Option<Node> {
        let operators: Vec<&TraversalOperator> = traversal.operators.iter().map(hcl_edit::Decorated::value).collect();
        let Native::Variable(root) = &traversal.expr else {
            let value = self.native(&traversal.expr, None, frame)?;
            return self.steps(value, &operators, span, frame);
        };
        let root = root.as_str();
        if let Some(bound) = frame.bound(root) {
            if !self.world.pay(frame.depth, cost(bound)) {
                return Some(unknown(span));
            }
            return self.steps(bound.clone(), &operators, span, frame);
        }
        let (first, rest) = operators.split_first()?;
        let name = attribute_name(first);
        match (root, name) {
            ("var", Some(name)) => self.steps(self.variable(name, frame, span)?, rest, span, frame),
            ("local", Some(name)) => self.steps(self.local(name, frame, span)?, rest, span, frame),
            ("path", Some(name)) => Some(self.path(name, span)),
            ("module", Some(_)) => self.of_call(&operators, span, frame),
            ("each" | "count", _) => Some(self.unknown(frame, span, format!("{root} is not known"))),
            _ => Some(self.attribute_of_resource(root, &operators, span, frame)),
        }
    }

    fn path(&self, name: &str, span: Span) -> Node {
        match name {
            "module" if !self.location.callers.is_empty() => text(self.location.relative.to_string_lossy(), span),
            "module" | "root" => text(".", span),
            _ => unknown(span),
        }
    }

    /// An attribute of a resource, of a data source or of another module. An ARN is at least known to be one.
    pub(super) fn attribute_of_resource(
        &self,
        root: &str,
        operators: &[&TraversalOperator],
        span: Span,
        frame: Frame<'_>,
    ) -> Node {
        let names = std::iter::once(root).chain(operators.iter().map_while(|operator| attribute_name(operator)));
        let reference = names.collect::<Vec<_>>().join(".");
        let unknown = self.unknown(frame, span, format!("{reference} is known only to Terraform"));
        let is_arn = operators.last().and_then(|operator| attribute_name(operator)) == Some("arn");
        if is_arn && (root.starts_with("aws_") || root == "data") {
            return text(format!("arn:{HOLE}"), span);
        }
        unknown
    }

    /// The value at the end of attributes and indices.
    pub(super) fn steps(
        &self,
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
                    let key = self.native(key, None, frame)?;
                    indexed(&value, &key, span)?
                }
                TraversalOperator::AttrSplat(_) | TraversalOperator::FullSplat(_) => {
                    let rest = operators.get(index + 1..).unwrap_or_default();
                    return self.splat(value, rest, span, frame);
                }
            };
        }
        Some(value)
    }

    /// `list[*].name`; a single value counts as a list of it, null as an empty list.
    fn splat(&self, value: Node, operators: &[&TraversalOperator], span: Span, frame: Frame<'_>) -> Option<Node> {
        let items = match value.value {
            Value::Null => Vec::new(),
            Value::List(items) => items,
            _ => vec![value],
        };
        let inner = Frame { depth: frame.depth + 1, ..frame };
        if !self.world.pay(inner.depth, items.len()) {
            return Some(unknown(span));
        }
        let items = items.into_iter().map(|item| self.steps(item, operators, span, inner));
        Some(list(items.collect::<Option<_>>()?, span))
    }
}

pub(super) fn attribute_name(operator: &TraversalOperator) -> Option<&str> {
    match operator {
        TraversalOperator::GetAttr(name) => Some(name.as_str()),
        _ => None,
    }
}

/// The names that a reference begins with, such as `aws_ecs_task_definition` and `web`.
pub(super) fn names_of(traversal: &Traversal) -> Vec<String> {
    let Native::Variable(root) = &traversal.expr else { return Vec::new() };
    let rest = traversal.operators.iter().map_while(|operator| attribute_name(operator.value()));
    std::iter::once(root.as_str()).chain(rest).map(str::to_owned).collect()
}
