//! Edits of YAML.

use std::collections::BTreeMap;

use serde_json::Value as Json;
use yamlpatch::{Op, Patch, apply_yaml_patches};
use yamlpath::{Component, Document, Route};

use super::{
    change::{self, Change},
    error::EditError,
    text::{in_parts, put, read},
};
use crate::{node::Node, place::PathStep, span::Span};

/// Replaced by the value in a second step.
const PLACEHOLDER: &str = "PLACEHOLDER";

/// Makes changes in a YAML text, and verifies each: some notations are wrong for some values, which only the result
/// shows.
pub(super) fn edit(text: &str, changes: &[(Vec<PathStep>, Change)]) -> Result<String, EditError> {
    changes.iter().try_fold(text.to_owned(), |text, (steps, change)| edit_one(&text, steps, change))
}

/// Makes changes in a YAML text with the tree `node`, resource by resource: to read a large template again for each edit
/// takes too long.
pub(super) fn edit_parts(text: &str, node: &Node, changes: &[(Vec<PathStep>, Change)]) -> Result<String, EditError> {
    let mut parts: BTreeMap<Span, Vec<(Vec<PathStep>, Change)>> = BTreeMap::new();
    let mut others = Vec::new();
    for (steps, change) in changes {
        match (part_of(text, node, steps), steps.get(1..)) {
            (Some(span), Some(inner)) => parts.entry(span).or_default().push((inner.to_vec(), change.clone())),
            _ => others.push((steps.clone(), change.clone())),
        }
    }
    edit(&in_parts(text, parts, edit)?, &others)
}

/// The lines of an entry on the second level (`Resources`, `Task`), if these lines contain nothing else.
fn part_of(text: &str, root: &Node, steps: &[PathStep]) -> Option<Span> {
    let [PathStep::Key(outer), PathStep::Key(inner), _, ..] = steps else { return None };
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
        alone.entries().len() == 1 && alone.get(inner).is_some_and(|found| found.json() == entry.node.json());
    is_whole.then_some(Span::new(start, end))
}

/// The first attempt keeps YAML's notation. The second one writes the value as JSON, which is valid YAML in any place:
/// the first one leaves a string like `true` without quotes.
fn edit_one(text: &str, steps: &[PathStep], change: &Change) -> Result<String, EditError> {
    let (_, tree) = read(text)?;
    let mut wanted = tree.json();
    change::make(&mut wanted, steps, change).ok_or_else(|| EditError::no_such_place(steps))?;
    let is_minimal = |edited: &String| read(edited).is_ok_and(|(_, found)| found.json() == wanted);
    let edited = edit_in_yaml(text, &tree, steps, change);
    if let Ok(edited) = &edited
        && is_minimal(edited)
    {
        return Ok(edited.clone());
    }
    match edit_as_json(text, &tree, steps, change) {
        Ok(edited) if is_minimal(&edited) => Ok(edited),
        _ => Err(edited.err().unwrap_or(EditError::NotMinimal)),
    }
}

fn edit_in_yaml(text: &str, tree: &Node, steps: &[PathStep], change: &Change) -> Result<String, EditError> {
    match (change, tree.at(steps), steps.split_last()) {
        (Change::Append(value), Some(list), _) if begins_with(text, list, '[') => append_in_brackets(text, list, value),
        (Change::Append(value), Some(_), _) => patch(text, steps, Op::Append { value: yaml(value, steps)? }),
        (Change::Set(value), Some(node), _) if value.is_array() || value.is_object() => replace(text, node, value),
        (Change::Set(Json::String(new)), Some(node), _) if is_literal(text, node) => rewrite_lines(text, node, new),
        (Change::Set(value), Some(_), _) => patch(text, steps, Op::Replace(yaml(value, steps)?)),
        (Change::Set(value), None, Some((PathStep::Key(key), before))) => {
            if let Some(owner) = tree.at(before).filter(|owner| begins_with(text, owner, '{')) {
                return add_in_braces(text, owner, key, value);
            }
            patch(text, before, Op::Add { key: key.clone(), value: yaml(value, steps)? })
        }
        (Change::Remove, Some(_), Some((PathStep::Index(_), before))) if is_only_item(tree, before) => {
            edit_in_yaml(text, tree, before, &Change::Set(Json::Array(Vec::new())))
        }
        (Change::Remove, Some(_), _) => patch(text, steps, Op::Remove),
        (_, None, _) => Err(EditError::no_such_place(steps)),
    }
}

/// Writes a placeholder first, and then replaces it with the value.
fn edit_as_json(text: &str, tree: &Node, steps: &[PathStep], change: &Change) -> Result<String, EditError> {
    let placeholder = Json::from(PLACEHOLDER);
    let (change, steps, value) = match (change, tree.at(steps)) {
        (Change::Set(value), Some(node)) => return replace(text, node, value),
        (Change::Set(value), None) => (Change::Set(placeholder), steps.to_vec(), value),
        (Change::Append(value), Some(list)) => {
            let item = [steps, &[PathStep::Index(list.items().len())]].concat();
            (Change::Append(placeholder), item, value)
        }
        _ => return Err(EditError::NotMinimal),
    };
    let list_or_key =
        if matches!(change, Change::Append(_)) { steps.split_last().map_or(&[][..], |(_, list)| list) } else { &steps };
    let prepared = edit_in_yaml(text, tree, list_or_key, &change)?;
    let (_, tree) = read(&prepared)?;
    let place = tree.at(&steps).ok_or_else(|| EditError::no_such_place(&steps))?;
    replace(&prepared, place, value)
}

