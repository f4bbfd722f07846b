//! Edits of Terraform sources: literals in the file. Everything else is left as it is.

use super::{
    comment,
    error::EditError,
    hcl_block,
    hcl_text::{end_of_value, put, spelled, spelled_key},
    tree,
};
use crate::finding::Change;
use audit_read::{
    document::{Node, Span, Step, Value},
    input::literals,
};

/// Makes a change in a text, and verifies that the text has no other changes.
pub(super) fn edit(text: &str, steps: &[Step], change: &Change) -> Result<String, EditError> {
    let before = literals(text)?;
    comment::refuse_loss(text, &before, steps, change)?;
    let addition = hcl_block::addition(&before, steps, change);
    let (steps, change) = addition.as_ref().map_or((steps, change), |(steps, change)| (steps.as_slice(), change));
    let mut wanted = before.clone();
    tree::change(&mut wanted, steps, change).ok_or_else(|| EditError::no_such_place(steps))?;
    let edited = match hcl_block::owner(&before, steps, change) {
        Some(owner) if addition.is_some() => hcl_block::add_block(text, owner, steps, change)?,
        Some(owner) => hcl_block::add_argument(text, owner, steps, change)?,
        None => make(text, &before, steps, change).ok_or_else(|| EditError::no_such_place(steps))?,
    };
    let is_minimal = literals(&edited).is_ok_and(|found| tree::is_same(&found, &wanted));
    if is_minimal { Ok(edited) } else { Err(EditError::NotMinimal) }
}

fn make(text: &str, root: &Node, steps: &[Step], change: &Change) -> Option<String> {
    match (change, tree::at(root, steps)) {
        (Change::Set(value), Some(node)) => put(text, node.place.span, &spelled(value)),
        (Change::Set(value), None) => {
            let (Step::Key(key), before) = steps.split_last()? else { return None };
            let owner = tree::at(root, before)?;
            let last = owner.entries().last().map(|entry| Span::new(entry.key_span.start, entry.node.place.span.end));
            add(text, owner.place.span, last, &format!("{} = {}", spelled_key(key), spelled(value)), false)
        }
        (Change::Append(value), Some(list)) => {
            add(text, list.place.span, list.items().last().map(|item| item.place.span), &spelled(value), true)
        }
        (Change::Remove, Some(_)) => remove(text, root, steps),
        (Change::Append(_) | Change::Remove, None) => None,
    }
}

/// Adds to the end of a list or map. If the last item ends its line, the new one gets a line of its own. Items of a list
/// have commas between them; entries of a map may have.
fn add(text: &str, owner: Span, last: Option<Span>, part: &str, is_list: bool) -> Option<String> {
    let Some(last) = last else {
        let inside = owner.start + 1;
        return put(text, Span::new(inside, inside), part);
    };
    let end = end_of_value(text, last.end, owner.end)?;
    let line = text.get(end..)?.split('\n').next()?;
    let (has_comma, rest) = match line.trim_start().strip_prefix(',') {
        Some(rest) => (true, rest),
        None => (false, line),
    };
    let rest = rest.trim();
    let ends_line =
        (rest.is_empty() || rest.starts_with('#') || rest.starts_with("//")) && end + line.len() < owner.end;
    if !ends_line {
        return put(text, Span::new(end, end), &format!(", {part}"));
    }
    let before = text.get(..last.start)?;
    let indent = before.get(before.rfind('\n').map_or(0, |newline| newline + 1)..)?;
    let indent = indent.get(..indent.len() - indent.trim_start().len())?;
    let first = if has_comma || !is_list { "" } else { "," };
    let second = if has_comma { "," } else { "" };
    put(text, Span::new(end, end + line.len()), &format!("{first}{line}\n{indent}{part}{second}"))
}

