//! Operators and conditional expressions. Source:
//! <https://developer.hashicorp.com/terraform/language/expressions/operators>

use document::{Node, Span, Value};
use hcl_edit::expr::{BinaryOp, BinaryOperator, Conditional, Expression as Native, UnaryOp, UnaryOperator};

use crate::{
    equality::equal,
    scope::{Frame, Scope},
    unification::of_type_with,
    values::{as_bool, as_number, is_uncertain, node, number, unknown},
};

pub(crate) fn conditional(scope: &dyn Scope, conditional: &Conditional, frame: Frame<'_>) -> Option<Node> {
    let span = scope.span_of(conditional);
    let condition = scope.evaluate(&conditional.cond_expr, None, frame)?;
    let is_unknown = condition.is_unknown();
    let chosen = |chosen: &Native, other: &Native| {
        let value = scope.evaluate(chosen, None, frame)?;
        if scope.made_at().is_some() {
            return Some(value);
        }
        // Why the other is unknown does not matter: only its type counts.
        Some(of_type_with(value, || scope.causes().first_of(|| scope.evaluate(other, None, frame)).0))
    };
    match as_bool(&condition) {
        Some(true) => chosen(&conditional.true_expr, &conditional.false_expr),
        Some(false) => chosen(&conditional.false_expr, &conditional.true_expr),
        None if is_unknown => {
            let yes = scope.evaluate(&conditional.true_expr, None, frame);
            let no = scope.evaluate(&conditional.false_expr, None, frame);
            match (yes, no) {
                (Some(yes), Some(no)) if equal(&yes, &no) == Some(true) => Some(yes),
                _ => Some(unknown(span)),
            }
        }
        None => None,
    }
}

pub(crate) fn unary(scope: &dyn Scope, operation: &UnaryOp, span: Span, frame: Frame<'_>) -> Option<Node> {
    let value = scope.evaluate(&operation.expr, None, frame)?;
    if value.is_unknown() {
        return Some(unknown(span));
    }
    let value = match operation.operator.value() {
        UnaryOperator::Neg => number(-as_number(&value)?),
        UnaryOperator::Not => Value::Bool(!as_bool(&value)?),
    };
    Some(node(value, span))
}

pub(crate) fn binary(scope: &dyn Scope, operation: &BinaryOp, span: Span, frame: Frame<'_>) -> Option<Node> {
    let operator = *operation.operator.value();
    let left = scope.evaluate(&operation.lhs_expr, None, frame)?;
    // `false && x` is false, even if x is not known.
    let decided = match operator {
        BinaryOperator::And => as_bool(&left).filter(|left| !left),
        BinaryOperator::Or => as_bool(&left).filter(|left| *left),
        _ => None,
    };
    if let Some(decided) = decided {
        return Some(node(Value::Bool(decided), span));
    }
    let right = scope.evaluate(&operation.rhs_expr, None, frame)?;
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
