//! Edits of JSON and YAML, in whichever manner keeps the rest of the text.

use std::collections::BTreeMap;

use super::{
    change::{self, Change, Edit},
    error::EditError,
    json,
    text::{in_parts, in_plain_lines, read},
    yaml,
};
use crate::{comments::has_comment, notation::Notation, place::PathStep, span::Span, yaml::yaml_documents};

/// A way to make edits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Manner {
    /// Item by item; in YAML, each resource is edited separately, which takes less time.
    PartByPart,
    /// If one list or map replaces another, only the differences are written.
    ItemByItem,
    AsAWhole,
}

/// Makes edits in the first manner that changes nothing else.
pub(super) fn edit(text: &str, edits: &[Edit]) -> Result<String, EditError> {
    let mut first_error = None;
    for manner in [Manner::PartByPart, Manner::ItemByItem, Manner::AsAWhole] {
        match edit_in(manner, text, edits) {
            Ok(edited) => return Ok(edited),
            Err(error) => first_error = first_error.or(Some(error)),
        }
    }
    Err(first_error.unwrap_or(EditError::NotMinimal))
}

/// Makes edits in one manner, and verifies that the text has no other changes. Each document of a YAML file with several
/// is edited on its own.
pub(super) fn edit_in(manner: Manner, text: &str, edits: &[Edit]) -> Result<String, EditError> {
    let documents = yaml_documents(text);
    let mut of_documents: BTreeMap<Span, Vec<Edit>> = BTreeMap::new();
    for edit in edits {
        let steps = edit.route.steps();
        let Some((PathStep::Document(index), rest)) = steps.split_first() else {
            return edit_document(manner, text, edits);
        };
        let document = documents.get(*index).ok_or_else(|| EditError::no_such_place(&[PathStep::Document(*index)]))?;
        let edit = Edit { route: rest.iter().cloned().collect(), change: edit.change.clone() };
        of_documents.entry(*document).or_default().push(edit);
    }
    let edited = in_parts(text, of_documents, |document, edits| edit_document(manner, document, edits))?;
    if yaml_documents(&edited).len() == documents.len() { Ok(edited) } else { Err(EditError::NotMinimal) }
}

fn edit_document(manner: Manner, text: &str, edits: &[Edit]) -> Result<String, EditError> {
    in_plain_lines(text, |text| edit_plain(manner, text, edits))
}

fn edit_plain(manner: Manner, text: &str, edits: &[Edit]) -> Result<String, EditError> {
    let (notation, before) = read(text)?;
    let mut wanted = before.json();
    let mut changes = Vec::new();
    for edit in edits {
        let host = |steps: &[PathStep]| change::at(&wanted, steps)?.as_str().map(str::to_owned);
        let (steps, change) = outermost(edit, host)?;
        let parts = match manner {
            Manner::AsAWhole => vec![(steps, change)],
            Manner::PartByPart | Manner::ItemByItem => change::in_items(&wanted, &steps, &change),
        };
        for (steps, change) in parts {
            let replaced = before.at(&steps).filter(|_| matches!(change, Change::Set(_)));
            if replaced.is_some_and(|replaced| has_comment(text, replaced, notation)) {
                return Err(EditError::comments_lost(&steps));
            }
            change::make(&mut wanted, &steps, &change).ok_or_else(|| EditError::no_such_place(&steps))?;
            changes.push((steps, change));
        }
    }
    let edited = match notation {
        Notation::Json if text.trim_end().contains('\n') => json::edit(text, &changes)?,
        Notation::Json => json::edit_line(text, &changes)?,
        Notation::Yaml if manner == Manner::PartByPart => yaml::edit_parts(text, &before, &changes)?,
        Notation::Yaml => yaml::edit(text, &changes)?,
    };
    let is_minimal = read(&edited).is_ok_and(|(_, found)| found.json() == wanted);
    if is_minimal { Ok(edited) } else { Err(EditError::NotMinimal) }
}

/// The change in the file's own notation: a change in embedded JSON becomes a change of the string that contains it, which
/// `host` reads.
pub(super) fn outermost(
    edit: &Edit,
    host: impl FnOnce(&[PathStep]) -> Option<String>,
) -> Result<(Vec<PathStep>, Change), EditError> {
    let steps = edit.route.steps();
    let Some(at) = steps.iter().position(|step| *step == PathStep::Embedded) else {
        return Ok((steps, edit.change.clone()));
    };
    let (outer, inner) = (steps.get(..at).unwrap_or_default(), steps.get(at + 1..).unwrap_or_default());
    let json = host(outer).ok_or_else(|| EditError::no_such_place(outer))?;
    let inner = Edit { route: inner.iter().cloned().collect(), change: edit.change.clone() };
    Ok((outer.to_vec(), Change::Set(self::edit(&json, &[inner])?.into())))
}
