//! Comments that an edit would delete.

use super::{
    error::{EditError, shown},
    tree,
};
use crate::finding::Change;
use audit_read::document::{Node, Span, Step, Value};

/// Refuses to replace a list or map that contains comments.
pub(super) fn refuse_loss(text: &str, node: &Node, steps: &[Step], change: &Change) -> Result<(), EditError> {
    let replaced = tree::at(node, steps).filter(|_| matches!(change, Change::Set(_)));
    match replaced {
        Some(replaced) if has_comment(text, replaced) => {
            Err(EditError::Notation(format!("the comments in {} would be lost", shown(steps))))
        }
        _ => Ok(()),
    }
}

fn has_comment(text: &str, node: &Node) -> bool {
    let mut known = Vec::new();
    collect(node, &mut known);
    let mut from = node.place.span.start;
    // The text between keys and scalars: brackets, commas, blanks, comments.
    known.push(Span::new(node.place.span.end, node.place.span.end));
    known.into_iter().any(|span| {
        let between = text.get(from..span.start).unwrap_or_default();
        from = from.max(span.end);
        between.contains("//") || between.contains("/*") || between.contains('#')
    })
}

fn collect(node: &Node, out: &mut Vec<Span>) {
    match &node.value {
        Value::List(items) => items.iter().for_each(|item| collect(item, out)),
        Value::Map(entries) => {
            for entry in entries {
                out.push(entry.key_span);
                collect(&entry.node, out);
            }
        }
        _ => out.push(node.place.span),
    }
}