/// Removes an item or entry with what separates it from the one before it; the first one with what is behind it.
fn remove(text: &str, root: &Node, steps: &[Step]) -> Option<String> {
    let (last, before) = steps.split_last()?;
    let owner = tree::at(root, before)?;
    let (index, parts): (usize, Vec<Span>) = match (&owner.value, last) {
        (Value::Map(entries), Step::Key(key)) => {
            let index = entries.iter().position(|entry| entry.key == *key)?;
            (index, entries.iter().map(|entry| Span::new(entry.key_span.start, entry.node.place.span.end)).collect())
        }
        (Value::List(items), Step::Index(index)) => (*index, items.iter().map(|item| item.place.span).collect()),
        _ => return None,
    };
    let own = *parts.get(index)?;
    let span = match (index.checked_sub(1).and_then(|before| parts.get(before)), parts.get(index + 1)) {
        (Some(before), _) => Span::new(end_of_value(text, before.end, owner.place.span.end)?, own.end),
        (None, Some(next)) => Span::new(own.start, next.start),
        (None, None) => own,
    };
    let removed = text.get(span.start..span.end)?;
    let has_comment = ["#", "//", "/*"].iter().any(|mark| removed.contains(mark));
    if has_comment { None } else { put(text, span, "") }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const TEXT: &str = "resource \"aws_ecs_task_definition\" \"web\" {\n  network_mode = \"bridge\" # why\n\n  container_definitions = jsonencode([\n    {\n      name  = \"web\" # the app\n      image = var.image,\n      command = [\"a\", \"b\"]\n      ports = [\n        80, # http\n        443\n      ]\n    },\n  ])\n}\n";

    fn edited(path: &[&str], change: &Change) -> Result<String, EditError> {
        let start = ["resource", "aws_ecs_task_definition", "web"];
        let steps = start.iter().chain(path).map(|step| match step.parse() {
            Ok(index) => Step::Index(index),
            Err(_) => Step::Key((*step).to_owned()),
        });
        edit(TEXT, &steps.collect::<Vec<_>>(), change)
    }

    #[test]
    fn values_are_replaced_in_place() {
        let text = edited(&["network_mode"], &Change::Set(json!("awsvpc"))).unwrap();
        assert_eq!(text, TEXT.replace("bridge", "awsvpc"));
        let text = edited(&["container_definitions", "0", "name"], &Change::Set(json!("${x}"))).unwrap();
        assert!(text.contains("name  = \"$${x}\" # the app\n"), "{text}");
    }

    #[test]
    fn keys_and_items_are_added_in_the_manner_of_the_others() {
        let text = edited(&["container_definitions", "0", "essential"], &Change::Set(json!(false))).unwrap();
        assert_eq!(text, TEXT.replace("      ]\n    },", "      ]\n      essential = false\n    },"));
        let text = edited(&["container_definitions", "0", "command"], &Change::Append(json!("c"))).unwrap();
        assert_eq!(text, TEXT.replace("\"b\"]", "\"b\", \"c\"]"));
        let text = edited(&["container_definitions", "0", "ports"], &Change::Append(json!(8080))).unwrap();
        assert_eq!(text, TEXT.replace("        443\n", "        443,\n        8080\n"));
        let text = edited(&["container_definitions"], &Change::Append(json!({"name": "b", "k/l": [1]}))).unwrap();
        assert_eq!(text, TEXT.replace("    },\n  ])", "    },\n    { name = \"b\", \"k/l\" = [1] },\n  ])"));
    }

    #[test]
    fn items_are_removed_with_their_separators_but_not_comments() {
        let text = edited(&["container_definitions", "0", "command", "0"], &Change::Remove).unwrap();
        assert_eq!(text, TEXT.replace("\"a\", ", ""));
        let text = edited(&["container_definitions", "0", "command"], &Change::Remove).unwrap();
        assert_eq!(text, TEXT.replace(",\n      command = [\"a\", \"b\"]", ""));
        assert!(edited(&["container_definitions", "0", "ports", "1"], &Change::Remove).is_err());
        assert!(edited(&["container_definitions", "0", "ports"], &Change::Set(json!([1]))).is_err());
    }

    #[test]
    fn expressions_are_not_descended_into() {
        let error = edited(&["container_definitions", "0", "image", "0"], &Change::Set(json!(1))).unwrap_err();
        assert!(matches!(error, EditError::NoSuchPlace(_)), "{error}");
    }
}
