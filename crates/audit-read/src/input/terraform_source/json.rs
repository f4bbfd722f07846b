//! Terraform's JSON notation. Source: <https://developer.hashicorp.com/terraform/language/syntax/json>

use super::syntax::{Attribute, Block, Body, Expression, Label};
use crate::document::{Entry, Node, ParseError, Span, Value};

/// The labels that a block of this type has.
fn labels(kind: &str) -> usize {
    match kind {
        "resource" | "data" | "ephemeral" => 2,
        "variable" | "output" | "module" | "provider" | "check" => 1,
        _ => 0,
    }
}

/// The content of a file.
///
/// # Errors
/// It is not a map.
pub(super) fn body(node: Node, file: usize) -> Result<Body, ParseError> {
    let span = node.place.span;
    let Value::Map(entries) = node.value else {
        return Err(ParseError::new(span, format!("{} where a map of blocks is expected", node.kind())));
    };
    let mut body = Body::default();
    for Entry { key, key_span, node } in entries {
        let head = Head { kind: &key, span: key_span, file };
        head.blocks(node, labels(&key), &[], &mut body.blocks);
    }
    Ok(body)
}

/// The values of variables: every key is an argument.
///
/// # Errors
/// It is not a map.
pub(super) fn values(node: Node, file: usize) -> Result<Body, ParseError> {
    let span = node.place.span;
    let Value::Map(entries) = node.value else {
        return Err(ParseError::new(span, format!("{} where a map of values is expected", node.kind())));
    };
    Ok(Head { kind: "", span, file }.content(entries))
}

/// The type of blocks that stand below one key.
struct Head<'k> {
    kind: &'k str,
    span: Span,
    file: usize,
}

impl Head<'_> {
    /// The keys below are labels; a list has several blocks with the same labels.
    fn blocks(&self, node: Node, missing_labels: usize, labels: &[Label], out: &mut Vec<Block>) {
        match node.value {
            Value::List(items) => items.into_iter().for_each(|item| self.blocks(item, missing_labels, labels, out)),
            Value::Map(entries) if missing_labels > 0 => {
                for Entry { key, key_span, node } in entries {
                    let own = [labels, &[Label { text: key, span: key_span }]].concat();
                    self.blocks(node, missing_labels - 1, &own, out);
                }
            }
            Value::Map(entries) => out.push(Block {
                kind: self.kind.to_owned(),
                labels: labels.to_vec(),
                body: self.content(entries),
                file: self.file,
                span: self.span,
                route: node.place.route,
            }),
            _ => {}
        }
    }

    /// In JSON, nested blocks are spelled like an argument that is a map or a list of maps. Only the schema of the block
    /// tells them apart, so that such a key becomes an argument and also blocks.
    fn content(&self, entries: Vec<Entry>) -> Body {
        let mut body = Body::default();
        for Entry { key, key_span, node } in entries {
            if matches!(node.value, Value::Map(_) | Value::List(_)) {
                let head = Head { kind: &key, span: key_span, file: self.file };
                let labels = usize::from(key == "dynamic");
                head.blocks(node.clone(), labels, &[], &mut body.blocks);
            }
            body.attributes.push(Attribute {
                name: key,
                name_span: key_span,
                file: self.file,
                expression: Expression::Json(node),
            });
        }
        body
    }
}
