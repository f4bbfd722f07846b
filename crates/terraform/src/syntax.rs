//! The blocks and attributes of a file, in either of Terraform's two notations. Sources:
//! <https://developer.hashicorp.com/terraform/language/syntax/configuration>,
//! <https://developer.hashicorp.com/terraform/language/syntax/json>

use std::sync::Arc;

use hcl_edit::{expr, structure};

use document::{
    Entry, Node, ParseError, PathStep, Route, SourceFile, Span, Value,
    hcl::{self, span_of},
    parse_json, without_mark,
};

/// The content of a file or of a block.
#[derive(Debug, Default, Clone)]
pub struct Body {
    pub attributes: Vec<Attribute>,
    pub blocks: Vec<Block>,
}

/// A block: `resource "aws_ecs_task_definition" "web" { … }`.
#[derive(Debug, Clone)]
pub struct Block {
    /// Its type: `resource`.
    pub kind: String,
    pub labels: Vec<Label>,
    pub body: Body,
    pub file: usize,
    /// The bytes of its type.
    pub span: Span,
    /// The route to it, for edits, unless another block contains it.
    pub route: Option<Route>,
}

#[derive(Debug, Clone)]
pub struct Label {
    pub text: String,
    pub span: Span,
}

/// An argument: `network_mode = "awsvpc"`.
#[derive(Debug, Clone)]
pub struct Attribute {
    pub name: String,
    pub name_span: Span,
    /// The file that it is in, which for override files is not the file of its block.
    pub file: usize,
    pub expression: Expression,
}

/// The value of an argument before it is evaluated.
#[derive(Debug, Clone)]
pub enum Expression {
    /// In Terraform's native syntax.
    Native(Arc<expr::Expression>),
    /// In JSON: strings are templates.
    Json(Node),
}

impl Expression {
    /// The name that it consists of: `iterator = volumes`, or a string in JSON.
    pub fn name(&self) -> Option<String> {
        match self {
            Self::Native(native) => native.as_variable().map(ToString::to_string),
            Self::Json(json) => json.text().map(str::to_owned),
        }
    }

    /// Whether it is in Terraform's JSON notation.
    pub fn is_json(&self) -> bool {
        matches!(self, Self::Json(_))
    }

    /// The argument of `jsonencode`, if the expression is a call of it.
    pub fn encoded(&self) -> Option<Self> {
        let Self::Native(native) = self else { return None };
        let mut native: &expr::Expression = native;
        while let expr::Expression::Parenthesis(parenthesis) = native {
            native = parenthesis.inner();
        }
        let call = native.as_func_call().filter(|call| call.name.name.as_str() == "jsonencode")?;
        call.args.get(0).map(|argument| Self::Native(Arc::new(argument.clone())))
    }

    /// A literal string.
    pub fn literal(&self) -> Option<&str> {
        match self {
            Self::Native(native) => native.as_str(),
            Self::Json(json) => json.text(),
        }
    }
}

impl Body {
    /// The content of a file in HCL.
    ///
    /// # Errors
    /// It is not in that syntax.
    pub fn native(text: &str) -> Result<Self, ParseError> {
        Ok(native_body(&hcl::parse(text)?, 0))
    }

    /// The argument of this name.
    pub fn attribute(&self, name: &str) -> Option<&Attribute> {
        self.attributes.iter().find(|attribute| attribute.name == name)
    }

    /// The nested blocks of this type.
    pub fn blocks<'b>(&'b self, kind: &'b str) -> impl Iterator<Item = &'b Block> {
        self.blocks.iter().filter(move |block| block.kind == kind)
    }

    /// The same with everything at `span`.
    pub(crate) fn placed(mut self, span: Span) -> Self {
        self.attributes.iter_mut().for_each(|attribute| attribute.name_span = span);
        for block in &mut self.blocks {
            block.span = span;
            block.labels.iter_mut().for_each(|label| label.span = span);
            block.body = std::mem::take(&mut block.body).placed(span);
        }
        self
    }
}

impl Block {
    /// The text of a label.
    pub fn label(&self, index: usize) -> Option<&str> {
        self.labels.get(index).map(|label| label.text.as_str())
    }

    /// The bytes that findings about the block as a whole point at: its last label.
    pub fn name_span(&self) -> Span {
        self.labels.last().map_or(self.span, |label| label.span)
    }
}

/// Whether a file is in one of Terraform's notations, by its name.
pub fn is_source_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    [".tf", ".tf.json", ".tofu", ".tofu.json"].iter().any(|ending| name.ends_with(ending))
}

