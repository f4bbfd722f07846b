//! Edits of a YAML file with several documents: each document is edited on its own.

use std::collections::BTreeMap;

use super::error::EditError;
use crate::finding::Edit;
use audit_read::document::{Step, yaml_documents};

/// Makes `edits` with `apply` in the documents that their routes lead to; in the whole text if the routes name none.
pub(super) fn in_documents(
    text: &str,
    edits: &[Edit],
    apply: impl Fn(&str, &[Edit]) -> Result<String, EditError>,
) -> Result<String, EditError> {
    let mut of_documents: BTreeMap<usize, Vec<Edit>> = BTreeMap::new();
    for edit in edits {
        let steps = edit.route.steps();
        let Some((Step::Document(index), rest)) = steps.split_first() else { return apply(text, edits) };
        let route = rest.iter().cloned().collect();
        of_documents.entry(*index).or_default().push(Edit { route, change: edit.change.clone() });
    }
    let documents = yaml_documents(text);
    let mut edited = text.to_owned();
    // From the end, so that the documents before keep their positions.
    for (index, edits) in of_documents.into_iter().rev() {
        let span = documents.get(index).ok_or_else(|| EditError::no_such_place(&[Step::Document(index)]))?;
        let document = text.get(span.start..span.end).unwrap_or_default();
        edited.replace_range(span.start..span.end, &apply(document, &edits)?);
    }
    if yaml_documents(&edited).len() == documents.len() { Ok(edited) } else { Err(EditError::NotMinimal) }
}
