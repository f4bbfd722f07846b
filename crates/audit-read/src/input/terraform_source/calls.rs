//! Calls of modules. Source: <https://developer.hashicorp.com/terraform/language/modules/sources>

use std::{cell::RefCell, path::PathBuf, rc::Rc};

use super::{
    blocks::Reader,
    consul_ecs::{Kind, Release, called},
    directories::{identity, joined},
    directory::Directory,
    instance::Instance,
    instances::instances,
    module::{Called, Callees, Input, Location, Module},
    syntax::Block,
    tree::Refusal,
};

/// Modules that are nested deeper than this are not read.
const MAX_CALLS: usize = 12;

/// What a call leads to.
pub(super) enum Callee {
    /// One of `HashiCorp`'s modules for Consul on ECS.
    ConsulEcs(Kind, Release),
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
        Some(Ok((kind, release))) => return Callee::ConsulEcs(kind, release),
        Some(Err(reason)) => return Callee::Unread(reason),
        None => {}
    }
    if !source.starts_with("./") && !source.starts_with("../") {
        return unread(call, "its source is not in the directories that are checked");
    }
    let Some(tree) = &module.world.directories.tree else { return unread(call, "files beside this text are not read") };
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

/// A module that cannot be read is named if it gets containers.
fn unread(call: &Block, reason: &str) -> Callee {
    let gets_containers = call.body.attributes.iter().any(|attribute| attribute.name.contains("container"));
    if gets_containers { Callee::Unread(reason.to_owned()) } else { Callee::Irrelevant }
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

    /// The called module with the inputs of one instance of the call.
    fn callee(&self, call: &Block, source: &str, instance: &Instance, directory: Rc<Directory>, depth: usize) -> Self {
        let reader = Reader { module: self, block: call, instance, depth };
        let inputs = reader.arguments().map(|attribute| {
            let (value, cause) = self.world.with_cause(|| reader.value(attribute));
            (attribute.name.clone(), Input { value, cause })
        });
        let name = call.label(0).unwrap_or_default();
        Self {
            world: self.world,
            directory,
            location: Location {
                root: self.location.root.clone(),
                relative: joined(&self.location.relative, source),
                callers: [self.location.callers.as_slice(), &[identity(&self.directory.path)]].concat(),
            },
            address: self.address_of(&format!("module.{name}{}", instance.suffix)),
            inputs: Some(inputs.collect()),
            default_tags: self.default_tags.clone(),
            known: RefCell::default(),
            callees: RefCell::default(),
        }
    }
}