/// Reads a file of a module, or one with values of variables.
///
/// # Errors
/// It is not in the notation that its name stands for, it has equal keys in JSON, or it is nested too deeply.
pub(crate) fn read_body(file: &SourceFile, index: usize) -> Result<Body, ParseError> {
    let json = || {
        let values = parse_json(&without_mark(&file.text, "   "), &Route::default())?;
        // In this notation, Terraform refuses equal keys: <https://github.com/hashicorp/hcl/blob/main/json/structure.go>
        match values.repeated_keys().first() {
            Some(key) => Err(ParseError::new(key.last, format!("the key {:?} is twice in one map", key.key))),
            None => Ok(values),
        }
    };
    let endings: Vec<String> = file.name.rsplit('.').take(2).map(str::to_ascii_lowercase).collect();
    match endings.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["json", "tfvars"] => {
            let values = json()?;
            let head = Head { kind: "", span: values.place.span, file: index };
            Ok(head.content(map_of(values, "values")?))
        }
        ["json", ..] => json_body(json()?, index),
        _ => Ok(native_body(&hcl::parse(&file.text)?, index)),
    }
}

fn native_body(body: &structure::Body, file: usize) -> Body {
    let attributes = body.attributes().map(|attribute| Attribute {
        name: attribute.key.to_string(),
        name_span: span_of(&attribute.key),
        file,
        expression: Expression::Native(Arc::new(attribute.value.clone())),
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
    std::iter::once(block.ident.as_str()).chain(names).map(|name| PathStep::Key(name.to_owned())).collect()
}

fn label(label: &structure::BlockLabel) -> Label {
    Label { text: label.as_str().to_owned(), span: span_of(label) }
}

/// The labels that a block of this type has.
fn labels_of(kind: &str) -> usize {
    match kind {
        "resource" | "data" | "ephemeral" => 2,
        "variable" | "output" | "module" | "provider" | "check" => 1,
        _ => 0,
    }
}

/// The content of a file.
///
/// # Errors
/// It is not a map.
fn json_body(node: Node, file: usize) -> Result<Body, ParseError> {
    let mut body = Body::default();
    for Entry { key, key_span, node, .. } in map_of(node, "blocks")? {
        let head = Head { kind: &key, span: key_span, file };
        head.blocks(node, labels_of(&key), &[], &mut body.blocks);
    }
    Ok(body)
}

fn map_of(node: Node, what: &str) -> Result<Vec<Entry>, ParseError> {
    let mismatch = format!("{} where a map of {what} is expected", node.kind());
    if let Value::Map(entries) = node.value { Ok(entries) } else { Err(ParseError::new(node.place.span, mismatch)) }
}

/// The type of blocks that stand below one key.
struct Head<'k> {
    kind: &'k str,
    span: Span,
    file: usize,
}

impl Head<'_> {
    /// The keys below are labels; a list has several blocks with the same labels.
    fn blocks(&self, node: Node, missing_labels: usize, labels: &[Label], out: &mut Vec<Block>) {
        match node.value {
            Value::List(items) => items.into_iter().for_each(|item| self.blocks(item, missing_labels, labels, out)),
            Value::Map(entries) if missing_labels > 0 => {
                for Entry { key, key_span, node, .. } in entries {
                    let own = [labels, &[Label { text: key, span: key_span }]].concat();
                    self.blocks(node, missing_labels - 1, &own, out);
                }
            }
            Value::Map(entries) => out.push(Block {
                kind: self.kind.to_owned(),
                labels: labels.to_vec(),
                body: self.content(entries),
                file: self.file,
                span: self.span,
                route: node.place.route,
            }),
            _ => {}
        }
    }

    /// In JSON, nested blocks are spelled like an argument that is a map or a list of maps. Only the schema of the block
    /// tells them apart, so that such a key becomes an argument and also blocks.
    fn content(&self, entries: Vec<Entry>) -> Body {
        let mut body = Body::default();
        for Entry { key, key_span, node, .. } in entries {
            if matches!(node.value, Value::Map(_) | Value::List(_)) {
                let head = Head { kind: &key, span: key_span, file: self.file };
                let labels = usize::from(key == "dynamic");
                head.blocks(node.clone(), labels, &[], &mut body.blocks);
            }
            body.attributes.push(Attribute {
                name: key,
                name_span: key_span,
                file: self.file,
                expression: Expression::Json(node),
            });
        }
        body
    }
}
