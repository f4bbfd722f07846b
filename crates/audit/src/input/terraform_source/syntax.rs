//! The blocks and attributes of a file, in either of Terraform's two notations. Source:
//! <https://developer.hashicorp.com/terraform/language/syntax/configuration>

use hcl_edit::{expr, structure};

use super::json;
use crate::{
    document::{Node, ParseError, Route, Span, parse_json},
    source::SourceFile,
};

/// The content of a file or of a block.
#[derive(Debug, Default, Clone)]
pub(super) struct Body {
    pub(super) attributes: Vec<Attribute>,
    pub(super) blocks: Vec<Block>,
}

/// A block: `resource "aws_ecs_task_definition" "web" { … }`.
#[derive(Debug, Clone)]
pub(super) struct Block {
    /// Its type: `resource`.
    pub(super) kind: String,
    pub(super) labels: Vec<Label>,
    pub(super) body: Body,
    /// The file that it is in.
    pub(super) file: usize,
    /// The bytes of its type.
    pub(super) span: Span,
}

/// A label of a block.
#[derive(Debug, Clone)]
pub(super) struct Label {
    pub(super) text: String,
    pub(super) span: Span,
}

/// An argument: `network_mode = "awsvpc"`.
#[derive(Debug, Clone)]
pub(super) struct Attribute {
    pub(super) name: String,
    pub(super) name_span: Span,
    /// The file that it is in, which for override files is not the file of its block.
    pub(super) file: usize,
    pub(super) expression: Expression,
}

/// The value of an argument before it is evaluated.
#[derive(Debug, Clone)]
pub(super) enum Expression {
    /// In Terraform's native syntax.
    Native(Box<expr::Expression>),
    /// In JSON: strings are templates.
    Json(Node),
}

impl Body {
    pub(super) fn attribute(&self, name: &str) -> Option<&Attribute> {
        self.attributes.iter().find(|attribute| attribute.name == name)
    }

    pub(super) fn blocks<'b>(&'b self, kind: &'b str) -> impl Iterator<Item = &'b Block> {
        self.blocks.iter().filter(move |block| block.kind == kind)
    }
}

impl Block {
    /// The text of a label.
    pub(super) fn label(&self, index: usize) -> Option<&str> {
        self.labels.get(index).map(|label| label.text.as_str())
    }

    /// The bytes that findings about the block as a whole point at: its last label.
    pub(super) fn name_span(&self) -> Span {
        self.labels.last().map_or(self.span, |label| label.span)
    }
}

/// Whether a file is in one of Terraform's notations, by its name.
pub(in crate::input) fn is_source_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    [".tf", ".tf.json", ".tofu", ".tofu.json"].iter().any(|ending| name.ends_with(ending))
}

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
    let body = hcl_edit::parser::parse_body(&text).map_err(|error| {
        let at = error.location().offset();
        ParseError::new(Span::new(at, at), format!("not Terraform's language: {}", error.message()))
    })?;
    Ok(native_body(&body, index))
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
    });
    Body { attributes: attributes.collect(), blocks: blocks.collect() }
}

fn label(label: &structure::BlockLabel) -> Label {
    Label { text: label.as_str().to_owned(), span: span_of(label) }
}

/// The bytes of a part of the syntax tree.
pub(super) fn span_of(part: &impl hcl_edit::Span) -> Span {
    part.span().map_or_else(Span::default, |range| Span::new(range.start, range.end))
}
