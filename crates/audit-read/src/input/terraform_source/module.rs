//! A module with values for its variables, the modules that it calls, and what all modules of a run share. Source:
//! <https://developer.hashicorp.com/terraform/language/modules>

use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
    path::PathBuf,
    rc::Rc,
    sync::Arc,
};

use super::{
    blocks::{Instance, Reader, enabled, instances},
    consul_ecs::{ConsulEcs, called},
    directory::{Directories, Directory, Refusal, identity, joined},
    eval::Frame,
    syntax::Block,
    values::{entry, map, merged, unknown},
};
use crate::definition::ModuleCall;
use document::{Node, SourceFile, Span, Value, hcl::span_of};

/// Expressions nested deeper than this, counting through references, are unknown.
const MAX_DEPTH: usize = 100;

/// What the expressions of a root module and its called modules may produce: enough for thousands of task definitions, and a
/// limit for malicious files.
const MAX_COST: usize = 2_000_000;

/// What all modules of a run share.
#[derive(Debug)]
pub(super) struct World {
    pub(super) directories: Directories,
    left: Cell<usize>,
    causes: RefCell<Vec<Cause>>,
}

/// Why a value is unknown.
#[derive(Debug, Clone)]
pub(super) struct Cause {
    pub(super) file: Arc<SourceFile>,
    pub(super) span: Span,
    pub(super) reason: String,
}

impl World {
    pub(super) fn new(directories: Directories) -> Self {
        Self { directories, left: Cell::new(MAX_COST), causes: RefCell::default() }
    }

    /// Begins with the next root module, which has all of the limit.
    pub(super) fn renew(&self) {
        self.left.set(MAX_COST);
        self.causes.take();
    }

    /// Whether an expression of this depth and cost may be evaluated.
    pub(super) fn pay(&self, depth: usize, cost: usize) -> bool {
        self.left.set(self.left.get().saturating_sub(cost));
        depth < MAX_DEPTH && self.left.get() > 0
    }

    /// Whether the limit is reached, so that values are unknown.
    pub(super) fn is_exhausted(&self) -> bool {
        self.left.get() == 0
    }

    /// Notes why a value is unknown.
    pub(super) fn because(&self, cause: Cause) {
        self.causes.borrow_mut().push(cause);
    }

    /// The same for something that was evaluated before.
    pub(super) fn because_of(&self, cause: Option<&Cause>) {
        self.causes.borrow_mut().extend(cause.cloned());
    }

    /// Evaluates something, and returns also the first reason for which a part of it is unknown.
    pub(super) fn with_cause<T>(&self, evaluate: impl FnOnce() -> T) -> (T, Option<Cause>) {
        let before = self.causes.take();
        let value = evaluate();
        let mut found = self.causes.replace(before);
        let first = if found.is_empty() { None } else { Some(found.swap_remove(0)) };
        (value, first)
    }
}

