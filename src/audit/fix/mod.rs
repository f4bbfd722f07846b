//! Fixes: the edits of findings, made in the text of their file. What is not edited keeps its formatting and comments.
//!
//! Each edit is verified: the edited text is read again, and has to hold exactly what it held before with that one change.

mod json;
mod repair;
mod tree;
mod yaml;

pub use self::repair::{Left, Repair, repair};
use super::{
    definition::Dialect,
    document::{Node, ParseError, Place, Route, Step, Value, parse_json, parse_yaml},
    finding::{Change, Edit},
};

/// An edit that cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// The text is not what the edit was made for.
    #[error("the text cannot be read: {0}")]
    Unreadable(#[from] ParseError),
    /// The way does not lead anywhere.
    #[error("there is no {0} in it")]
    NoSuchPlace(String),
    /// The notation at the place does not allow it without touching more.
    #[error("the notation there does not allow it: {0}")]
    Notation(String),
    /// The edited text would differ in more than the edit.
    #[error("the edit would change something else as well")]
    NotMinimal,
}

/// Makes `edits` in `text`, one after another. Values are spelled as `dialect` spells them.
///
/// # Errors
/// One of the edits cannot be made; then none is.
pub fn apply(text: &str, dialect: Dialect, edits: &[Edit]) -> Result<String, EditError> {
    let mut text = text.to_owned();
    for edit in edits {
        text = apply_one(&text, dialect, edit)?;
    }
    Ok(text)
}

fn apply_one(text: &str, dialect: Dialect, edit: &Edit) -> Result<String, EditError> {
    let steps = edit.route.steps();
    let (outer, inner) = match steps.iter().position(|step| *step == Step::Embedded) {
        Some(at) => (steps.get(..at).unwrap_or_default(), steps.get(at + 1..)),
        None => (steps.as_slice(), None),
    };
    let change = match inner {
        Some(inner) => Change::Set(embedded(text, outer, inner, &edit.change)?.into()),
        None => spell(dialect, &edit.change),
    };
    change_at(text, outer, &change)
}

/// The value of the string at `outer` after the change inside of the JSON that it holds.
fn embedded(text: &str, outer: &[Step], inner: &[Step], change: &Change) -> Result<String, EditError> {
    let node = read(text)?;
    let host = tree::at(&node, outer).ok_or_else(|| EditError::NoSuchPlace(shown(outer)))?;
    match &host.value {
        Value::Text(json) => change_at(json, inner, change),
        _ => Err(EditError::NoSuchPlace(shown(outer))),
    }
}

/// Makes one change in a text, and verifies that it is the only one.
fn change_at(text: &str, steps: &[Step], change: &Change) -> Result<String, EditError> {
    let mut wanted = read(text)?;
    tree::change(&mut wanted, steps, change).ok_or_else(|| EditError::NoSuchPlace(shown(steps)))?;
    let is_minimal = |edited: &String| read(edited).is_ok_and(|found| tree::is_same(&found, &wanted));
    if is_json(text) {
        return Some(json::edit(text, steps, change)?).filter(is_minimal).ok_or(EditError::NotMinimal);
    }
    let [edited, as_json] = yaml::edits(text, steps, change);
    match (edited, as_json) {
        (Ok(edited), _) | (_, Ok(edited)) if is_minimal(&edited) => Ok(edited),
        (Err(error), Err(_)) => Err(error),
        _ => Err(EditError::NotMinimal),
    }
}

fn read(text: &str) -> Result<Node, ParseError> {
    if is_json(text) { parse_json(text, &Route::default()) } else { parse_yaml(text) }
}

/// JSON files begin with a bracket, YAML templates never do.
fn is_json(text: &str) -> bool {
    text.trim_start_matches('\u{feff}').trim_start().starts_with(['{', '['])
}

fn spell(dialect: Dialect, change: &Change) -> Change {
    match change {
        Change::Set(value) => Change::Set(dialect.spell_value(value.clone())),
        Change::Append(value) => Change::Append(dialect.spell_value(value.clone())),
        Change::Remove => Change::Remove,
    }
}

/// The way as people write it.
fn shown(steps: &[Step]) -> String {
    let parts = steps.iter().enumerate().map(|(index, step)| match step {
        Step::Key(key) if index == 0 => key.clone(),
        Step::Key(key) => format!(".{key}"),
        Step::Index(index) => format!("[{index}]"),
        Step::Embedded => " → ".to_owned(),
    });
    let path: String = parts.collect();
    if path.is_empty() { "value".to_owned() } else { path }
}

/// A node without a place in a file.
fn placeless(value: Value) -> Node {
    Node { value, place: Place::default() }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
