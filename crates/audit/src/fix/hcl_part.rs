//! Edits of Terraform sources, block by block: to read a large file again for each edit takes too long.

use std::collections::BTreeMap;

use super::{error::EditError, tree};
use crate::{
    document::{Node, Span, Step},
    finding::Edit,
    input::literals,
};

/// The edits of a block on the first level of a file, as `resource "aws_ecs_task_definition" "web" { … }`.
struct Part {
    span: Span,
    /// The steps to it in the tree of the file.
    place: Vec<Step>,
    /// The edits of a file that contains only this block.
    edits: Vec<Edit>,
}

/// Makes each of `edits` with `edit_one` in the text of its block, and verifies that the other blocks are the same.
pub(super) fn edit(
    text: &str,
    edits: &[Edit],
    edit_one: impl Fn(&str, &Edit) -> Result<String, EditError>,
) -> Result<String, EditError> {
    let mut wanted = literals(text)?;
    let mut edited = text.to_owned();
    // From the end, so that the bytes before an edit keep their positions.
    for part in parts(&wanted, edits)?.into_values().rev() {
        let block = text.get(part.span.start..part.span.end).unwrap_or_default().to_owned();
        let block = part.edits.iter().try_fold(block, |block, edit| edit_one(&block, edit))?;
        let found = tree::at(&literals(&block)?, &alone(&part.place)).cloned();
        let place = tree::at_mut(&mut wanted, &part.place);
        match (place, found) {
            (Some(place), Some(found)) => *place = found,
            _ => return Err(EditError::NotMinimal),
        }
        edited.replace_range(part.span.start..part.span.end, &block);
    }
    let is_minimal = literals(&edited).is_ok_and(|found| tree::is_same(&found, &wanted));
    if is_minimal { Ok(edited) } else { Err(EditError::NotMinimal) }
}

/// The edits of each block, by the byte where the block begins.
fn parts(root: &Node, edits: &[Edit]) -> Result<BTreeMap<usize, Part>, EditError> {
    let mut parts = BTreeMap::new();
    for edit in edits {
        let steps = edit.route.steps();
        let (span, place) = block_of(root, &steps).ok_or_else(|| EditError::no_such_place(&steps))?;
        let inner = steps.get(place.len()..).unwrap_or_default();
        let route = alone(place).into_iter().chain(inner.iter().cloned()).collect();
        let part = Part { span, place: place.to_vec(), edits: Vec::new() };
        let part = parts.entry(span.start).or_insert(part);
        part.edits.push(Edit { route, change: edit.change.clone() });
    }
    Ok(parts)
}

/// The block on the first level that contains the value at the end of `steps`, and the steps to it: its type and labels.
fn block_of<'s>(root: &Node, steps: &'s [Step]) -> Option<(Span, &'s [Step])> {
    let mut node = root;
    for (index, step) in steps.iter().enumerate() {
        let Step::Key(key) = step else { return None };
        let entry = node.entries().iter().find(|entry| entry.key == *key)?;
        let span = entry.node.place.span;
        // A type or label has the place of the block's type; the block begins with it.
        if span != entry.key_span {
            let is_block = span.start == entry.key_span.start;
            return is_block.then_some((span, steps.get(..=index)?));
        }
        node = &entry.node;
    }
    None
}

/// The steps to a block in a file that contains only this block: without the number that the second block with the same
/// type and labels has.
fn alone(place: &[Step]) -> Vec<Step> {
    let mut steps = place.to_vec();
    if let Some(Step::Key(key)) = steps.last_mut()
        && let Some(at) = key.find('#')
    {
        key.truncate(at);
    }
    steps
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::finding::Change;

    const TEXT: &str =
        "# Two services\nresource \"x\" \"a\" {\n  mode = 1\n}\nlocals {\n  mode = 2\n}\nlocals {\n  mode = 3\n}\n";

    /// Edits with a function that replaces each `mode`, and returns the blocks that it got.
    fn edited(paths: &[&str], replacement: &str) -> Result<String, EditError> {
        let edit_of = |path: &&str| {
            let route = path.split('.').map(|key| Step::Key(key.to_owned())).collect();
            Edit { route, change: Change::Set(json!(true)) }
        };
        let edits: Vec<Edit> = paths.iter().map(edit_of).collect();
        edit(TEXT, &edits, |block, _| Ok(block.replace("mode", replacement)))
    }

    #[test]
    fn each_block_is_edited_on_its_own() {
        let text = edited(&["resource.x.a.mode", "locals#1.mode"], "kind").unwrap();
        assert_eq!(text, TEXT.replace("mode = 1", "kind = 1").replace("mode = 3", "kind = 3"));
    }

    #[test]
    fn a_place_outside_of_blocks_is_refused() {
        for path in ["resource.x", "resource.x.b.mode", "mode"] {
            let error = edited(&[path], "kind").unwrap_err();
            assert!(matches!(error, EditError::NoSuchPlace(_)), "{path}: {error}");
        }
    }

    #[test]
    fn an_edit_that_changes_another_block_is_refused() {
        for replacement in ["}\nresource \"x\" \"c\" {\n  mode", "/* mode", "mode = 1\n}\nlocals {\n  other"] {
            let error = edited(&["resource.x.a.mode"], replacement).unwrap_err();
            let expected = matches!(error, EditError::NotMinimal | EditError::Unreadable(_));
            assert!(expected, "{replacement}: {error}");
        }
    }
}
