//! Additions to a resource in Terraform's native syntax: arguments and nested blocks that it lacks.

use serde_json::Value as Json;

use super::{
    error::EditError,
    hcl_text::{end_of_value, put, spelled},
    tree,
};
use crate::finding::Change;
use audit_read::document::{Entry, Node, Span, Step};

/// Arguments of a task definition that are nested blocks. Source:
/// <https://registry.terraform.io/providers/hashicorp/aws/latest/docs/resources/ecs_task_definition>
const NESTED: [&str; 1] = ["volume"];

/// The change in the tree of literals if it adds an item to nested blocks: each block has a key of its own.
pub(super) fn addition(root: &Node, steps: &[Step], change: &Change) -> Option<(Vec<Step>, Change)> {
    let (kind, owner) = of_resource(steps)?;
    let item = match change {
        Change::Append(item) => item.clone(),
        Change::Set(Json::Array(items)) if items.len() == 1 => items.first()?.clone(),
        _ => return None,
    };
    if !NESTED.contains(&kind) {
        return None;
    }
    let is_kind = |entry: &&Entry| entry.key.split('#').next() == Some(kind);
    let count = tree::at(root, owner)?.entries().iter().filter(is_kind).count();
    let key = if count == 0 { kind.to_owned() } else { format!("{kind}#{count}") };
    Some(([owner, &[Step::Key(key)]].concat(), Change::Set(item)))
}

/// The resource to which a change adds something.
pub(super) fn owner<'n>(root: &'n Node, steps: &[Step], change: &Change) -> Option<&'n Node> {
    let (_, owner) = of_resource(steps)?;
    let is_addition = matches!(change, Change::Set(_)) && tree::at(root, steps).is_none();
    tree::at(root, owner).filter(|_| is_addition)
}

/// The name of an argument, and the steps to its resource.
fn of_resource(steps: &[Step]) -> Option<(&str, &[Step])> {
    match steps {
        [owner @ .., Step::Key(name)]
            if owner.len() == 3 && owner.first() == Some(&Step::Key("resource".to_owned())) =>
        {
            Some((name, owner))
        }
        _ => None,
    }
}

/// Adds an argument on a line of its own: after the last one that has a line, with its `=` in the same column.
pub(super) fn add_argument(text: &str, owner: &Node, steps: &[Step], change: &Change) -> Result<String, EditError> {
    let (Some((name, _)), Change::Set(value)) = (of_resource(steps), change) else {
        return Err(EditError::no_such_place(steps));
    };
    let arguments = owner.entries().iter().filter(|entry| entry.node.place.span.start >= entry.key_span.end);
    let lines: Vec<Line<'_>> = arguments.filter_map(|entry| Line::of(text, owner, entry)).collect();
    let one_line = lines.iter().rev().find(|line| line.is_one);
    let line = one_line.or(lines.last()).ok_or_else(too_short)?;
    let width = if line.is_one { line.width } else { 0 };
    let added = format!("\n{}{name:<width$} = {}", line.indent, spelled(value));
    put(text, Span::new(line.end, line.end), &added).ok_or_else(too_short)
}

/// Adds a nested block before the end of the resource.
pub(super) fn add_block(text: &str, owner: &Node, steps: &[Step], change: &Change) -> Result<String, EditError> {
    let (Some((key, _)), Change::Set(Json::Object(arguments))) = (of_resource(steps), change) else {
        return Err(EditError::no_such_place(steps));
    };
    let kind = key.split('#').next().unwrap_or(key);
    let bracket = owner.place.span.end.saturating_sub(1);
    let start = line_start(text, bracket);
    let outer = text.get(start..bracket).filter(|outer| outer.trim().is_empty()).ok_or_else(too_short)?;
    let first = owner.entries().first().map(|entry| entry.key_span.start).ok_or_else(too_short)?;
    let indent = text.get(line_start(text, first)..first).filter(|indent| indent.trim().is_empty());
    let indent = indent.ok_or_else(too_short)?;
    let step = indent.strip_prefix(outer).unwrap_or("  ");
    let lines = arguments.iter().map(|(name, value)| [indent, step, name, " = ", &spelled(value), "\n"].concat());
    let added = format!("\n{indent}{kind} {{\n{}{indent}}}\n", lines.collect::<String>());
    put(text, Span::new(start, start), &added).ok_or_else(too_short)
}

/// The lines of an argument.
struct Line<'t> {
    indent: &'t str,
    /// The length of its name, with blanks up to the one before `=`.
    width: usize,
    /// Whether it has only one line.
    is_one: bool,
    /// The end of its last line.
    end: usize,
}

impl<'t> Line<'t> {
    /// The lines of an argument that shares them with no other.
    fn of(text: &'t str, owner: &Node, entry: &Entry) -> Option<Self> {
        let key = entry.key_span;
        let indent = text.get(line_start(text, key.start)..key.start).filter(|indent| indent.trim().is_empty())?;
        let value_end = end_of_value(text, entry.node.place.span.end, owner.place.span.end)?;
        let end = value_end + text.get(value_end..)?.find('\n')?;
        let rest = text.get(value_end..end)?.trim();
        let is_alone = rest.is_empty() || rest.starts_with('#') || rest.starts_with("//");
        let equals = text.get(key.end..)?.find('=')?;
        let is_one = !text.get(key.start..end)?.contains('\n');
        let width = (key.end - key.start + equals).saturating_sub(1);
        is_alone.then_some(Self { indent, width, is_one, end })
    }
}

fn line_start(text: &str, at: usize) -> usize {
    text.get(..at).and_then(|before| before.rfind('\n')).map_or(0, |newline| newline + 1)
}

fn too_short() -> EditError {
    EditError::Notation("the arguments of the resource need lines of their own".to_owned())
}
