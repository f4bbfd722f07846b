//! Edits of JSON without line breaks. The result has none either.

use super::{error::EditError, read::read, tree};
use crate::finding::Change;
use audit_read::document::{Node, Span, Step};

/// Makes changes in a JSON text of one line.
pub(super) fn edit(text: &str, changes: &[(Vec<Step>, Change)]) -> Result<String, EditError> {
    changes.iter().try_fold(text.to_owned(), |text, (steps, change)| {
        let (_, node) = read(&text)?;
        make(&text, &node, steps, change).ok_or_else(|| EditError::no_such_place(steps))
    })
}

fn make(text: &str, root: &Node, steps: &[Step], change: &Change) -> Option<String> {
    let blank = if text.contains("\": ") { " " } else { "" };
    match (change, tree::at(root, steps)) {
        (Change::Set(value), Some(node)) => put(text, node.place.span, &value.to_string()),
        (Change::Set(value), None) => {
            let (Step::Key(key), before) = steps.split_last()? else { return None };
            let pair = format!("{}:{blank}{value}", serde_json::Value::from(key.as_str()));
            let map = tree::at(root, before)?;
            add(text, map, map.entries().last().map(|entry| entry.node.place.span), &pair, blank)
        }
        (Change::Append(value), Some(list)) => {
            add(text, list, list.items().last().map(|item| item.place.span), &value.to_string(), blank)
        }
        (Change::Remove, Some(_)) => remove(text, root, steps),
        (Change::Append(_) | Change::Remove, None) => None,
    }
}

/// Adds to the end of a list or map. `last` is its last item or entry.
fn add(text: &str, owner: &Node, last: Option<Span>, part: &str, blank: &str) -> Option<String> {
    if let Some(last) = last {
        put(text, Span::new(last.end, last.end), &format!(",{blank}{part}"))
    } else {
        let start = owner.place.span.start + 1;
        put(text, Span::new(start, start), part)
    }
}

/// Removes an item or entry with the comma before it; the first one with the comma after it.
fn remove(text: &str, root: &Node, steps: &[Step]) -> Option<String> {
    let (last, before) = steps.split_last()?;
    let owner = tree::at(root, before)?;
    let (index, parts) = match last {
        Step::Key(key) => {
            let whole =
                |entry: &audit_read::document::Entry| Span::new(entry.key_span.start, entry.node.place.span.end);
            let index = owner.entries().iter().position(|entry| entry.key == *key)?;
            (index, owner.entries().iter().map(whole).collect::<Vec<_>>())
        }
        Step::Index(index) => (*index, owner.items().iter().map(|item| item.place.span).collect()),
        Step::Embedded | Step::Document(_) => return None,
    };
    let own = *parts.get(index)?;
    let span = match (index.checked_sub(1).and_then(|before| parts.get(before)), parts.get(index + 1)) {
        (Some(before), _) => Span::new(before.end, own.end),
        (None, Some(next)) => Span::new(own.start, next.start),
        (None, None) => own,
    };
    put(text, span, "")
}

fn put(text: &str, span: Span, with: &str) -> Option<String> {
    Some([text.get(..span.start)?, with, text.get(span.end..)?].concat())
}
