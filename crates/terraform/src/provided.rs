//! Modules whose sources are part of the program, in the place of the modules that users call.

use std::{collections::BTreeMap, rc::Rc, sync::Arc};

use document::{SourceFile, Span};

use crate::{
    directory::Directory,
    evaluation::Evaluation,
    functions::Function,
    instances::Instance,
    module::{Input, Location, Module},
    scope::Provided,
    syntax::{Block, Body},
};

/// The sources of a module that the program provides.
pub struct Source {
    pub files: Vec<&'static Body>,
    /// The functions that they need in addition to Terraform's.
    pub functions: &'static [(&'static str, Function)],
}

impl Source {
    /// The files, in which everything has the same place.
    fn directory(&self, file: Arc<SourceFile>, at: Span) -> Rc<Directory> {
        let mut directory = Directory { files: vec![file], ..Directory::default() };
        for own in &self.files {
            directory.declare((*own).clone().placed(at));
        }
        Rc::new(directory)
    }
}

/// The module that `source` makes in the place of the one that an instance of a call leads to.
pub(crate) fn in_place_of_called<'w>(
    caller: &Module<'w>,
    call: &Block,
    instance: &Instance,
    source: &Source,
    inputs: BTreeMap<String, Input>,
) -> Module<'w> {
    let at = call.name_span();
    let directory = source.directory(caller.directory.file(call.file), at);
    let root = caller.location.root.clone();
    let location = Location { root, is_repeated: caller.is_repeated(call), ..Location::default() };
    let mut module = caller.called(call, instance, directory, location, inputs);
    module.provided = Some(Provided { at, functions: source.functions });
    module.call.clone_from(&caller.call);
    module
}

/// The module that `source` makes of inputs that no call passes.
pub(crate) fn uncalled<'w>(evaluation: &'w Evaluation, source: &Source, inputs: BTreeMap<String, Input>) -> Module<'w> {
    let at = Span::default();
    let directory = source.directory(Arc::new(SourceFile::new("", "")), at);
    let mut module = Module::uncalled(evaluation, directory);
    module.inputs = Some(inputs);
    module.provided = Some(Provided { at, functions: source.functions });
    module
}