/// A module with values for its variables.
pub(super) struct Module<'w> {
    pub(super) world: &'w World,
    pub(super) directory: Rc<Directory>,
    pub(super) location: Location,
    /// Its address: empty for the root module.
    pub(super) address: String,
    /// The call that it is read through; `None` for the root module. One of HashiCorp's modules has its caller's, because it
    /// declares everything in the caller's file.
    pub(super) call: Option<Arc<ModuleCall>>,
    /// What its caller passes; `None` for the root module, which takes defaults and tfvars files.
    pub(super) inputs: Option<BTreeMap<String, Input>>,
    /// Where one of HashiCorp's modules has what is from no input: at the name of its call.
    pub(super) made_at: Option<Span>,
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
    /// Whether one of their calls has instances or a provider of its own.
    pub(super) is_repeated: bool,
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
        value: Option<Rc<Node>>,
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
            call: None,
            inputs: None,
            made_at: None,
            default_tags: None,
            known: RefCell::default(),
            callees: RefCell::default(),
        };
        module.default_tags = module.provider_tags();
        module
    }

    /// The bytes of a part of the syntax tree.
    pub(super) fn span_of(&self, part: &impl hcl_edit::Span) -> Span {
        self.made_at.unwrap_or_else(|| span_of(part))
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

/// Modules that are nested deeper than this are not read.
const MAX_CALLS: usize = 12;

/// What a call leads to.
pub(super) enum Callee {
    /// One of `HashiCorp`'s modules for Consul on ECS.
    ConsulEcs(ConsulEcs),
    /// A module in the directory tree that is checked: its path without links, and the source of the call.
    Directory(PathBuf, String),
    /// A module that may declare task definitions, and why it is not read.
    Unread(String),
    /// A module in another directory tree, which is not read: the source of the call.
    Outside(String),
    /// A module that gets no containers.
    Irrelevant,
}

/// The module that a call leads to.
pub(super) fn callee(module: &Module<'_>, call: &Block) -> Callee {
    let literal = |name: &str| call.body.attribute(name).and_then(|attribute| attribute.expression.literal());
    let Some(source) = literal("source") else {
        return unread(call, "its source is not a literal");
    };
    match called(source, literal("version")) {
        Some(Ok(called)) => return Callee::ConsulEcs(called),
        Some(Err(reason)) => return Callee::Unread(reason),
        None => {}
    }
    if !source.starts_with("./") && !source.starts_with("../") {
        return unread(call, "its source is not in the directories that are checked");
    }
    let Some(tree) = &module.world.directories.tree else {
        return unread(call, "files next to this text are not read");
    };
    match tree.find(&module.directory.path, source) {
        Ok(path) if path == identity(&module.directory.path) || module.location.callers.contains(&path) => {
            Callee::Unread("it calls itself".to_owned())
        }
        Ok(_) if module.location.callers.len() >= MAX_CALLS => Callee::Unread("it is nested too deeply".to_owned()),
        Ok(path) if path.is_dir() => Callee::Directory(path, source.to_owned()),
        Ok(_) | Err(Refusal::Missing) => Callee::Unread(format!("its source {source} is no directory")),
        Err(Refusal::Outside) => Callee::Outside(source.to_owned()),
    }
}

/// Words in the sources of modules for other clouds, by the names of Terraform's providers:
/// `GoogleCloudPlatform/container-vm/google`, `terraform-azurerm-container-app`. Source:
/// <https://developer.hashicorp.com/terraform/registry/modules/publish>
const OTHER_CLOUDS: [&str; 11] =
    ["alicloud", "azapi", "azure", "azurerm", "digitalocean", "docker", "google", "helm", "ibm", "kubernetes", "oci"];

/// A module that cannot be read is named if it gets containers.
fn unread(call: &Block, reason: &str) -> Callee {
    let source = call.body.attribute("source").and_then(|source| source.expression.literal()).unwrap_or_default();
    let mut words = source.split(|c: char| !c.is_ascii_alphanumeric());
    let is_elsewhere = words.any(|word| OTHER_CLOUDS.iter().any(|cloud| word.eq_ignore_ascii_case(cloud)));
    let gets_containers = call.body.attributes.iter().any(|attribute| attribute.name.contains("container"));
    if gets_containers && !is_elsewhere { Callee::Unread(reason.to_owned()) } else { Callee::Irrelevant }
}

impl<'w> Module<'w> {
    /// The modules in a directory that a call leads to; `None` if their inputs depend on their own outputs.
    pub(super) fn callees(&self, call: &Block, source: &str, depth: usize) -> Option<Rc<Vec<Called<'w>>>> {
        let key = (call.file, call.name_span().start);
        let known = self.callees.borrow().get(&key).cloned();
        match known {
            Some(Callees::Known(callees)) => return Some(callees),
            Some(Callees::Open) => return None,
            None => {}
        }
        self.callees.borrow_mut().insert(key, Callees::Open);
        let directory = self.world.directories.load(&joined(&self.directory.path, source), true);
        let called = |instance: Instance| {
            let module = self.callee(call, source, &instance, Rc::clone(&directory), depth);
            Called { instance, module }
        };
        let callees = Rc::new(instances(self, call, depth).into_iter().map(called).collect::<Vec<_>>());
        self.callees.borrow_mut().insert(key, Callees::Known(Rc::clone(&callees)));
        Some(callees)
    }

    /// Whether a resource or call may have several instances, none, or one in another region.
    pub(super) fn is_repeated(&self, block: &Block) -> bool {
        let changes = ["count", "for_each", "provider", "providers", "region"];
        self.location.is_repeated
            || enabled(block).is_some()
            || changes.iter().any(|name| block.body.attribute(name).is_some())
    }

    /// The called module with the inputs of one instance of the call.
    fn callee(&self, call: &Block, source: &str, instance: &Instance, directory: Rc<Directory>, depth: usize) -> Self {
        let reader = Reader { module: self, block: call, instance, depth };
        let inputs = reader.arguments().map(|attribute| {
            let (value, cause) = self.world.with_cause(|| reader.value(attribute));
            (attribute.name.clone(), Input { value, cause })
        });
        let location = Location {
            root: self.location.root.clone(),
            relative: joined(&self.location.relative, source),
            callers: [self.location.callers.as_slice(), &[identity(&self.directory.path)]].concat(),
            is_repeated: self.is_repeated(call),
        };
        self.called(call, instance, directory, location, inputs.collect())
    }

    pub(super) fn called(
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
            world: self.world,
            directory,
            location,
            call: Some(Arc::new(ModuleCall { module: address.clone(), file, span })),
            address,
            inputs: Some(inputs),
            made_at: None,
            default_tags: self.default_tags.clone(),
            known: RefCell::default(),
            callees: RefCell::default(),
        }
    }
}

impl Module<'_> {
    /// The tags that the provider adds to all resources. With several providers, it is not known whose.
    pub(super) fn provider_tags(&self) -> Option<Node> {
        let providers = self.directory.providers.iter().filter(|block| block.label(0) == Some("aws"));
        let providers: Vec<&Block> = providers.collect();
        let tags: Vec<&Block> = providers.iter().flat_map(|provider| provider.body.blocks("default_tags")).collect();
        let first = tags.first()?;
        let span = first.span;
        let attribute = first.body.attribute("tags").filter(|_| providers.len() == 1);
        let value = attribute.and_then(|attribute| self.evaluate(&attribute.expression, Frame::of(attribute.file)));
        Some(value.unwrap_or_else(|| unknown(span)))
    }

    /// The arguments of a resource. Its tags include the provider's.
    pub(super) fn tagged(&self, mut values: Node) -> Node {
        let Some(defaults) = &self.default_tags else { return values };
        let own = values.get("tags").cloned().unwrap_or_else(|| map(Vec::new(), values.place.span));
        let span = own.place.span;
        let all = merged(&[defaults.placed(span), own], span).unwrap_or_else(|| unknown(span));
        if let Value::Map(entries) = &mut values.value {
            entries.push(entry("tags_all", all));
        }
        values
    }
}
