//! Calls of modules. Source: <https://developer.hashicorp.com/terraform/language/modules/sources>

use std::{path::PathBuf, rc::Rc};

use super::{
    blocks::Reader,
    consul_ecs::{Kind, Release, called},
    directory::Directory,
    instances::Instance,
    module::Module,
    syntax::{Block, Expression},
    tree::Refusal,
};

/// What a call leads to.
pub(super) enum Callee {
    /// One of `HashiCorp`'s modules for Consul on ECS.
    ConsulEcs(Kind, Release),
    /// A module in the directory tree that is checked.
    Directory(PathBuf),
    /// A module that may declare task definitions, and why it is not read.
    Unread(String),
    /// A module that gets no containers.
    Irrelevant,
}

/// The module that a call leads to.
pub(super) fn callee(module: &Module<'_>, call: &Block) -> Callee {
    let Some(source) = literal(call, "source") else {
        return unread(call, "its source is not a literal");
    };
    match called(&source, literal(call, "version").as_deref()) {
        Some(Ok((kind, release))) => return Callee::ConsulEcs(kind, release),
        Some(Err(version)) => return Callee::Unread(format!("its version {version} is not known")),
        None => {}
    }
    if !source.starts_with("./") && !source.starts_with("../") {
        return unread(call, "its source is not in the directories that are checked");
    }
    let Some(tree) = &module.world.tree else { return unread(call, "files beside this text are not read") };
    match tree.find(&module.directory.path, &source) {
        Ok(path) if path.is_dir() => Callee::Directory(path),
        Ok(_) | Err(Refusal::Missing) => Callee::Unread(format!("its source {source} is no directory")),
        Err(Refusal::Outside) => {
            Callee::Unread(format!("its source {source} is outside of the directories that are checked"))
        }
    }
}

/// A module that cannot be read is named if it gets containers.
fn unread(call: &Block, reason: &str) -> Callee {
    let gets_containers = call.body.attributes.iter().any(|attribute| attribute.name.contains("container"));
    if gets_containers { Callee::Unread(reason.to_owned()) } else { Callee::Irrelevant }
}

/// The value of an argument that must be a literal.
pub(super) fn literal(call: &Block, name: &str) -> Option<String> {
    match &call.body.attribute(name)?.expression {
        Expression::Native(native) => native.as_str().map(str::to_owned),
        Expression::Json(json) => json.text().map(str::to_owned),
    }
}

/// The called module with the inputs of one instance of the call.
pub(super) fn inner<'w>(
    module: &Module<'w>,
    call: &Block,
    instance: &Instance,
    directory: Rc<Directory>,
) -> Module<'w> {
    let reader = Reader { module, block: call, instance };
    let name = call.label(0).unwrap_or_default();
    let address = module.address_of(&format!("module.{name}{}", instance.suffix));
    let mut inner = Module::new(module.world, directory, address, Some(reader.inputs()));
    inner.default_tags.clone_from(&module.default_tags);
    inner
}
