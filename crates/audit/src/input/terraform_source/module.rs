//! A module with values for its variables.

use std::{cell::RefCell, collections::BTreeMap, rc::Rc};

use super::{
    collections::merged,
    directory::Directory,
    eval::Frame,
    syntax::Attribute,
    types::convert,
    values::{cost, depth, entry, map, pinned, placed, unknown},
    world::{Cause, World},
};
use crate::document::{Node, Span, Value};

/// Values of references nested deeper than this are unknown.
const MAX_NESTING: usize = 64;

/// A module with values for its variables.
pub(super) struct Module<'w> {
    pub(super) world: &'w World,
    pub(super) directory: Rc<Directory>,
    /// Its address: empty for the root module.
    pub(super) address: String,
    /// What its caller passes; `None` for the root module, whose values are defaults and those of tfvars files.
    pub(super) inputs: Option<BTreeMap<String, Node>>,
    /// The tags that the provider adds to every resource.
    pub(super) default_tags: Option<Node>,
    known: RefCell<BTreeMap<String, Known>>,
}

/// What is known of a local value or a variable.
#[derive(Clone)]
enum Known {
    /// It is being evaluated: a reference to it is a cycle.
    Open,
    Value {
        value: Option<Node>,
        file: usize,
        cause: Option<Cause>,
    },
}

impl<'w> Module<'w> {
    pub(super) fn root(world: &'w World, directory: Rc<Directory>) -> Self {
        Self::new(world, directory, String::new(), None)
    }

    pub(super) fn new(
        world: &'w World,
        directory: Rc<Directory>,
        address: String,
        inputs: Option<BTreeMap<String, Node>>,
    ) -> Self {
        Self { world, directory, address, inputs, default_tags: None, known: RefCell::default() }
    }

    /// The address of something in this module.
    pub(super) fn address_of(&self, own: &str) -> String {
        if self.address.is_empty() { own.to_owned() } else { format!("{}.{own}", self.address) }
    }

    /// The arguments of a resource with the tags of the provider, which it adds to those of the resource.
    pub(super) fn tagged(&self, mut values: Node) -> Node {
        let Some(defaults) = &self.default_tags else { return values };
        let own = values.get("tags").cloned().unwrap_or_else(|| map(Vec::new(), values.place.span));
        let span = own.place.span;
        let all = merged(&[placed(defaults, span), own], span).unwrap_or_else(|| unknown(span));
        if let Value::Map(entries) = &mut values.value {
            entries.push(entry("tags_all", all));
        }
        values
    }

    /// An unknown value, and why it is unknown.
    pub(super) fn unknown(&self, frame: Frame<'_>, span: Span, reason: impl Into<String>) -> Node {
        self.world.because(Cause { file: self.directory.file(frame.file), span, reason: reason.into() });
        unknown(span)
    }

    /// `local.NAME`
    pub(super) fn local(&self, name: &str, frame: Frame<'_>, span: Span) -> Option<Node> {
        let directory = Rc::clone(&self.directory);
        let Some(attribute) = directory.locals.get(name) else {
            return Some(self.unknown(frame, span, format!("local.{name} is not declared")));
        };
        self.remembered(&format!("local.{name}"), attribute.file, frame, span, |frame| {
            self.evaluate(&attribute.expression, frame)
        })
    }

    /// `var.NAME`
    pub(super) fn variable(&self, name: &str, frame: Frame<'_>, span: Span) -> Option<Node> {
        let directory = Rc::clone(&self.directory);
        let Some(block) = directory.variables.get(name) else {
            return Some(self.unknown(frame, span, format!("var.{name} is not declared")));
        };
        let is_sensitive = block.body.attribute("sensitive").is_some();
        if is_sensitive {
            return Some(self.unknown(frame, span, format!("var.{name} is sensitive")));
        }
        let kind = block.body.attribute("type");
        let typed = |value: Node| match kind {
            Some(kind) => convert(self, value, &kind.expression),
            None => value,
        };
        let set: Option<&Attribute> = match &self.inputs {
            Some(inputs) => {
                if let Some(input) = inputs.get(name) {
                    // The value is from another file.
                    return Some(typed(placed(input, span)));
                }
                None
            }
            None => directory.values.get(name),
        };
        let Some(attribute) = set.or_else(|| block.body.attribute("default")) else {
            return Some(self.unknown(frame, span, format!("var.{name} has no value")));
        };
        self.remembered(&format!("var.{name}"), attribute.file, frame, span, |frame| {
            self.evaluate(&attribute.expression, frame).map(typed)
        })
    }

    /// A value that is evaluated once. In its own file it keeps its places; in others it has that of the reference.
    fn remembered(
        &self,
        name: &str,
        file: usize,
        frame: Frame<'_>,
        span: Span,
        evaluate: impl FnOnce(Frame<'_>) -> Option<Node>,
    ) -> Option<Node> {
        let known = self.known.borrow().get(name).cloned();
        let known = match known {
            Some(Known::Open) => return None,
            Some(known) => known,
            None => {
                self.known.borrow_mut().insert(name.to_owned(), Known::Open);
                let inner = Frame { file, bindings: None, depth: frame.depth + 1 };
                let (value, cause) = self.world.with_cause(|| evaluate(inner));
                let value =
                    value.map(|value| if depth(&value) > MAX_NESTING { unknown(value.place.span) } else { value });
                let known = Known::Value { value: value.map(pinned), file, cause };
                self.known.borrow_mut().insert(name.to_owned(), known.clone());
                known
            }
        };
        let Known::Value { value, file, cause } = known else { return None };
        if let Some(cause) = cause {
            self.world.because(cause);
        }
        let value = value?;
        if !self.world.pay(frame.depth, cost(&value)) {
            return Some(unknown(span));
        }
        let is_here = file == frame.file && !matches!(value.value, Value::Unknown);
        Some(if is_here { value } else { placed(&value, span) })
    }
}
