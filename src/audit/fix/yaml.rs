//! Edits of YAML.

use serde_json::Value as Json;
use yamlpatch::{Op, Patch, apply_yaml_patches};
use yamlpath::{Component, Document, Route};

use super::{EditError, read, shown, tree};
use crate::audit::{
    document::{Node, Span, Step},
    finding::Change,
};

/// Stands where a value is going to be.
const PLACEHOLDER: &str = "PLACEHOLDER";

/// The ways to make a change in a YAML text, the more beautiful one first.
///
/// The second one writes the value as JSON, which is the notation that means the same wherever it stands: the first one
/// leaves a string like `true` without quotes.
pub(super) fn edits(text: &str, steps: &[Step], change: &Change) -> [Result<String, EditError>; 2] {
    [edit(text, steps, change), edit_as_json(text, steps, change)]
}

fn edit(text: &str, steps: &[Step], change: &Change) -> Result<String, EditError> {
    let tree = read(text)?;
    match (change, tree::at(&tree, steps), steps.split_last()) {
        (Change::Append(value), Some(list), _) if is_in_brackets(text, list) => append_in_brackets(text, list, value),
        (Change::Append(value), Some(_), _) => patch(text, steps, Op::Append { value: yaml(value)? }),
        (Change::Set(value), Some(node), _) if value.is_array() || value.is_object() => replace(text, node, value),
        (Change::Set(Json::String(new)), Some(node), _) if is_literal(text, node) => rewrite_lines(text, node, new),
        (Change::Set(value), Some(_), _) => patch(text, steps, Op::Replace(yaml(value)?)),
        (Change::Set(value), None, Some((Step::Key(key), before))) => {
            patch(text, before, Op::Add { key: key.clone(), value: yaml(value)? })
        }
        (Change::Remove, Some(_), Some((Step::Index(_), before))) if is_only_item(&tree, before) => {
            edit(text, before, &Change::Set(Json::Array(Vec::new())))
        }
        (Change::Remove, Some(_), _) => patch(text, steps, Op::Remove),
        (_, None, _) => Err(EditError::NoSuchPlace(shown(steps))),
    }
}

/// Makes a place for the value first, and then writes it there.
fn edit_as_json(text: &str, steps: &[Step], change: &Change) -> Result<String, EditError> {
    let tree = read(text)?;
    let placeholder = Json::from(PLACEHOLDER);
    let (change, steps, value) = match (change, tree::at(&tree, steps)) {
        (Change::Set(value), Some(node)) => return replace(text, node, value),
        (Change::Set(value), None) => (Change::Set(placeholder), steps.to_vec(), value),
        (Change::Append(value), Some(list)) => {
            let item = [steps, &[Step::Index(list.items().len())]].concat();
            (Change::Append(placeholder), item, value)
        }
        _ => return Err(EditError::NotMinimal),
    };
    let list_or_key =
        if matches!(change, Change::Append(_)) { steps.split_last().map_or(&[][..], |(_, list)| list) } else { &steps };
    let prepared = edit(text, list_or_key, &change)?;
    let tree = read(&prepared)?;
    let place = tree::at(&tree, &steps).ok_or_else(|| EditError::NoSuchPlace(shown(&steps)))?;
    replace(&prepared, place, value)
}

fn patch(text: &str, steps: &[Step], operation: Op<'_>) -> Result<String, EditError> {
    let document = Document::new(text).map_err(notation)?;
    let patch = Patch { route: Route::from(steps.iter().filter_map(component).collect::<Vec<_>>()), operation };
    let edited = apply_yaml_patches(&document, &[patch]).map_err(notation)?;
    let edited = edited.source();
    // A file without a newline at its end keeps being one.
    let edited = if text.ends_with('\n') { edited } else { edited.strip_suffix('\n').unwrap_or(edited) };
    Ok(edited.to_owned())
}

/// Without it, its list would not be empty but nothing at all.
fn is_only_item(tree: &Node, list: &[Step]) -> bool {
    tree::at(tree, list).is_some_and(|list| list.items().len() == 1)
}

fn is_literal(text: &str, node: &Node) -> bool {
    text.get(node.place.span.start..node.place.span.end)
        .is_some_and(|block| block.starts_with('|') && block.contains('\n'))
}

/// Writes other lines below a `|`.
fn rewrite_lines(text: &str, node: &Node, new: &str) -> Result<String, EditError> {
    let span = node.place.span;
    let block = text.get(span.start..span.end).unwrap_or_default();
    let (header, lines) = block.split_once('\n').unwrap_or((block, ""));
    let first = lines.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let indent = first.get(..first.len() - first.trim_start().len()).unwrap_or_default();
    let indented = new.trim_end_matches('\n').lines().map(|line| match line {
        "" => String::new(),
        line => format!("{indent}{line}"),
    });
    let lines: Vec<String> = std::iter::once(header.to_owned()).chain(indented).collect();
    put(text, span, &lines.join("\n"))
}

fn is_in_brackets(text: &str, list: &Node) -> bool {
    text.get(list.place.span.start..).is_some_and(|rest| rest.starts_with('['))
}

/// `[a, b]` becomes `[a, b, "c"]`.
fn append_in_brackets(text: &str, list: &Node, value: &Json) -> Result<String, EditError> {
    let end_of_last = list.items().last().map(|item| item.place.span.end);
    let from = end_of_last.unwrap_or(list.place.span.start + 1);
    let rest = text.get(from..).unwrap_or_default();
    let end = rest.find(|c: char| !c.is_whitespace() && c != ',').unwrap_or_default();
    let comma = if end_of_last.is_some() { ", " } else { "" };
    put(text, Span::new(from, from + end), &format!("{comma}{value}"))
}

/// Where the old value begins on a line of its own, the new one moves up behind the colon: what is written in brackets must
/// not stand as far to the left as the dashes of a list may.
fn replace(text: &str, node: &Node, value: &Json) -> Result<String, EditError> {
    let span = node.place.span;
    let before = text.get(..span.start).unwrap_or_default().trim_end_matches([' ', '\n', '\r']);
    let is_below = text.get(before.len()..span.start).is_some_and(|between| between.contains('\n'));
    if is_below && before.ends_with(':') {
        return put(text, Span::new(before.len(), span.end), &format!(" {value}"));
    }
    put(text, span, &value.to_string())
}

fn put(text: &str, span: Span, with: &str) -> Result<String, EditError> {
    match (text.get(..span.start), text.get(span.end..)) {
        (Some(before), Some(after)) => Ok([before, with, after].concat()),
        _ => Err(EditError::NotMinimal),
    }
}

fn component(step: &Step) -> Option<Component<'_>> {
    match step {
        Step::Key(key) => Some(Component::from(key.as_str())),
        Step::Index(index) => Some(Component::Index(*index)),
        Step::Embedded => None,
    }
}

fn yaml(value: &Json) -> Result<yaml_serde::Value, EditError> {
    yaml_serde::to_value(value).map_err(notation)
}

fn notation(error: impl std::fmt::Display) -> EditError {
    EditError::Notation(error.to_string())
}
