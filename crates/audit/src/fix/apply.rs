//! Makes edits, and verifies that nothing else changed.

use std::borrow::Cow;

use super::{
    comment, documents::in_documents, error::EditError, hcl, hcl_part, inline, json, part, read::read, tree, yaml,
};
use crate::finding::{Change, Edit};
use audit_read::{
    definition::Dialect,
    document::{Node, Step, Value},
    input::{Notation, literals},
};

/// Makes `edits` in `text`, one after the other. Values are spelled as in `dialect`.
///
/// # Errors
/// One of the edits cannot be made; then none of them is.
pub fn apply(text: &str, dialect: Dialect, edits: &[Edit]) -> Result<String, EditError> {
    let manners: &[Manner] = if is_native_terraform(text, dialect) {
        &[Manner::PART_BY_PART]
    } else {
        &[Manner::PART_BY_PART, Manner::ITEM_BY_ITEM, Manner::AS_A_WHOLE]
    };
    let mut first_error = None;
    for manner in manners {
        match try_apply(text, dialect, edits, *manner) {
            Ok(edited) => return Ok(edited),
            Err(error) => first_error = first_error.or(Some(error)),
        }
    }
    Err(first_error.unwrap_or(EditError::NotMinimal))
}

/// A way to make edits.
#[derive(Debug, Clone, Copy)]
pub(super) struct Manner {
    /// If one list or map replaces another: only the differences are written.
    is_item_by_item: bool,
    /// In YAML, each resource is edited separately, which takes less time.
    is_in_parts: bool,
}

impl Manner {
    pub(super) const PART_BY_PART: Self = Self { is_item_by_item: true, is_in_parts: true };
    const ITEM_BY_ITEM: Self = Self { is_item_by_item: true, is_in_parts: false };
    const AS_A_WHOLE: Self = Self { is_item_by_item: false, is_in_parts: false };
}

/// Makes edits in one manner, and verifies that the text has no other changes.
pub(super) fn try_apply(text: &str, dialect: Dialect, edits: &[Edit], manner: Manner) -> Result<String, EditError> {
    in_documents(text, edits, |document, edits| apply_to_one(document, dialect, edits, manner))
}

fn apply_to_one(text: &str, dialect: Dialect, edits: &[Edit], manner: Manner) -> Result<String, EditError> {
    let (mark, text) = text.strip_prefix('\u{feff}').map_or(("", text), |rest| ("\u{feff}", rest));
    // The editing libraries expect `\n`.
    let newlines = text.matches('\n').count();
    let has_returns = newlines > 0 && text.matches("\r\n").count() == newlines;
    let plain = if has_returns { Cow::Owned(text.replace("\r\n", "\n")) } else { Cow::Borrowed(text) };
    let edited = edit_plain(&plain, dialect, edits, manner)?;
    let edited = if has_returns { edited.replace('\n', "\r\n") } else { edited };
    Ok([mark, &edited].concat())
}

fn edit_plain(text: &str, dialect: Dialect, edits: &[Edit], manner: Manner) -> Result<String, EditError> {
    if is_native_terraform(text, dialect) {
        return hcl_part::edit(text, edits, |block, edit| {
            let (steps, change) = outermost(&literals(block)?, dialect, edit)?;
            hcl::edit(block, &steps, &change)
        });
    }
    let (notation, before) = read(text)?;
    let mut wanted = before.clone();
    let mut changes = Vec::new();
    for edit in edits {
        let (steps, change) = outermost(&wanted, dialect, edit)?;
        let parts =
            if manner.is_item_by_item { tree::in_items(&wanted, &steps, &change) } else { vec![(steps, change)] };
        for (steps, change) in parts {
            comment::refuse_loss(text, &before, &steps, &change)?;
            tree::change(&mut wanted, &steps, &change).ok_or_else(|| EditError::no_such_place(&steps))?;
            changes.push((steps, change));
        }
    }
    let edited = match notation {
        Notation::Json if text.trim_end().contains('\n') => json::edit(text, &changes)?,
        Notation::Json => inline::edit(text, &changes)?,
        Notation::Yaml if manner.is_in_parts => part::edit(text, &before, &changes)?,
        Notation::Yaml => yaml::edit_all(text, &changes)?,
    };
    let is_minimal = read(&edited).is_ok_and(|(_, found)| tree::is_same(&found, &wanted));
    if is_minimal { Ok(edited) } else { Err(EditError::NotMinimal) }
}

/// Whether a text is in Terraform's native syntax, in which no file begins with a bracket, and which knows one manner.
fn is_native_terraform(text: &str, dialect: Dialect) -> bool {
    dialect == Dialect::Terraform && !text.trim_start_matches('\u{feff}').trim_start().starts_with('{')
}

/// The change in the file's own notation: a change in embedded JSON becomes a change of the string that contains it.
fn outermost(node: &Node, dialect: Dialect, edit: &Edit) -> Result<(Vec<Step>, Change), EditError> {
    let steps = edit.route.steps();
    let Some(at) = steps.iter().position(|step| *step == Step::Embedded) else {
        return Ok((steps, spell(dialect, &edit.change)));
    };
    let (outer, inner) = (steps.get(..at).unwrap_or_default(), steps.get(at + 1..).unwrap_or_default());
    let host = tree::at(node, outer).map(|host| &host.value);
    let Some(Value::Text(json)) = host else { return Err(EditError::no_such_place(outer)) };
    let route = inner.iter().cloned().collect();
    // The embedded JSON is the configuration of consul-ecs, with its own spelling.
    let inner = Edit { route, change: edit.change.clone() };
    Ok((outer.to_vec(), Change::Set(apply(json, Dialect::Ecs, &[inner])?.into())))
}

fn spell(dialect: Dialect, change: &Change) -> Change {
    match change {
        Change::Set(value) => Change::Set(dialect.spell_value(value.clone())),
        Change::Append(value) => Change::Append(dialect.spell_value(value.clone())),
        Change::Remove => Change::Remove,
    }
}
