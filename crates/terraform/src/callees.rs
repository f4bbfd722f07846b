//! The modules that the calls of a module lead to. Source:
//! <https://developer.hashicorp.com/terraform/language/modules/sources>

use std::{path::PathBuf, rc::Rc};

use crate::{
    blocks::Reader,
    directory::Directory,
    instances::{Instance, instances},
    module::{Called, Callees, Input, Location, Module},
    scope::{Frame, Scope},
    syntax::Block,
    tree::{Refusal, identity, joined},
};

/// Modules that are nested deeper than this are not read.
const MAX_CALLS: usize = 12;

/// What a call leads to.
pub enum Callee {
    /// A module that the program provides.
    Provided,
    /// A module in the directory tree that is checked: its path without links, and the source of the call.
    Directory(PathBuf, String),
    /// A module in the directory tree that is not read, and why.
    Unread(String),
    /// A module in another directory tree, which is not read: the source of the call.
    Outside(String),
    /// A module whose source is no directory next to this one, and why it is not read.
    Elsewhere(&'static str),
}

/// The module that a call leads to.
pub(crate) fn callee(module: &Module<'_>, call: &Block) -> Callee {
    let literal = |name: &str| call.body.attribute(name).and_then(|attribute| attribute.expression.literal());
    let Some(source) = literal("source") else {
        return Callee::Elsewhere("its source is not a literal");
    };
    let directories = &module.evaluation.directories;
    if (directories.interest.provides)(source, literal("version")) {
        return Callee::Provided;
    }
    if !source.starts_with("./") && !source.starts_with("../") {
        return Callee::Elsewhere("its source is not in the directories that are checked");
    }
    match directories.find(&module.directory.path, source) {
        Ok(path) if path == identity(&module.directory.path) || module.location.callers.contains(&path) => {
            Callee::Unread("it calls itself".to_owned())
        }
        Ok(_) if module.location.callers.len() >= MAX_CALLS => Callee::Unread("it is nested too deeply".to_owned()),
        Ok(path) if path.is_dir() => Callee::Directory(path, source.to_owned()),
        Ok(_) | Err(Refusal::Missing) => Callee::Unread(format!("its source {source} is no directory")),
        Err(Refusal::Outside) => Callee::Outside(source.to_owned()),
        Err(Refusal::Alone) => Callee::Elsewhere("files next to this text are not read"),
    }
}

/// The modules in a directory that a call leads to; `None` if their inputs depend on their own outputs.
pub(crate) fn callees<'w>(
    module: &Module<'w>,
    call: &Block,
    source: &str,
    depth: usize,
) -> Option<Rc<Vec<Called<'w>>>> {
    let key = (call.file, call.name_span().start);
    let known = module.callees.borrow().get(&key).cloned();
    match known {
        Some(Callees::Known(callees)) => return Some(callees),
        Some(Callees::Open) => return None,
        None => {}
    }
    module.callees.borrow_mut().insert(key, Callees::Open);
    let directory = module.evaluation.directories.load(&joined(&module.directory.path, source), true);
    let called = |instance: Instance| {
        let module = called(module, call, source, &instance, Rc::clone(&directory), depth);
        Called { instance, module }
    };
    let callees = Rc::new(instances(module, call, depth).into_iter().map(called).collect::<Vec<_>>());
    module.callees.borrow_mut().insert(key, Callees::Known(Rc::clone(&callees)));
    Some(callees)
}

/// The called module with the inputs of one instance of the call.
fn called<'w>(
    module: &Module<'w>,
    call: &Block,
    source: &str,
    instance: &Instance,
    directory: Rc<Directory>,
    depth: usize,
) -> Module<'w> {
    let reader = Reader { scope: module, block: call, instance, depth };
    let is_unknown = |name: &str| !directory.variables.contains_key(name) && !name.starts_with('/');
    for attribute in reader.arguments().filter(|attribute| is_unknown(&attribute.name)) {
        let name = call.label(0).unwrap_or_default();
        let reason = format!("module.{name} has no variable {}", attribute.name);
        module.note_undeclared(&directory, Frame::of(attribute.file), attribute.name_span, &reason);
    }
    let inputs = reader.arguments().map(|attribute| {
        let (value, cause) = module.causes().first_of(|| reader.value(attribute));
        (attribute.name.clone(), Input { value, cause })
    });
    let location = Location {
        root: module.location.root.clone(),
        relative: joined(&module.location.relative, source),
        callers: [module.location.callers.as_slice(), &[identity(&module.directory.path)]].concat(),
        is_repeated: module.is_repeated(call),
    };
    module.called(call, instance, directory, location, inputs.collect())
}
