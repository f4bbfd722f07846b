//! Edits of HCL, in hcl-edit's syntax tree.

use std::collections::BTreeMap;

use hcl_edit::{
    Decor, Decorate, Decorated, Ident, RawString, Span as _,
    expr::{Array, Expression, FuncCall, Object, ObjectKey, ObjectValue, ObjectValueTerminator as Terminator},
    structure::{Attribute, Block, BlockLabel, Body, Structure},
};
use serde_json::Value as Json;

use super::{
    change::{Change, Edit},
    error::EditError,
    text::in_parts,
    tree::outermost,
};
use crate::{comments::Comments, hcl::parse, place::PathStep, source::SourceFile, span::Span};

/// Makes edits in a text, in which `nested` are blocks instead of arguments. Each block on the first level is edited on its
/// own: the others keep every byte.
pub(super) fn edit(text: &str, nested: &[&str], edits: &[Edit]) -> Result<String, EditError> {
    let file = parse(text)?;
    let mut by_block: BTreeMap<Span, Vec<Edit>> = BTreeMap::new();
    for edit in edits {
        let steps = edit.route.steps();
        let found = file.blocks().find_map(|block| Some((block.span()?, steps.strip_prefix(&*place_of(block))?)));
        let (block, inner) = found.ok_or_else(|| EditError::no_such_place(&steps))?;
        let edit = Edit { route: inner.iter().cloned().collect(), change: edit.change.clone() };
        by_block.entry(Span::new(block.start, block.end)).or_default().push(edit);
    }
    in_parts(text, by_block, |block, edits| edit_block(block, nested, edits))
}

/// The steps to a block: its type and labels.
fn place_of(block: &Block) -> Vec<PathStep> {
    let names = block.labels.iter().map(BlockLabel::as_str);
    std::iter::once(block.ident.as_str()).chain(names).map(|name| PathStep::Key(name.to_owned())).collect()
}

fn edit_block(text: &str, nested: &[&str], edits: &[Edit]) -> Result<String, EditError> {
    let mut file = parse(text)?;
    if file.to_string() != text {
        return Err(EditError::Notation("a string or the end of a line is written in an unusual way".to_owned()));
    }
    for edit in edits {
        let body = &mut file.get_mut(0).and_then(Structure::as_block_mut).ok_or(EditError::NotMinimal)?.body;
        let host = |steps: &[PathStep]| in_body(body, steps)?.as_str().map(str::to_owned);
        let (steps, change) = outermost(edit, host)?;
        edit_body(body, nested, &steps, &change)?;
    }
    let edited = file.to_string();
    if parse(&edited).is_ok_and(|found| found == file) { Ok(edited) } else { Err(EditError::NotMinimal) }
}

fn edit_body(body: &mut Body, nested: &[&str], steps: &[PathStep], change: &Change) -> Result<(), EditError> {
    let missing = || EditError::no_such_place(steps);
    if let (Some(value), Change::Set(new)) = (in_body(body, steps), change) {
        return set(value, new, steps);
    }
    match (steps, change) {
        ([PathStep::Key(kind)], Change::Set(Json::Array(items)))
            if nested.contains(&kind.as_str()) && items.len() == 1 =>
        {
            items.iter().try_for_each(|item| add_block(body, kind, item))
        }
        ([PathStep::Key(kind)], Change::Append(item)) if nested.contains(&kind.as_str()) => add_block(body, kind, item),
        ([PathStep::Key(name)], Change::Set(value)) if !body.has_blocks(name) => add_argument(body, name, value),
        ([PathStep::Key(name)], Change::Remove) => {
            let removed = body.remove_attribute(name).ok_or_else(missing)?;
            refuse_comments(has_comment(removed.value.clone()) || is_commented(removed.decor()), steps)
        }
        (_, Change::Append(value)) => {
            in_body(body, steps).and_then(Expression::as_array_mut).map(|list| append(list, value)).ok_or_else(missing)
        }
        ([before @ .., PathStep::Key(key)], Change::Set(value)) => {
            let object = in_body(body, before).and_then(Expression::as_object_mut);
            object.map(|object| insert(object, key, value)).ok_or_else(missing)
        }
        ([before @ .., PathStep::Key(key)], Change::Remove) => {
            let object = in_body(body, before).and_then(Expression::as_object_mut).ok_or_else(missing)?;
            let has_comments = remove_entry(object, key).ok_or_else(missing)?;
            refuse_comments(has_comments, steps)
        }
        ([before @ .., PathStep::Index(index)], Change::Remove) => {
            let list = in_body(body, before).and_then(Expression::as_array_mut).ok_or_else(missing)?;
            let has_comments = remove_item(list, *index).ok_or_else(missing)?;
            refuse_comments(has_comments, steps)
        }
        _ => Err(missing()),
    }
}

