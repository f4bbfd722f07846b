//! Fixes: the edits of findings, made in the text of the file. Everything else keeps its formatting and comments.
//!
//! Each edit is verified: the edited text is read again, and must contain exactly what it contained before, with that one
//! change.

mod change;
mod hcl;
mod json;
mod repair;
#[cfg(test)]
mod tests;
mod yaml;

use std::{borrow::Cow, collections::BTreeMap};

use crate::finding::{Change, Edit};
use audit_read::{
    definition::Dialect,
    document::{Node, ParseError, Span, Step, yaml_documents},
    input::{Notation, has_comment, parse},
    source::SourceFile,
};

pub use self::repair::{Left, Repair, repair, repair_all};

/// An edit that cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// The text cannot be read.
    #[error("the text cannot be read: {0}")]
    Unreadable(#[from] ParseError),
    /// The route leads to no value.
    #[error("{0} does not exist in the file")]
    NoSuchPlace(String),
    /// The notation does not allow the edit without other changes.
    #[error("the notation of the file does not allow the edit: {0}")]
    Notation(String),
    /// The edited text would differ in more than the edit.
    #[error("the edit would also change another part of the file")]
    NotMinimal,
}

impl EditError {
    fn no_such_place(steps: &[Step]) -> Self {
        Self::NoSuchPlace(shown(steps))
    }

    fn comments_lost(steps: &[Step]) -> Self {
        Self::Notation(format!("the comments in {} would be lost", shown(steps)))
    }
}

/// The steps as a path: `containerDefinitions[0].name`.
fn shown(steps: &[Step]) -> String {
    let parts = steps.iter().enumerate().map(|(index, step)| match step {
        Step::Key(key) if index == 0 => key.clone(),
        Step::Key(key) => format!(".{key}"),
        Step::Index(index) => format!("[{index}]"),
        Step::Embedded => " → ".to_owned(),
        Step::Document(index) => format!("document {}: ", index + 1),
    });
    let path: String = parts.collect();
    if path.is_empty() { "value".to_owned() } else { path }
}

/// Makes `edits` in `text`, one after the other. Values are spelled as in `dialect`.
///
/// # Errors
/// One of the edits cannot be made; then none of them is.
pub fn apply(text: &str, dialect: Dialect, edits: &[Edit]) -> Result<String, EditError> {
    let manners: &[Manner] = if is_native_terraform(text, dialect) {
        &[Manner::PartByPart]
    } else {
        &[Manner::PartByPart, Manner::ItemByItem, Manner::AsAWhole]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Manner {
    /// Item by item; in YAML, each resource is edited separately, which takes less time.
    PartByPart,
    /// If one list or map replaces another, only the differences are written.
    ItemByItem,
    AsAWhole,
}

/// Makes edits in one manner, and verifies that the text has no other changes. Each document of a YAML file with several
/// is edited on its own.
fn try_apply(text: &str, dialect: Dialect, edits: &[Edit], manner: Manner) -> Result<String, EditError> {
    let documents = yaml_documents(text);
    let mut of_documents: BTreeMap<Span, Vec<Edit>> = BTreeMap::new();
    for edit in edits {
        let steps = edit.route.steps();
        let Some((Step::Document(index), rest)) = steps.split_first() else {
            return apply_to_one(text, dialect, edits, manner);
        };
        let document = documents.get(*index).ok_or_else(|| EditError::no_such_place(&[Step::Document(*index)]))?;
        let edit = Edit { route: rest.iter().cloned().collect(), change: edit.change.clone() };
        of_documents.entry(*document).or_default().push(edit);
    }
    let edited = in_parts(text, of_documents, |document, edits| apply_to_one(document, dialect, edits, manner))?;
    if yaml_documents(&edited).len() == documents.len() { Ok(edited) } else { Err(EditError::NotMinimal) }
}

/// Makes the edits of each part in the text of that part.
fn in_parts<E>(
    text: &str,
    parts: BTreeMap<Span, Vec<E>>,
    edit: impl Fn(&str, &[E]) -> Result<String, EditError>,
) -> Result<String, EditError> {
    let mut edited = text.to_owned();
    // From the end, so that the bytes before an edit keep their positions.
    for (span, edits) in parts.into_iter().rev() {
        let part = text.get(span.start..span.end).unwrap_or_default();
        edited.replace_range(span.start..span.end, &edit(part, &edits)?);
    }
    Ok(edited)
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
        return hcl::edit(text, dialect, edits);
    }
    let (notation, before) = read(text)?;
    let mut wanted = before.json();
    let mut changes = Vec::new();
    for edit in edits {
        let host = |steps: &[Step]| change::at(&wanted, steps)?.as_str().map(str::to_owned);
        let (steps, change) = outermost(dialect, edit, host)?;
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

/// Whether a text is in Terraform's native syntax, in which no file begins with a bracket, and which knows one manner.
fn is_native_terraform(text: &str, dialect: Dialect) -> bool {
    dialect == Dialect::Terraform && !text.trim_start_matches('\u{feff}').trim_start().starts_with('{')
}

/// The change in the file's own notation: a change in embedded JSON becomes a change of the string that contains it, which
/// `host` reads.
fn outermost(
    dialect: Dialect,
    edit: &Edit,
    host: impl FnOnce(&[Step]) -> Option<String>,
) -> Result<(Vec<Step>, Change), EditError> {
    let steps = edit.route.steps();
    let Some(at) = steps.iter().position(|step| *step == Step::Embedded) else {
        let change = match &edit.change {
            Change::Set(value) => Change::Set(dialect.spell_value(value.clone())),
            Change::Append(value) => Change::Append(dialect.spell_value(value.clone())),
            Change::Remove => Change::Remove,
        };
        return Ok((steps, change));
    };
    let (outer, inner) = (steps.get(..at).unwrap_or_default(), steps.get(at + 1..).unwrap_or_default());
    let json = host(outer).ok_or_else(|| EditError::no_such_place(outer))?;
    // The embedded JSON is the configuration of consul-ecs, with its own spelling.
    let inner = Edit { route: inner.iter().cloned().collect(), change: edit.change.clone() };
    Ok((outer.to_vec(), Change::Set(apply(&json, Dialect::Ecs, &[inner])?.into())))
}

/// Reads a text before or after an edit. The content shows the notation: the name of the file is not known here.
fn read(text: &str) -> Result<(Notation, Node), ParseError> {
    parse(&SourceFile::new("", text))
}

/// The text with other bytes at `span`.
fn put(text: &str, span: Span, with: &str) -> Result<String, EditError> {
    match (text.get(..span.start), text.get(span.end..)) {
        (Some(before), Some(after)) => Ok([before, with, after].concat()),
        _ => Err(EditError::NotMinimal),
    }
}
