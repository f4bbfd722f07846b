//! A module with values for its variables.

use std::{cell::RefCell, collections::BTreeMap, path::PathBuf, rc::Rc};

use super::{
    directory::Directory,
    frame::Frame,
    instance::Instance,
    values::unknown,
    world::{Cause, World},
};
use crate::document::{Node, Span};

/// A module with values for its variables.
pub(super) struct Module<'w> {
    pub(super) world: &'w World,
    pub(super) directory: Rc<Directory>,
    pub(super) location: Location,
    /// Its address: empty for the root module.
    pub(super) address: String,
    /// What its caller passes; `None` for the root module, whose values are defaults and those of tfvars files.
    pub(super) inputs: Option<BTreeMap<String, Input>>,
    /// The tags that the provider adds to every resource.
    pub(super) default_tags: Option<Node>,
    /// Local values, variables and outputs that were evaluated.
    pub(super) known: RefCell<BTreeMap<String, Known>>,
    /// The modules that its calls lead to, by the byte of the call's name and the number of its file.
    pub(super) callees: RefCell<BTreeMap<(usize, usize), Callees<'w>>>,
}

/// Where a module is, for paths in expressions.
#[derive(Debug, Clone, Default)]
pub(super) struct Location {
    /// The directory of the root module, where `file` and `templatefile` begin.
    pub(super) root: PathBuf,
    /// The path from there: `path.module`.
    pub(super) relative: PathBuf,
    /// The directories of the modules that lead to this one, without links.
    pub(super) callers: Vec<PathBuf>,
}

/// A value that a caller passes.
pub(super) struct Input {
    pub(super) value: Node,
    /// Why a part of it is unknown.
    pub(super) cause: Option<Cause>,
}

/// What is known of a local value, a variable or an output.
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

/// What is known of the modules that a call leads to.
#[derive(Clone)]
pub(super) enum Callees<'w> {
    /// Their inputs are being evaluated: a reference to their outputs is a cycle.
    Open,
    /// One for each instance of the call.
    Known(Rc<Vec<Called<'w>>>),
}

/// An instance of a call, and the module that it leads to.
pub(super) struct Called<'w> {
    pub(super) instance: Instance,
    pub(super) module: Module<'w>,
}

impl<'w> Module<'w> {
    pub(super) fn root(world: &'w World, directory: Rc<Directory>) -> Self {
        let location = Location { root: directory.path.clone(), ..Location::default() };
        let mut module = Self {
            world,
            directory,
            location,
            address: String::new(),
            inputs: None,
            default_tags: None,
            known: RefCell::default(),
            callees: RefCell::default(),
        };
        module.default_tags = module.provider_tags();
        module
    }

    /// The address of something in this module.
    pub(super) fn address_of(&self, own: &str) -> String {
        if self.address.is_empty() { own.to_owned() } else { format!("{}.{own}", self.address) }
    }

    /// An unknown value, and why it is unknown.
    pub(super) fn unknown(&self, frame: Frame<'_>, span: Span, reason: impl Into<String>) -> Node {
        self.world.because(Cause { file: self.directory.file(frame.file), span, reason: reason.into() });
        unknown(span)
    }

    /// Why something that no file declares is unknown.
    pub(super) fn undeclared(&self, name: &str) -> String {
        let files = if self.directory.is_partial { " in the files that could be read" } else { "" };
        format!("{name} is not declared{files}")
    }
}