/// The value at the end of `steps`.
fn in_body<'b>(body: &'b mut Body, steps: &[PathStep]) -> Option<&'b mut Expression> {
    let (PathStep::Key(name), steps) = steps.split_first()? else { return None };
    let index = body.iter().position(|one| one.as_attribute().is_some_and(|argument| argument.has_key(name)))?;
    let argument = body.get_mut(index)?.as_attribute_mut()?;
    steps.iter().try_fold(literal(&mut argument.value)?, |value, step| match (value, step) {
        (Expression::Array(list), PathStep::Index(index)) => literal(list.get_mut(*index)?),
        (Expression::Object(object), PathStep::Key(key)) => {
            let entry = object.iter_mut().find(|(name, _)| name_of(name.get()) == Some(key));
            literal(entry?.1.expr_mut())
        }
        _ => None,
    })
}

/// What parentheses and calls of `jsonencode` stand for.
fn literal(value: &mut Expression) -> Option<&mut Expression> {
    let is_encoded = |call: &FuncCall| call.name.name.as_str() == "jsonencode" && call.args.len() == 1;
    if value.as_func_call().is_some_and(is_encoded) {
        let Expression::FuncCall(call) = value else { return None };
        return literal(call.args.get_mut(0)?);
    }
    match value {
        Expression::Parenthesis(parenthesis) => literal(parenthesis.inner_mut()),
        value => Some(value),
    }
}

fn name_of(key: &ObjectKey) -> Option<&str> {
    match key {
        ObjectKey::Ident(name) => Some(name.as_str()),
        ObjectKey::Expression(name) => name.as_str(),
    }
}

fn set(value: &mut Expression, new: &Json, steps: &[PathStep]) -> Result<(), EditError> {
    refuse_comments(has_comment(value.clone()), steps)?;
    *value = expression(new).decorated(value.decor().clone());
    Ok(())
}

/// Adds an argument on a line of its own: after the last one that has a line, with its `=` in the same column.
fn add_argument(body: &mut Body, name: &str, value: &Json) -> Result<(), EditError> {
    let is_on_line = |argument: &&Attribute| !argument.value.to_string().contains('\n');
    let last = body.attributes().filter(is_on_line).last().or(body.attributes().last());
    let last = last.filter(|_| !body.prefer_oneline()).ok_or_else(no_lines)?;
    let width = if is_on_line(&last) { last.key.as_str().len() + text_of(last.key.decor().suffix()).len() } else { 0 };
    let indent = indentation(last.decor()).to_owned();
    let index = body.iter().position(|structure| structure.as_attribute().is_some_and(|one| std::ptr::eq(one, last)));
    let key = Ident::try_new(name).map_err(|error| EditError::Notation(error.to_string()))?;
    let blanks = " ".repeat(width.saturating_sub(name.len()).max(1));
    let mut argument = Attribute::new(Decorated::new(key).decorated(("", blanks)), expression(value));
    argument.decor_mut().set_prefix(indent);
    body.insert(index.map_or(body.len(), |index| index + 1), argument);
    Ok(())
}

/// Adds a nested block before the end of the resource.
fn add_block(body: &mut Body, kind: &str, arguments: &Json) -> Result<(), EditError> {
    let first = body.iter().next().filter(|_| !body.prefer_oneline()).ok_or_else(no_lines)?;
    let indent = indentation(first.decor()).to_owned();
    let outer = text_of(body.decor().suffix()).rsplit('\n').next().unwrap_or_default();
    let step = indent.strip_prefix(outer).unwrap_or("  ").to_owned();
    let mut block = Block::new(Ident::new_sanitized(kind)).decorated((format!("\n{indent}"), ""));
    for (name, value) in arguments.as_object().into_iter().flatten() {
        let mut argument = Attribute::new(Ident::new_sanitized(name), expression(value));
        argument.decor_mut().set_prefix(format!("{indent}{step}"));
        block.body.push(argument);
    }
    block.body.decor_mut().set_suffix(indent);
    body.push(block);
    Ok(())
}

