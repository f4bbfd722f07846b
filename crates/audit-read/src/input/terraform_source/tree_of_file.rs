//! A file in Terraform's native syntax as a tree of literals, for edits: the steps of a route lead through it.

use hcl_edit::{
    expr::{Expression, ObjectKey},
    structure::{BlockLabel, Body},
};

use super::{read::parse_native, syntax::span_of};
use crate::document::{Entry, Node, ParseError, Place, Span, Value};

/// The blocks, arguments and literals of a file. What is no literal is a text of its spelling. The argument of
/// `jsonencode` stands for its call.
///
/// # Errors
/// It is not in Terraform's native syntax.
pub fn literals(text: &str) -> Result<Node, ParseError> {
    Ok(of_body(&parse_native(text)?, text, Span::new(0, text.len())))
}

fn of_body(body: &Body, text: &str, span: Span) -> Node {
    let mut root = at(Value::Map(Vec::new()), span);
    for attribute in body.attributes() {
        let entry = Entry {
            key: attribute.key.to_string(),
            key_span: span_of(&attribute.key),
            node: of_expression(&attribute.value, text),
        };
        add(&mut root, entry);
    }
    for block in body.blocks() {
        let span = span_of(block);
        let mut names: Vec<String> = block.labels.iter().map(BlockLabel::as_str).map(str::to_owned).collect();
        names.insert(0, block.ident.to_string());
        let inner = of_body(&block.body, text, span);
        nest(&mut root, &names, span_of(&block.ident), inner);
    }
    root
}

/// Puts a block below its type and labels. Of several with the same ones, each has a key of its own.
fn nest(root: &mut Node, names: &[String], span: Span, inner: Node) {
    let Some((first, rest)) = names.split_first() else { return };
    let Value::Map(entries) = &mut root.value else { return };
    if rest.is_empty() {
        let count = entries.iter().filter(|entry| entry.key.split('#').next() == Some(first)).count();
        let key = if count == 0 { first.clone() } else { format!("{first}#{count}") };
        entries.push(Entry { key, key_span: span, node: inner });
        return;
    }
    if !entries.iter().any(|entry| entry.key == *first) {
        entries.push(Entry { key: first.clone(), key_span: span, node: at(Value::Map(Vec::new()), span) });
    }
    if let Some(entry) = entries.iter_mut().find(|entry| entry.key == *first) {
        nest(&mut entry.node, rest, span, inner);
    }
}

fn add(root: &mut Node, entry: Entry) {
    if let Value::Map(entries) = &mut root.value {
        entries.push(entry);
    }
}

fn of_expression(expression: &Expression, text: &str) -> Node {
    let span = span_of(expression);
    let value = match expression {
        Expression::Null(_) => Value::Null,
        Expression::Bool(value) => Value::Bool(*value.value()),
        Expression::Number(value) => Value::Number(value.value().to_string()),
        Expression::String(value) => Value::Text(value.value().clone()),
        Expression::Parenthesis(parenthesis) => return of_expression(parenthesis.inner(), text),
        Expression::FuncCall(call) if call.name.name.as_str() == "jsonencode" && call.args.len() == 1 => {
            match call.args.get(0) {
                Some(argument) => return of_expression(argument, text),
                None => Value::Null,
            }
        }
        Expression::Array(array) => Value::List(array.iter().map(|item| of_expression(item, text)).collect()),
        Expression::Object(object) => {
            let entries = object.iter().map(|(key, value)| {
                let (key, key_span) = match key {
                    ObjectKey::Ident(name) => (name.as_str().to_owned(), span_of(name)),
                    ObjectKey::Expression(name) => match name.as_str() {
                        Some(name_text) => (name_text.to_owned(), span_of(name)),
                        None => (format!("({})", spelled(text, span_of(name))), span_of(name)),
                    },
                };
                Entry { key, key_span, node: of_expression(value.expr(), text) }
            });
            Value::Map(entries.collect())
        }
        _ => Value::Text(format!("\u{FDD0}{}", spelled(text, span))),
    };
    at(value, span)
}

fn spelled(text: &str, span: Span) -> &str {
    text.get(span.start..span.end).unwrap_or_default()
}

fn at(value: Value, span: Span) -> Node {
    Node { value, place: Place::fixed(span) }
}
