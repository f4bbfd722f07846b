//! A module with values for its variables.

use std::{cell::RefCell, collections::BTreeMap, rc::Rc};

use super::{
    collections::merged,
    directory::Directory,
    frame::Frame,
    values::{entry, map, placed, unknown},
    world::{Cause, World},
};
use crate::document::{Node, Span, Value};

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
    pub(super) known: RefCell<BTreeMap<String, Known>>,
}

/// What is known of a local value or a variable.
#[derive(Clone)]
pub(super) enum Known {
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
}
