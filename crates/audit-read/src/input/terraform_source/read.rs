//! Reads a file in either of Terraform's notations.

use hcl_edit::structure;

use super::{
    json,
    syntax::{Attribute, Block, Body, Expression, Label, span_of},
};
use crate::{
    document::{ParseError, Route, Span, Step, parse_json},
    source::SourceFile,
};

/// Reads a file of a module, or one with values of variables.
///
/// # Errors
/// It is not in the notation that its name stands for, or it is nested too deeply.
pub(super) fn read_body(file: &SourceFile, index: usize) -> Result<Body, ParseError> {
    let text = without_mark(&file.text);
    let endings: Vec<String> = file.name.rsplit('.').take(2).map(str::to_ascii_lowercase).collect();
    match endings.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["json", "tfvars"] => return json::values(parse_json(&text, &Route::default())?, index),
        ["json", ..] => return json::body(parse_json(&text, &Route::default())?, index),
        _ => {}
    }
    Ok(native_body(&parse_native(&text)?, index))
}

/// The syntax tree of a file in Terraform's native syntax.
///
/// # Errors
/// It is not in that syntax.
pub(super) fn parse_native(text: &str) -> Result<structure::Body, ParseError> {
    hcl_edit::parser::parse_body(text).map_err(|error| {
        let at = error.location().offset();
        ParseError::new(Span::new(at, at), format!("not Terraform's language: {}", error.message()))
    })
}

/// The text with blanks for a byte order mark, so that all positions remain valid.
fn without_mark(text: &str) -> std::borrow::Cow<'_, str> {
    match text.strip_prefix('\u{FEFF}') {
        Some(rest) => format!("   {rest}").into(),
        None => text.into(),
    }
}

fn native_body(body: &structure::Body, file: usize) -> Body {
    let attributes = body.attributes().map(|attribute| Attribute {
        name: attribute.key.to_string(),
        name_span: span_of(&attribute.key),
        file,
        expression: Expression::Native(Box::new(attribute.value.clone())),
    });
    let blocks = body.blocks().map(|block| Block {
        kind: block.ident.to_string(),
        labels: block.labels.iter().map(label).collect(),
        body: native_body(&block.body, file),
        file,
        span: span_of(&block.ident),
        route: Some(route(block)),
    });
    Body { attributes: attributes.collect(), blocks: blocks.collect() }
}

/// The steps through the tree of literals to a block that no other block contains.
fn route(block: &structure::Block) -> Route {
    let names = block.labels.iter().map(structure::BlockLabel::as_str);
    std::iter::once(block.ident.as_str()).chain(names).map(|name| Step::Key(name.to_owned())).collect()
}

fn label(label: &structure::BlockLabel) -> Label {
    Label { text: label.as_str().to_owned(), span: span_of(label) }
}
