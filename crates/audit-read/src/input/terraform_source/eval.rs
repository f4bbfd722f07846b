//! Evaluates expressions as far as the sources determine them. Source:
//! <https://developer.hashicorp.com/terraform/language/expressions>
//!
//! A value that only a plan or the state knows is unknown. An expression that Terraform would refuse has no value.

use hcl_edit::{
    expr::{BinaryOp, BinaryOperator, Conditional, Expression as Native, Object, ObjectKey, UnaryOp, UnaryOperator},
    parser::parse_template,
};

use super::{
    equality::equal,
    frame::Frame,
    maps::last_of_each_key,
    module::Module,
    one_type::of_type_with,
    syntax::{Expression, span_of},
    values::{OPEN_KEY, as_bool, as_number, as_text, cost, is_uncertain, literal, node, number, unknown},
};
use crate::document::{Entry, HOLE, Node, Place, Route, Span, Step, Value};

impl Module<'_> {
    /// The value of an expression, without a route for edits. `None` if Terraform would refuse it.
    pub(super) fn evaluate(&self, expression: &Expression, frame: Frame<'_>) -> Option<Node> {
        match expression {
            Expression::Native(native) => self.native(native, None, frame),
            Expression::Json(json) => self.json(json, None, frame),
        }
    }

    /// The value of an expression whose literals edits reach at `route`.
    pub(super) fn evaluate_at(&self, expression: &Expression, route: &Route, frame: Frame<'_>) -> Option<Node> {
        match expression {
            Expression::Native(native) => self.native(native, Some(route), frame),
            Expression::Json(json) => self.json(json, Some(route), frame),
        }
    }

    /// In JSON, a string is a template, and keys of maps are templates too.
    fn json(&self, json: &Node, route: Option<&Route>, frame: Frame<'_>) -> Option<Node> {
        let span = json.place.span;
        if !self.world.pay(frame.depth, 1) {
            return Some(unknown(span));
        }
        let inner = Frame { depth: frame.depth + 1, ..frame };
        let then = |step: Step| route.map(|route| route.then(step));
        let value = match &json.value {
            Value::Text(source) if source.contains("${") || source.contains("%{") => {
                let template = parse_template(source).ok()?;
                return Some(self.template_value(&template, span, inner)?.placed(span));
            }
            Value::List(items) => {
                let items = items.iter().enumerate();
                let items = items.map(|(index, item)| self.json(item, then(Step::Index(index)).as_ref(), inner));
                Value::List(items.collect::<Option<_>>()?)
            }
            Value::Map(entries) => {
                let entries = entries.iter().map(|Entry { key, key_span, node }| {
                    let node = self.json(node, then(Step::Key(key.clone())).as_ref(), inner)?;
                    Some(Entry { key: key.clone(), key_span: *key_span, node })
                });
                Value::Map(entries.collect::<Option<_>>()?)
            }
            other => other.clone(),
        };
        Some(Node { value, place: Place { span, route: route.cloned(), parts: None } })
    }

    pub(super) fn native(&self, native: &Native, route: Option<&Route>, frame: Frame<'_>) -> Option<Node> {
        let span = span_of(native);
        if !self.world.pay(frame.depth, 1) {
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
                    let route = route.map(|route| route.then(Step::Index(index)));
                    self.native(item, route.as_ref(), inner)
                });
                at(Value::List(items.collect::<Option<_>>()?))
            }
            Native::Object(object) => at(Value::Map(self.object(object, route, inner)?)),
            Native::StringTemplate(template) => self.template_value(template, span, inner),
            Native::HeredocTemplate(heredoc) => self.template_value(&heredoc.template, span, inner),
            Native::Parenthesis(parenthesis) => self.native(parenthesis.inner(), route, inner),
            Native::Variable(name) => match frame.bound(name.as_str()) {
                Some(value) if self.world.pay(frame.depth, cost(value)) => Some(value.clone()),
                Some(_) => Some(unknown(span)),
                None => Some(self.unknown(frame, span, format!("{} is not known here", name.as_str()))),
            },
            Native::Conditional(conditional) => self.conditional(conditional, inner),
            Native::FuncCall(call) => self.call(call, route, span, inner),
            Native::Traversal(traversal) => self.traversal(traversal, span, inner),
            Native::UnaryOp(operation) => self.unary(operation, span, inner),
            Native::BinaryOp(operation) => self.binary(operation, span, inner),
            Native::ForExpr(expression) => self.for_expression(expression, span, inner),
        }
    }

    fn object(&self, object: &Object, route: Option<&Route>, frame: Frame<'_>) -> Option<Vec<Entry>> {
        let mut entries: Vec<Entry> = Vec::new();
        for (key, value) in object {
            let (key, key_span) = match key {
                ObjectKey::Ident(name) => (name.as_str().to_owned(), span_of(name)),
                ObjectKey::Expression(expression) => {
                    (as_text(&self.native(expression, None, frame)?)?, span_of(expression))
                }
            };
            if key.contains(HOLE) {
                entries.push(Entry { key: OPEN_KEY.to_owned(), key_span, node: unknown(key_span) });
                continue;
            }
            let route = route.map(|route| route.then(Step::Key(key.clone())));
            let node = self.native(value.expr(), route.as_ref(), frame)?;
            entries.push(Entry { key, key_span, node });
        }
        Some(last_of_each_key(entries))
    }

    fn conditional(&self, conditional: &Conditional, frame: Frame<'_>) -> Option<Node> {
        let span = span_of(conditional);
        let condition = self.native(&conditional.cond_expr, None, frame)?;
        let is_unknown = condition.is_unknown();
        let chosen = |chosen: &Native, other: &Native| {
            let value = self.native(chosen, None, frame)?;
            // Why the other is unknown does not matter: only its type counts.
            Some(of_type_with(value, || self.world.with_cause(|| self.native(other, None, frame)).0))
        };
        match as_bool(&condition) {
            Some(true) => chosen(&conditional.true_expr, &conditional.false_expr),
            Some(false) => chosen(&conditional.false_expr, &conditional.true_expr),
            None if is_unknown => {
                let yes = self.native(&conditional.true_expr, None, frame);
                let no = self.native(&conditional.false_expr, None, frame);
                match (yes, no) {
                    (Some(yes), Some(no)) if equal(&yes, &no) == Some(true) => Some(yes),
                    _ => Some(unknown(span)),
                }
            }
            None => None,
        }
    }

    fn unary(&self, operation: &UnaryOp, span: Span, frame: Frame<'_>) -> Option<Node> {
        let value = self.native(&operation.expr, None, frame)?;
        if value.is_unknown() {
            return Some(unknown(span));
        }
        let value = match operation.operator.value() {
            UnaryOperator::Neg => number(-as_number(&value)?),
            UnaryOperator::Not => Value::Bool(!as_bool(&value)?),
        };
        Some(node(value, span))
    }

    fn binary(&self, operation: &BinaryOp, span: Span, frame: Frame<'_>) -> Option<Node> {
        let operator = *operation.operator.value();
        let left = self.native(&operation.lhs_expr, None, frame)?;
        // `false && x` is false, even if x is not known.
        let decided = match operator {
            BinaryOperator::And => as_bool(&left).filter(|left| !left),
            BinaryOperator::Or => as_bool(&left).filter(|left| *left),
            _ => None,
        };
        if let Some(decided) = decided {
            return Some(node(Value::Bool(decided), span));
        }
        let right = self.native(&operation.rhs_expr, None, frame)?;
        let value = match operator {
            BinaryOperator::Eq => equal(&left, &right).map(Value::Bool),
            BinaryOperator::NotEq => equal(&left, &right).map(|is_equal| Value::Bool(!is_equal)),
            BinaryOperator::And | BinaryOperator::Or => match (is_uncertain(&left), is_uncertain(&right)) {
                (false, false) => {
                    let (left, right) = (as_bool(&left)?, as_bool(&right)?);
                    Some(Value::Bool(if operator == BinaryOperator::And { left && right } else { left || right }))
                }
                (true, false) => {
                    let right = as_bool(&right)?;
                    (right == (operator == BinaryOperator::Or)).then_some(Value::Bool(right))
                }
                _ => None,
            },
            _ if is_uncertain(&left) || is_uncertain(&right) => None,
            _ => Some(arithmetic(operator, as_number(&left)?, as_number(&right)?)?),
        };
        Some(value.map_or_else(|| unknown(span), |value| node(value, span)))
    }
}

fn arithmetic(operator: BinaryOperator, left: f64, right: f64) -> Option<Value> {
    let result = match operator {
        BinaryOperator::Plus => left + right,
        BinaryOperator::Minus => left - right,
        BinaryOperator::Mul => left * right,
        BinaryOperator::Div => left / right,
        BinaryOperator::Mod => left % right,
        BinaryOperator::Less => return Some(Value::Bool(left < right)),
        BinaryOperator::LessEq => return Some(Value::Bool(left <= right)),
        BinaryOperator::Greater => return Some(Value::Bool(left > right)),
        BinaryOperator::GreaterEq => return Some(Value::Bool(left >= right)),
        BinaryOperator::Eq | BinaryOperator::NotEq | BinaryOperator::And | BinaryOperator::Or => return None,
    };
    result.is_finite().then(|| number(result))
}
