//! `for` expressions. Source: <https://developer.hashicorp.com/terraform/language/expressions/for>

use std::collections::BTreeMap;

use document::{Entry, HOLE, Node, Span, Value};
use hcl_edit::expr::ForExpr;

use crate::{
    scope::{Binding, Frame, Scope},
    values::{OPEN_KEY, Outcome, as_bool, list, map, pairs, unknown},
};

/// A key and a value of the result; unknown whether there are any if there is no value.
type Produced = (Option<Node>, Option<Node>);

pub(crate) fn for_expression(scope: &dyn Scope, expression: &ForExpr, span: Span, frame: Frame<'_>) -> Option<Node> {
    let collection = scope.evaluate(&expression.intro.collection_expr, None, frame)?;
    let pairs = match pairs(&collection) {
        Outcome::Value(pairs) => pairs,
        Outcome::Unknown => return Some(unknown(span)),
        Outcome::Refused => return None,
    };
    let mut produced: Vec<Produced> = Vec::new();
    for (key, value) in pairs {
        if !scope.spend(frame, 1) {
            return Some(unknown(span));
        }
        add_pass(scope, expression, (&key, &value), frame, &mut produced)?;
    }
    match (&expression.key_expr, expression.grouping) {
        (None, _) => {
            Some(list(produced.into_iter().map(|(_, value)| value.unwrap_or_else(|| unknown(span))).collect(), span))
        }
        (Some(_), grouping) => Some(map(keyed(produced, grouping, span)?, span)),
    }
}

/// Adds what one pass of the loop produces: nothing if its condition is not met. `None` if Terraform would refuse it.
fn add_pass(
    scope: &dyn Scope,
    expression: &ForExpr,
    (key, value): (&Node, &Node),
    frame: Frame<'_>,
    produced: &mut Vec<Produced>,
) -> Option<()> {
    let intro = &expression.intro;
    let by_value = Binding { name: intro.value_var.as_str(), value, next: frame.bindings };
    let by_key = intro.key_var.as_ref().map(|name| Binding { name: name.as_str(), value: key, next: Some(&by_value) });
    let inner = Frame { bindings: Some(by_key.as_ref().unwrap_or(&by_value)), depth: frame.depth + 1, ..frame };
    // Whether an unknown item is one item or several is not known either.
    let mut is_there = !value.is_unknown();
    if let Some(condition) = &expression.cond {
        let condition = scope.evaluate(&condition.expr, None, inner)?;
        match as_bool(&condition) {
            Some(true) => {}
            Some(false) => return Some(()),
            None if condition.is_unknown() => is_there = false,
            None => return None,
        }
    }
    if !is_there {
        produced.push((None, None));
        return Some(());
    }
    let key = match &expression.key_expr {
        Some(key) => Some(scope.evaluate(key, None, inner)?),
        None => None,
    };
    produced.push((key, Some(scope.evaluate(&expression.value_expr, None, inner)?)));
    Some(())
}

/// The entries of a map. An unknown key makes it open.
fn keyed(produced: Vec<Produced>, is_grouped: bool, span: Span) -> Option<Vec<Entry>> {
    let mut entries: Vec<Entry> = Vec::new();
    let mut positions: BTreeMap<String, usize> = BTreeMap::new();
    for (key, value) in produced {
        let known = key.as_ref().map(|key| key.as_text().map(|text| (text, key.place.span)));
        let (name, key_span, value) = match (known, value) {
            (Some(None), _) => return None,
            (Some(Some((name, key_span))), Some(value)) if !name.contains(HOLE) => (name, key_span, value),
            _ => (OPEN_KEY.to_owned(), span, unknown(span)),
        };
        let position = *positions.entry(name.clone()).or_insert(entries.len());
        match entries.get_mut(position) {
            Some(Entry { node: Node { value: Value::List(items), .. }, .. }) if is_grouped => items.push(value),
            Some(_) if name == OPEN_KEY => {}
            // Terraform refuses two equal keys.
            Some(_) => return None,
            None if is_grouped && name != OPEN_KEY => {
                entries.push(Entry::new(name, key_span, list(vec![value], span)));
            }
            None => entries.push(Entry::new(name, key_span, value)),
        }
    }
    Some(entries)
}
