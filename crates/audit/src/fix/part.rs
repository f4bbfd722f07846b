//! Edits of YAML, resource by resource: to read a large template again for each edit takes too long.

use std::collections::BTreeMap;

use super::{error::EditError, read::read, tree, yaml};
use crate::finding::Change;
use audit_read::document::{Node, Span, Step};

/// The changes of each part, by the byte where the part begins.
type Parts = BTreeMap<usize, (Span, Vec<(Vec<Step>, Change)>)>;

/// Makes changes in a YAML text with the tree `node`.
pub(super) fn edit(text: &str, node: &Node, changes: &[(Vec<Step>, Change)]) -> Result<String, EditError> {
    let mut parts = Parts::new();
    let mut others = Vec::new();
    for (steps, change) in changes {
        match (part_of(text, node, steps), steps.get(1..)) {
            (Some(span), Some(inner)) => {
                let (_, of_part) = parts.entry(span.start).or_insert_with(|| (span, Vec::new()));
                of_part.push((inner.to_vec(), change.clone()));
            }
            _ => others.push((steps.clone(), change.clone())),
        }
    }
    let mut edited = text.to_owned();
    // From the end, so that the bytes before an edit keep their positions.
    for (span, changes) in parts.into_values().rev() {
        let part = text.get(span.start..span.end).unwrap_or_default();
        edited.replace_range(span.start..span.end, &yaml::edit_all(part, &changes)?);
    }
    yaml::edit_all(&edited, &others)
}

/// The lines of an entry on the second level (`Resources`, `Task`), if these lines contain nothing else.
fn part_of(text: &str, root: &Node, steps: &[Step]) -> Option<Span> {
    let [Step::Key(outer), Step::Key(inner), _, ..] = steps else { return None };
    let entry = |node: &'_ Node, key: &str| node.entries().iter().position(|entry| entry.key == *key);
    let owner = &root.entries().get(entry(root, outer)?)?.node;
    let entry = owner.entries().get(entry(owner, inner)?)?;
    let start = text.get(..entry.key_span.start)?.rfind('\n')? + 1;
    let own_end = entry.node.place.span.end;
    let is_at_line_start = text.get(..own_end)?.ends_with('\n');
    let rest = text.get(own_end..)?;
    let end = if is_at_line_start { own_end } else { own_end + rest.find('\n').map_or(rest.len(), |at| at + 1) };
    let after = text.get(own_end..end)?.trim();
    let is_alone =
        text.get(start..entry.key_span.start)?.trim().is_empty() && (after.is_empty() || after.starts_with('#'));
    let (_, alone) = read(text.get(start..end).filter(|_| is_alone)?).ok()?;
    let is_whole =
        alone.entries().len() == 1 && alone.get(inner).is_some_and(|found| tree::is_same(found, &entry.node));
    is_whole.then_some(Span::new(start, end))
}