/// The library's errors name its own types, so a refusal names the place instead.
fn patch(text: &str, steps: &[PathStep], operation: Op<'_>) -> Result<String, EditError> {
    let document = Document::new(text).map_err(|_| EditError::form_changed(steps))?;
    let route = Route::from(steps.iter().filter_map(component).collect::<Vec<_>>());
    let place = document.query_exact(&route).map_err(|_| EditError::form_changed(steps))?;
    if place.is_some_and(|place| has_tag_or_comment(document.extract(&place))) {
        return Err(EditError::Notation("a value behind a tag, or behind an anchor and a comment".to_owned()));
    }
    let patch = Patch { route, operation };
    let edited = apply_yaml_patches(&document, &[patch]).map_err(|_| EditError::form_changed(steps))?;
    let edited = edited.source();
    // A file without a newline at its end is left without one.
    let edited = if text.ends_with('\n') { edited } else { edited.strip_suffix('\n').unwrap_or(edited) };
    Ok(edited.to_owned())
}

/// Whether a tag, or a comment behind an anchor, is before a value: `! [a, b]`, `&a # comment`. The library panics at
/// both.
fn has_tag_or_comment(value: &str) -> bool {
    value.split_whitespace().find(|word| !word.starts_with('&')).is_some_and(|word| word.starts_with(['!', '#']))
}

/// Without its only item, the list would be null instead of empty.
fn is_only_item(tree: &Node, list: &[PathStep]) -> bool {
    tree.at(list).is_some_and(|list| list.items().len() == 1)
}

fn is_literal(text: &str, node: &Node) -> bool {
    text.get(node.place.span.start..node.place.span.end)
        .is_some_and(|block| block.starts_with('|') && block.contains('\n'))
}

/// Replaces the lines of a string in block style.
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

/// Whether a list or map is in flow style.
fn begins_with(text: &str, node: &Node, bracket: char) -> bool {
    text.get(node.place.span.start..).is_some_and(|rest| rest.starts_with(bracket))
}

/// `{a: 1}` becomes `{a: 1, b: 2}`.
fn add_in_braces(text: &str, map: &Node, key: &str, value: &Json) -> Result<String, EditError> {
    let is_plain = key.starts_with(|c: char| c.is_ascii_alphabetic()) && key.bytes().all(|b| b.is_ascii_alphanumeric());
    let key = if is_plain { key.to_owned() } else { Json::from(key).to_string() };
    let Some(newest) = map.entries().last().map(|entry| entry.node.place.span) else {
        let inside = map.place.span.start + 1;
        return put(text, Span::new(inside, inside), &format!("{key}: {value}"));
    };
    let end = text.get(..newest.end).map_or(newest.end, |before| before.trim_end().len());
    put(text, Span::new(end, end), &format!(", {key}: {value}"))
}

/// `[a, b]` becomes `[a, b, "c"]`. If each item has its own line, the new one has too.
fn append_in_brackets(text: &str, list: &Node, value: &Json) -> Result<String, EditError> {
    let Some(newest) = list.items().last().map(|item| item.place.span) else {
        let inside = list.place.span.start + 1;
        return put(text, Span::new(inside, inside), &value.to_string());
    };
    let end = text.get(..newest.end).map_or(newest.end, |before| before.trim_end().len());
    let before = text.get(..newest.start).unwrap_or_default();
    let indent = before.get(before.rfind('\n').map_or(0, |newline| newline + 1)..).unwrap_or_default();
    let line = text.get(end..).and_then(|rest| rest.split_once('\n')).map(|(line, _)| line);
    let (has_comma, rest) = match line.map(|line| (line, line.trim_start().strip_prefix(','))) {
        Some((_, Some(after_comma))) => (true, after_comma.trim_start()),
        Some((line, None)) => (false, line.trim_start()),
        None => (false, ""),
    };
    match line.filter(|_| indent.trim().is_empty() && (rest.is_empty() || rest.starts_with('#'))) {
        Some(line) => {
            let (first, second) = if has_comma { ("", ",") } else { (",", "") };
            put(text, Span::new(end, end + line.len()), &format!("{first}{line}\n{indent}{value}{second}"))
        }
        None => put(text, Span::new(end, end), &format!(", {value}")),
    }
}

/// If the old value begins on a line of its own, the new one goes behind the colon: a flow sequence must be indented
/// further than the dashes of a block sequence have to be. An empty value, as in `Volumes:`, gets a blank between the
/// colon or dash and the new value.
fn replace(text: &str, node: &Node, value: &Json) -> Result<String, EditError> {
    let span = node.place.span;
    // The parser puts an empty value before or behind its colon.
    let after = text.get(span.start..).unwrap_or_default();
    if span.start == span.end && after.starts_with([':', '-']) {
        return put(text, Span::new(span.start + 1, span.start + 1), &format!(" {value}"));
    }
    let before = text.get(..span.start).unwrap_or_default().trim_end();
    let is_below = text.get(before.len()..span.start).is_some_and(|between| between.contains('\n'));
    if span.start == span.end && before.ends_with([':', '-']) {
        return put(text, Span::new(before.len(), before.len()), &format!(" {value}"));
    }
    if is_below && before.ends_with(':') {
        return put(text, Span::new(before.len(), span.end), &format!(" {value}"));
    }
    put(text, span, &value.to_string())
}

fn component(step: &PathStep) -> Option<Component<'_>> {
    match step {
        PathStep::Key(key) => Some(Component::from(key.as_str())),
        PathStep::Index(index) => Some(Component::Index(*index)),
        PathStep::Embedded | PathStep::Document(_) => None,
    }
}

fn yaml(value: &Json, steps: &[PathStep]) -> Result<yaml_serde::Value, EditError> {
    yaml_serde::to_value(value).map_err(|_| EditError::form_changed(steps))
}
