//! The blocks and attributes of a file, in either of Terraform's two notations. Source:
//! <https://developer.hashicorp.com/terraform/language/syntax/configuration>

use hcl_edit::expr;

use crate::document::{Node, Route, Span};

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
    /// The route to it, for edits, unless another block contains it.
    pub(super) route: Option<Route>,
}

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

impl Expression {
    /// The name that it consists of: `iterator = volumes`, or a string in JSON.
    pub(super) fn name(&self) -> Option<String> {
        match self {
            Self::Native(native) => native.as_variable().map(ToString::to_string),
            Self::Json(json) => json.text().map(str::to_owned),
        }
    }

    /// A literal string.
    pub(super) fn literal(&self) -> Option<&str> {
        match self {
            Self::Native(native) => native.as_str(),
            Self::Json(json) => json.text(),
        }
    }
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

/// The bytes of a part of the syntax tree.
pub(super) fn span_of(part: &impl hcl_edit::Span) -> Span {
    part.span().map_or_else(Span::default, |range| Span::new(range.start, range.end))
}
