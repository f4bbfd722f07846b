//! Edits of Terraform sources, block by block: to read a large file again for each edit takes too long.

use std::collections::BTreeMap;

use super::{error::EditError, tree};
use crate::finding::Edit;
use audit_read::{
    document::{Node, Span, Step},
    input::literals,
};

/// The edits of a block on the first level of a file, as `resource "aws_ecs_task_definition" "web" { … }`.
struct Part {
    span: Span,
    /// The steps to it in the tree of the file.
    place: Vec<Step>,
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
        let block =
            text.get(part.span.start..part.span.end).ok_or_else(|| EditError::no_such_place(&part.place))?.to_owned();
        let block = part.edits.iter().try_fold(block, |block, edit| edit_one(&block, edit))?;
        let found = tree::at(&literals(&block)?, &part.place).cloned();
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
        let part = Part { span, place: place.to_vec(), edits: Vec::new() };
        let part = parts.entry(span.start).or_insert(part);
        part.edits.push(edit.clone());
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{super::hcl, *};
    use crate::finding::Change;

    const TEXT: &str = "# Two services\nresource \"x\" \"a\" {\n  mode = 1\n  kind = 1\n}\nlocals {\n  mode = 2\n}\nresource \"x\" \"b\" {\n  mode = 3\n}\n";

    /// Edits that set the value at each path to 0.
    fn edits(paths: &[&str]) -> Vec<Edit> {
        let steps = |path: &str| path.split('.').map(|key| Step::Key(key.to_owned())).collect();
        paths.iter().map(|path| Edit { route: steps(path), change: Change::Set(json!(0)) }).collect()
    }

    fn set_to_0(paths: &[&str]) -> Result<String, EditError> {
        edit(TEXT, &edits(paths), |block, edit| hcl::edit(block, &edit.route.steps(), &edit.change))
    }

    #[test]
    fn each_block_is_edited_on_its_own() {
        let text = set_to_0(&["resource.x.b.mode", "resource.x.a.mode", "resource.x.a.kind"]).unwrap();
        assert_eq!(text, TEXT.replace("= 1", "= 0").replace("= 3", "= 0"));
    }

    #[test]
    fn a_place_outside_of_blocks_is_refused() {
        for path in ["resource.x", "resource.x.c.mode", "mode"] {
            let error = set_to_0(&[path]).unwrap_err();
            assert!(matches!(error, EditError::NoSuchPlace(_)), "{path}: {error}");
        }
    }

    #[test]
    fn an_edit_that_changes_another_block_is_refused() {
        for instead in ["}\nresource \"x\" \"c\" {\n  mode", "/* mode", "mode = 1\n}\nlocals {\n  other"] {
            let edited = edit(TEXT, &edits(&["resource.x.a.mode"]), |block, _| Ok(block.replace("mode", instead)));
            let error = edited.unwrap_err();
            assert!(matches!(error, EditError::NotMinimal | EditError::Unreadable(_)), "{instead}: {error}");
        }
    }
}
