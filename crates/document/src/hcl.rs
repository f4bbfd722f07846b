//! Terraform's native syntax, HCL: the syntax tree, and its literals with their places.

use std::{ffi::OsStr, path::Path};

use hcl_edit::{
    expr::{self, ObjectKey},
    structure,
};

use crate::{
    byte_order_mark::without_mark,
    error::ParseError,
    node::{Entry, Node, Value},
    place::Place,
    source::SourceFile,
    span::Span,
};

/// Whether a file is in Terraform's native syntax, by its name.
pub fn is_hcl(file: &SourceFile) -> bool {
    let kind = Path::new(&file.name).extension().and_then(OsStr::to_str).unwrap_or_default();
    ["tf", "tofu"].iter().any(|native| kind.eq_ignore_ascii_case(native))
}

/// The bytes of a part of the syntax tree.
pub fn span_of(part: &impl hcl_edit::Span) -> Span {
    part.span().map_or_else(Span::default, |range| Span::new(range.start, range.end))
}

/// The syntax tree of a text in Terraform's native syntax. Of equal keys of an object, those after the first are numbers,
/// because the parser refuses equal ones: [`replaced_key`] reads them.
///
/// # Errors
/// It is not in that syntax.
pub fn parse(text: &str) -> Result<structure::Body, ParseError> {
    let mut text = without_mark(text, "   ");
    // With zeros behind them, all of these are different. A number that the same object has already is repeated as well.
    let mut numbers = (1..1000).filter(|number| number % 10 != 0).cycle().map(|number| number.to_string());
    let mut left = MAX_PARSED;
    let mut tries = 0..MAX_TRIES;
    loop {
        let error = match hcl_edit::parser::parse_body(&text) {
            Ok(body) => return Ok(body),
            Err(error) => error,
        };
        let at = error.location().offset();
        left = left.saturating_sub(at);
        let is_repeated = left > 0 && tries.next().is_some() && error.message().contains("redefined object key");
        let key = repeated_key(&text, at).filter(|_| is_repeated);
        let number = key.and_then(|key| numbers.find(|number| number.len() <= key.end - key.start));
        let (Some(key), Some(number)) = (key, number) else {
            return Err(ParseError::new(Span::new(at, at), format!("not Terraform's language: {}", error.message())));
        };
        let number = format!("{number:0<width$}", width = key.end - key.start);
        text.to_mut().replace_range(key.start..key.end, &number);
    }
}

/// Limits for malicious files: for each repeated key, and each number that the object has already, the file is parsed up to
/// there once more.
const MAX_TRIES: usize = 1000;
/// In bytes.
const MAX_PARSED: usize = 16 * 1024 * 1024;

/// The bytes of the key at a byte: a name or a string.
fn repeated_key(text: &str, at: usize) -> Option<Span> {
    let rest = text.get(at..)?;
    let length = match rest.strip_prefix('"') {
        Some(string) => string.find('"')? + 2,
        None => rest.find(|c: char| !c.is_alphanumeric() && c != '_' && c != '-')?,
    };
    (length > 0).then(|| Span::new(at, at + length))
}

/// The key for which [`parse`] has put a number.
pub fn replaced_key<'t>(key: &expr::Expression, text: &'t str) -> Option<&'t str> {
    let number = key.as_number()?;
    let spelled = spelled(text, span_of(key));
    (spelled.parse::<f64>().ok() != number.as_f64()).then(|| spelled.trim_matches('"'))
}

/// The blocks, arguments and literals of a file. Anything but a literal becomes the text of its spelling. The argument of
/// `jsonencode` stands for its call.
///
/// # Errors
/// It is not in Terraform's native syntax.
pub fn literals(text: &str) -> Result<Node, ParseError> {
    Ok(of_body(&parse(text)?, text, Span::new(0, text.len())))
}

fn of_body(body: &structure::Body, text: &str, span: Span) -> Node {
    let entries = body.attributes().map(|attribute| {
        Entry::new(attribute.key.to_string(), span_of(&attribute.key), of_expression(&attribute.value, text))
    });
    let mut root = at(Value::Map(entries.collect()), span);
    for block in body.blocks() {
        let span = span_of(block);
        let mut names: Vec<String> =
            block.labels.iter().map(structure::BlockLabel::as_str).map(str::to_owned).collect();
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
        entries.push(Entry::new(key, span, inner));
        return;
    }
    if !entries.iter().any(|entry| entry.key == *first) {
        entries.push(Entry::new(&**first, span, at(Value::Map(Vec::new()), span)));
    }
    if let Some(entry) = entries.iter_mut().find(|entry| entry.key == *first) {
        nest(&mut entry.node, rest, span, inner);
    }
}

fn of_expression(expression: &expr::Expression, text: &str) -> Node {
    let span = span_of(expression);
    let value = match expression {
        expr::Expression::Null(_) => Value::Null,
        expr::Expression::Bool(value) => Value::Bool(*value.value()),
        expr::Expression::Number(value) => Value::Number(value.value().to_string()),
        expr::Expression::String(value) => Value::Text(value.value().clone()),
        expr::Expression::Parenthesis(parenthesis) => return of_expression(parenthesis.inner(), text),
        expr::Expression::FuncCall(call) if call.name.name.as_str() == "jsonencode" && call.args.len() == 1 => {
            match call.args.get(0) {
                Some(argument) => return of_expression(argument, text),
                None => Value::Null,
            }
        }
        expr::Expression::Array(array) => Value::List(array.iter().map(|item| of_expression(item, text)).collect()),
        expr::Expression::Object(object) => {
            let entries = object.iter().map(|(key, value)| {
                let (key, key_span) = match key {
                    ObjectKey::Ident(name) => (name.as_str().to_owned(), span_of(name)),
                    ObjectKey::Expression(name) => match name.as_str().or_else(|| replaced_key(name, text)) {
                        Some(name_text) => (name_text.to_owned(), span_of(name)),
                        None => (format!("({})", spelled(text, span_of(name))), span_of(name)),
                    },
                };
                Entry::new(key, key_span, of_expression(value.expr(), text))
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
