//! `[for x in list : …]` and `{for k, v in map : k => v}`. Source:
//! <https://developer.hashicorp.com/terraform/language/expressions/for>

use std::collections::BTreeMap;

use hcl_edit::expr::ForExpr;

use super::{
    frame::{Binding, Frame},
    maps::sorted,
    module::Module,
    values::{OPEN_KEY, as_bool, as_text, is_open, list, map, node, number, text, unknown},
};
use crate::document::{Entry, HOLE, Node, Span, Value};

/// The keys and values of a collection; `Some(None)` if they are not known, `None` if it is no collection.
#[expect(clippy::option_option, reason = "unknown is not the same as invalid")]
pub(super) fn pairs(collection: &Node) -> Option<Option<Vec<(Node, Node)>>> {
    let span = collection.place.span;
    match &collection.value {
        Value::Unknown => Some(None),
        Value::List(items) => {
            #[expect(clippy::cast_precision_loss, reason = "lists are shorter than 2^52")]
            let key = |index: usize| node(number(index as f64), span);
            Some(Some(items.iter().enumerate().map(|(index, item)| (key(index), item.clone())).collect()))
        }
        Value::Map(_) if is_open(collection) => Some(None),
        Value::Map(_) => {
            let pair = |entry: &Entry| (text(&*entry.key, entry.key_span), entry.node.clone());
            Some(Some(sorted(collection).into_iter().map(pair).collect()))
        }
        _ => None,
    }
}

/// A key and a value of the result; unknown whether there are any if there is no value.
type Produced = (Option<Node>, Option<Node>);

impl Module<'_> {
    pub(super) fn for_expression(&self, expression: &ForExpr, span: Span, frame: Frame<'_>) -> Option<Node> {
        let collection = self.native(&expression.intro.collection_expr, None, frame)?;
        let Some(pairs) = pairs(&collection)? else { return Some(unknown(span)) };
        let mut produced: Vec<Produced> = Vec::new();
        for (key, value) in pairs {
            if !self.world.pay(frame.depth, 1) {
                return Some(unknown(span));
            }
            produced.extend(self.one(expression, &key, &value, frame)?);
        }
        match (&expression.key_expr, expression.grouping) {
            (None, _) => Some(list(
                produced.into_iter().map(|(_, value)| value.unwrap_or_else(|| unknown(span))).collect(),
                span,
            )),
            (Some(_), grouping) => Some(map(keyed(produced, grouping, span)?, span)),
        }
    }

    /// What one pass of the loop produces; `Some(None)` if its condition is not met.
    #[expect(clippy::option_option, reason = "nothing is not the same as invalid")]
    fn one(&self, expression: &ForExpr, key: &Node, value: &Node, frame: Frame<'_>) -> Option<Option<Produced>> {
        let intro = &expression.intro;
        let by_value = Binding { name: intro.value_var.as_str(), value, next: frame.bindings };
        let by_key =
            intro.key_var.as_ref().map(|name| Binding { name: name.as_str(), value: key, next: Some(&by_value) });
        let inner = Frame { bindings: Some(by_key.as_ref().unwrap_or(&by_value)), depth: frame.depth + 1, ..frame };
        // Whether an unknown item is one item or several is not known either.
        let mut is_there = !value.is_unknown();
        if let Some(condition) = &expression.cond {
            let condition = self.native(&condition.expr, None, inner)?;
            match as_bool(&condition) {
                Some(true) => {}
                Some(false) => return Some(None),
                None if condition.is_unknown() => is_there = false,
                None => return None,
            }
        }
        if !is_there {
            return Some(Some((None, None)));
        }
        let key = match &expression.key_expr {
            Some(key) => Some(self.native(key, None, inner)?),
            None => None,
        };
        Some(Some((key, Some(self.native(&expression.value_expr, None, inner)?))))
    }
}

/// The entries of a map. An unknown key makes it open.
fn keyed(produced: Vec<Produced>, is_grouped: bool, span: Span) -> Option<Vec<Entry>> {
    let mut entries: Vec<Entry> = Vec::new();
    let mut positions: BTreeMap<String, usize> = BTreeMap::new();
    for (key, value) in produced {
        let known = key.as_ref().map(|key| as_text(key).map(|text| (text, key.place.span)));
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
                entries.push(Entry { key: name, key_span, node: list(vec![value], span) });
            }
            None => entries.push(Entry { key: name, key_span, node: value }),
        }
    }
    Some(entries)
}