/// Adds to the end of a list. If the last item ends its line, the new one gets a line of its own.
fn append(items: &mut Array, value: &Json) {
    let mut new = expression(value);
    let on_lines = items.iter().map(Decorate::decor).filter(|decor| text_of(decor.prefix()).contains('\n'));
    let indent = on_lines.last().map_or("", indentation).to_owned();
    let has_comma = items.trailing_comma() || items.is_empty();
    let last = items.iter().last().filter(|_| !has_comma);
    let tail = last.map_or(text_of(Some(items.trailing())), |last| text_of(last.decor().suffix())).to_owned();
    let tail = match tail.split_once('\n') {
        Some((line, below)) => {
            new.decor_mut().set_prefix(format!("{line}\n{indent}"));
            format!("\n{below}")
        }
        None => tail,
    };
    if has_comma {
        items.set_trailing(tail);
    } else {
        new.decor_mut().set_suffix(tail);
        items.iter_mut().last().into_iter().for_each(|last| last.decor_mut().set_suffix(""));
    }
    items.push(new);
}

/// Adds to the end of a map, and ends the new entry as the last one was.
fn insert(object: &mut Object, key: &str, value: &Json) {
    let (mut key, mut value) = (object_key(key), ObjectValue::new(expression(value)));
    let trailing = object.trailing().to_string();
    key.decor_mut().set_prefix(" ");
    let Some((last_key, last)) = object.iter_mut().last() else {
        value.set_terminator(Terminator::None);
        value.expr_mut().decor_mut().set_suffix(" ");
        object.set_trailing("");
        object.insert(key, value);
        return;
    };
    let indent = indentation(last_key.get().decor());
    value.set_terminator(last.terminator());
    match (last.terminator(), trailing.split_once('\n')) {
        (Terminator::Newline, _) => key.decor_mut().set_prefix(indent),
        (Terminator::Comma, Some((line, below))) => {
            key.decor_mut().set_prefix(format!("{line}\n{indent}"));
            object.set_trailing(format!("\n{below}"));
        }
        (Terminator::Comma, None) => {}
        (Terminator::None, _) => {
            last.set_terminator(Terminator::Comma);
            value.expr_mut().decor_mut().set_suffix(text_of(last.expr().decor().suffix()));
            last.expr_mut().decor_mut().set_suffix("");
        }
    }
    object.insert(key, value);
}

/// Removes an item, and says whether comments went with it. What was before the first item stays before the next one.
fn remove_item(items: &mut Array, index: usize) -> Option<bool> {
    items.get(index)?;
    let removed = items.remove(index);
    let mut loses = is_commented(removed.decor()) || has_comment(removed.clone());
    if items.is_empty() {
        items.set_trailing_comma(false);
    } else if index == 0 {
        let next = items.get_mut(0)?.decor_mut();
        loses |= is_comment(next.prefix());
        next.set_prefix(text_of(removed.decor().prefix()));
    } else if index == items.len() {
        items.get_mut(index - 1)?.decor_mut().set_suffix(text_of(removed.decor().suffix()));
    }
    Some(loses)
}

/// Removes an entry, and says whether comments went with it. The entry before it ends as the removed one did.
fn remove_entry(object: &mut Object, key: &str) -> Option<bool> {
    let (index, key) = object.iter().map(|(key, _)| key).enumerate().find(|(_, name)| name_of(name) == Some(key))?;
    let (key, removed) = object.remove_entry(&key.clone())?;
    let mut loses = is_commented(key.decor()) || has_comment(removed.expr().clone());
    loses |= is_comment(removed.expr().decor().suffix());
    match index.checked_sub(1) {
        None => {
            if let Some((mut next, _)) = object.iter_mut().next() {
                loses |= is_comment(next.get().decor().prefix());
                next.decor_mut().set_prefix(text_of(key.decor().prefix()));
            }
        }
        Some(before) => {
            let (_, before) = object.iter_mut().nth(before)?;
            before.set_terminator(removed.terminator());
            if removed.terminator() == Terminator::None {
                before.expr_mut().decor_mut().set_suffix(text_of(removed.expr().decor().suffix()));
            }
        }
    }
    Some(loses)
}

