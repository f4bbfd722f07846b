//! A module with values for its variables. Source: <https://developer.hashicorp.com/terraform/language/modules>

use std::{
    cell::RefCell,
    collections::BTreeMap,
    path::{Path, PathBuf},
    rc::Rc,
    sync::Arc,
};

use document::{Node, SourceFile, Span};

use crate::{
    causes::UnknownCause,
    directory::Directory,
    evaluation::Evaluation,
    instances::{Instance, enabled},
    scope::{Frame, Provided, Scope},
    syntax::Block,
};

/// Where a module is called, seen from the root module.
#[derive(Debug)]
pub struct CallSite {
    /// The address of the module: `module.web["eu"].module.task`.
    pub module: String,
    /// The file of the call in the root module.
    pub file: Arc<SourceFile>,
    /// The name of that call.
    pub span: Span,
}

/// A module with values for its variables.
pub struct Module<'w> {
    pub(crate) evaluation: &'w Evaluation,
    pub(crate) directory: Rc<Directory>,
    pub(crate) location: Location,
    /// Its address: empty for the root module.
    pub(crate) address: String,
    /// The call that it is read through; `None` for the root module. One that the program provides has its caller's, because it
    /// declares everything in the caller's file.
    pub(crate) call: Option<Arc<CallSite>>,
    /// What its caller passes; `None` for the root module, which takes defaults and tfvars files.
    pub(crate) inputs: Option<BTreeMap<String, Input>>,
    /// The place and the functions of a provided module; `None` for a user's module.
    pub(crate) provided: Option<Provided>,
    /// The tags that the provider adds to every resource.
    pub(crate) default_tags: Option<Node>,
    /// Local values, variables and outputs that were evaluated.
    pub(crate) known: RefCell<BTreeMap<String, Known>>,
    /// The modules that its calls lead to, by the byte of the call's name and the number of its file.
    pub(crate) callees: RefCell<BTreeMap<(usize, usize), Callees<'w>>>,
}

/// Where a module is, for paths in expressions.
#[derive(Debug, Clone, Default)]
pub(crate) struct Location {
    /// The directory of the root module, where `file` and `templatefile` begin.
    pub(crate) root: PathBuf,
    /// The path from there: `path.module`.
    pub(crate) relative: PathBuf,
    /// The directories of the modules that lead to this one, without links.
    pub(crate) callers: Vec<PathBuf>,
    /// Whether one of their calls has instances or a provider of its own.
    pub(crate) is_repeated: bool,
}

/// A value that a caller passes.
pub struct Input {
    pub value: Node,
    /// Why a part of it is unknown.
    pub cause: Option<UnknownCause>,
}

/// What is known of a local value, a variable or an output.
#[derive(Clone)]
pub(crate) enum Known {
    /// It is being evaluated: a reference to it is a cycle.
    Open,
    Value {
        value: Option<Rc<Node>>,
        file: usize,
        cause: Option<UnknownCause>,
    },
}

/// What is known of the modules that a call leads to.
#[derive(Clone)]
pub(crate) enum Callees<'w> {
    /// Their inputs are being evaluated: a reference to their outputs is a cycle.
    Open,
    /// One for each instance of the call.
    Known(Rc<Vec<Called<'w>>>),
}

/// An instance of a call, and the module that it leads to.
pub struct Called<'w> {
    pub(crate) instance: Instance,
    pub module: Module<'w>,
}

impl<'w> Module<'w> {
    /// A module that no other calls, without the tags of its provider.
    pub(crate) fn uncalled(evaluation: &'w Evaluation, directory: Rc<Directory>) -> Self {
        let location = Location { root: directory.path.clone(), ..Location::default() };
        Self {
            evaluation,
            directory,
            location,
            address: String::new(),
            call: None,
            inputs: None,
            provided: None,
            default_tags: None,
            known: RefCell::default(),
            callees: RefCell::default(),
        }
    }

    /// A module that `call` leads to.
    pub(crate) fn called(
        &self,
        call: &Block,
        instance: &Instance,
        directory: Rc<Directory>,
        location: Location,
        inputs: BTreeMap<String, Input>,
    ) -> Self {
        let address = self.address_of(&format!("module.{}{}", call.label(0).unwrap_or_default(), instance.suffix));
        let root = self.call.as_ref().map(|call| (Arc::clone(&call.file), call.span));
        let (file, span) = root.unwrap_or_else(|| (self.directory.file(call.file), call.name_span()));
        Self {
            evaluation: self.evaluation,
            directory,
            location,
            call: Some(Arc::new(CallSite { module: address.clone(), file, span })),
            address,
            inputs: Some(inputs),
            provided: None,
            default_tags: self.default_tags.clone(),
            known: RefCell::default(),
            callees: RefCell::default(),
        }
    }

    pub fn directory(&self) -> &Rc<Directory> {
        &self.directory
    }

    /// Its address: empty for the root module.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// The address of something in this module.
    pub fn address_of(&self, own: &str) -> String {
        if self.address.is_empty() { own.to_owned() } else { format!("{}.{own}", self.address) }
    }

    /// The call that it is read through; `None` for the root module.
    pub fn call(&self) -> Option<&CallSite> {
        self.call.as_deref()
    }

    /// Whether its sources are part of the program.
    pub fn is_provided(&self) -> bool {
        self.provided.is_some()
    }

    /// The directory of the root module.
    pub fn root_path(&self) -> &Path {
        &self.location.root
    }

    /// Whether a resource or call may have several instances, none, or one in another region.
    pub fn is_repeated(&self, block: &Block) -> bool {
        let changes = ["count", "for_each", "provider", "providers", "region"];
        self.location.is_repeated
            || enabled(block).is_some()
            || changes.iter().any(|name| block.body.attribute(name).is_some())
    }

    /// Evaluates something, and returns also the first reason for which a part of it is unknown.
    pub fn with_cause<T>(&self, evaluate: impl FnOnce() -> T) -> (T, Option<UnknownCause>) {
        self.evaluation.causes.first_of(evaluate)
    }

    /// Evaluates something, and returns also the undeclared references in it that no earlier evaluation met. Terraform refuses each
    /// of them.
    pub fn with_undeclared<T>(&self, evaluate: impl FnOnce() -> T) -> (T, Vec<UnknownCause>) {
        self.evaluation.causes.undeclared_of(evaluate)
    }

    /// The value of a reference to something that no file of a directory declares.
    pub(crate) fn undeclared_in(&self, directory: &Directory, frame: Frame<'_>, span: Span, name: &str) -> Node {
        let reason = if frame.is_in_open_template() {
            format!("{name} is not known here")
        } else if frame.is_in_template() {
            format!("the template uses {name}, which the call does not pass")
        } else {
            let files = if directory.is_partial { " in the files that could be read" } else { "" };
            format!("{name} is not declared{files}")
        };
        self.note_undeclared(directory, frame, span, &reason);
        self.unknown(frame, span, &reason)
    }

    /// Notes that a directory does not declare something, if all of its files are known.
    pub(crate) fn note_undeclared(&self, directory: &Directory, frame: Frame<'_>, span: Span, reason: &str) {
        let is_excerpt = directory.is_partial || directory.is_alone || directory.is_generated;
        let is_whole = !is_excerpt && !directory.files.is_empty();
        let is_certain = if frame.is_in_template() { !frame.is_in_open_template() } else { is_whole };
        if self.provided.is_none() && is_certain {
            let span = frame.within.map_or(span, |text| text.at);
            self.causes().note_undeclared(UnknownCause {
                file: self.file(frame.file),
                span,
                reason: reason.to_owned(),
            });
        }
    }
}