/// The value as Terraform spells it.
fn expression(value: &Json) -> Expression {
    match value {
        Json::Null => Expression::null(),
        Json::Bool(value) => (*value).into(),
        Json::Number(number) => {
            number.as_i64().map_or_else(|| number.as_f64().map_or_else(Expression::null, Into::into), Into::into)
        }
        Json::String(text) => text.as_str().into(),
        Json::Array(items) => items.iter().map(expression).collect::<Vec<_>>().into(),
        Json::Object(entries) => {
            let mut object = Object::new();
            entries.iter().for_each(|(key, value)| insert(&mut object, key, value));
            object.into()
        }
    }
}

fn object_key(key: &str) -> ObjectKey {
    Ident::try_new(key).map_or_else(|_| ObjectKey::Expression(key.into()), ObjectKey::from)
}

/// Whether there is a comment within a value.
fn has_comment(value: Expression) -> bool {
    let text = format!("value = {}\n", value.decorated(("", "")));
    !Comments::of(&SourceFile::new("value.tf", text)).spans.is_empty()
}

fn is_commented(decor: &Decor) -> bool {
    is_comment(decor.prefix()) || is_comment(decor.suffix())
}

fn is_comment(blanks: Option<&RawString>) -> bool {
    !text_of(blanks).trim().is_empty()
}

fn text_of(blanks: Option<&RawString>) -> &str {
    blanks.map_or("", |blanks| blanks)
}

/// The blanks before the first value of a line.
fn indentation(decor: &Decor) -> &str {
    text_of(decor.prefix()).rsplit('\n').next().unwrap_or_default()
}

fn refuse_comments(has_comments: bool, steps: &[PathStep]) -> Result<(), EditError> {
    if has_comments { Err(EditError::comments_lost(steps)) } else { Ok(()) }
}

fn no_lines() -> EditError {
    EditError::Notation("the arguments of the resource need lines of their own".to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const TEXT: &str = "resource \"aws_ecs_task_definition\" \"web\" {\n  network_mode = \"bridge\" # why\n\n  container_definitions = jsonencode([\n    {\n      name  = \"web\" # the app\n      image = var.image,\n      command = [\"a\", \"b\"]\n      ports = [\n        80, # http\n        443\n      ]\n    },\n  ])\n}\n";

    fn edited(path: &[&str], change: &Change) -> Result<String, EditError> {
        let start = ["resource", "aws_ecs_task_definition", "web"];
        let steps = start.iter().chain(path).map(|step| match step.parse() {
            Ok(index) => PathStep::Index(index),
            Err(_) => PathStep::Key((*step).to_owned()),
        });
        edit(TEXT, &[], &[Edit { route: steps.collect(), change: change.clone() }])
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

    const BLOCKS: &str = "# Two services\nresource \"x\" \"a\" {\n  mode = 1\n  kind = 1\n}\nlocals {\n  mode = 2\n}\nresource \"x\" \"b\" {\n  mode = 3\n}\n";

    /// Edits that set the value at each path to 0.
    fn edits(paths: &[&str]) -> Vec<Edit> {
        let steps = |path: &str| path.split('.').map(|key| PathStep::Key(key.to_owned())).collect();
        paths.iter().map(|path| Edit { route: steps(path), change: Change::Set(json!(0)) }).collect()
    }

    fn set_to_0(paths: &[&str]) -> Result<String, EditError> {
        edit(BLOCKS, &[], &edits(paths))
    }

    #[test]
    fn each_block_is_edited_on_its_own() {
        let text = set_to_0(&["resource.x.b.mode", "resource.x.a.mode", "resource.x.a.kind"]).unwrap();
        assert_eq!(text, BLOCKS.replace("= 1", "= 0").replace("= 3", "= 0"));
    }

    #[test]
    fn a_place_outside_of_blocks_is_refused() {
        for path in ["resource.x", "resource.x.c.mode", "mode"] {
            let error = set_to_0(&[path]).unwrap_err();
            assert!(matches!(error, EditError::NoSuchPlace(_)), "{path}: {error}");
        }
    }

    #[test]
    fn a_block_that_would_be_spelled_otherwise_is_left() {
        let error = edit(&BLOCKS.replace("1\n  kind", "\"\\u0041\"\n  kind"), &[], &edits(&["resource.x.a.kind"]));
        assert!(matches!(error, Err(EditError::Notation(_))), "{error:?}");
        let other = edit(&BLOCKS.replace("= 2", "= \"\\u0041\""), &[], &edits(&["resource.x.a.kind"]));
        assert!(other.unwrap().contains("\\u0041"));
    }
}
