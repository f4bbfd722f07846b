//! The way in: root modules, and what their blocks, calls and local values come to.

use std::{collections::BTreeMap, rc::Rc};

use document::{Node, Span, Value};

use crate::{
    blocks::Reader,
    callees::{Callee, callee, callees},
    directory::Directory,
    evaluation::Evaluation,
    expression::evaluate,
    instances::{Instance, instances},
    module::{Called, Input, Module},
    provided::{self, Source},
    scope::Frame,
    syntax::{Attribute, Block},
    values::{entry, map, merged, unknown},
    variables::local,
};

impl<'w> Module<'w> {
    /// A module that no other calls. Its variables have their defaults, or the values of its `*.tfvars` files. Its expressions may
    /// produce as much as the limit allows, also after other modules.
    pub fn root(evaluation: &'w Evaluation, directory: Rc<Directory>) -> Self {
        evaluation.renew();
        let mut module = Self::uncalled(evaluation, directory);
        module.default_tags = provider_tags(&module);
        module
    }

    /// The module that `source` makes of inputs that no call passes.
    pub fn of_source(evaluation: &'w Evaluation, source: &Source, inputs: BTreeMap<String, Input>) -> Self {
        provided::uncalled(evaluation, source, inputs)
    }

    /// The module that `source` makes in the place of the one that an instance of a call leads to.
    #[must_use]
    pub fn in_place_of_called(
        &self,
        call: &Block,
        instance: &Instance,
        source: &Source,
        inputs: BTreeMap<String, Input>,
    ) -> Self {
        provided::in_place_of_called(self, call, instance, source, inputs)
    }

    /// What a call leads to.
    pub fn callee(&self, call: &Block) -> Callee {
        callee(self, call)
    }

    /// The modules in a directory that a call with this source leads to, one for each of its instances; `None` if their inputs
    /// depend on their own outputs.
    pub fn callees(&self, call: &Block, source: &str) -> Option<Rc<Vec<Called<'w>>>> {
        callees(self, call, source, 0)
    }

    /// The instances of a block; a single one with an unknown key if they are not known.
    pub fn instances(&self, block: &Block) -> Vec<Instance> {
        instances(self, block, 0)
    }

    /// The arguments and nested blocks of an instance of a block.
    pub fn reader<'r>(&'r self, block: &'r Block, instance: &'r Instance) -> Reader<'r> {
        Reader { scope: self, block, instance, depth: 0 }
    }

    /// The value of an argument outside of instances; `None` if Terraform would refuse it.
    pub fn value(&self, attribute: &Attribute) -> Option<Node> {
        evaluate(self, &attribute.expression, Frame::of(attribute.file))
    }

    /// A local value; `None` if Terraform would refuse it.
    pub fn local(&self, name: &str) -> Option<Node> {
        local(self, name, &[], Frame::of(0), Span::default())
    }

    /// The arguments of a resource. Its tags include the provider's.
    pub fn tagged(&self, mut values: Node) -> Node {
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

/// The tags that the provider adds to all resources. With several providers, it is not known whose.
fn provider_tags(module: &Module<'_>) -> Option<Node> {
    let providers = module.directory.providers.iter().filter(|block| block.label(0) == Some("aws"));
    let providers: Vec<&Block> = providers.collect();
    let tags: Vec<&Block> = providers.iter().flat_map(|provider| provider.body.blocks("default_tags")).collect();
    let first = tags.first()?;
    let span = first.span;
    let attribute = first.body.attribute("tags").filter(|_| providers.len() == 1);
    let value = attribute.and_then(|attribute| module.value(attribute));
    Some(value.unwrap_or_else(|| unknown(span)))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use document::SourceFile;

    use super::*;
    use crate::interest::Interest;

    #[test]
    fn arguments_are_known_with_their_places_or_unknown_with_a_cause() {
        let text = "variable \"size\" { default = 2 }\nvariable \"zone\" {}\nresource \"x\" \"a\" {\n  count = var.size\n  name  = \"a-${count.index}\"\n  zone  = var.zone\n}\n";
        let evaluation = Evaluation::new(None, Interest::NONE);
        let directory = evaluation.alone(Arc::new(SourceFile::new("main.tf", text)));
        let module = Module::root(&evaluation, Rc::clone(&directory));
        let [block] = directory.resources.as_slice() else { panic!("one resource") };
        let instances = module.instances(block);
        let suffixes: Vec<&str> = instances.iter().map(|instance| instance.suffix.as_str()).collect();
        assert_eq!(suffixes, ["[0]", "[1]"]);
        let (values, cause) =
            module.with_cause(|| module.reader(block, &instances[1]).values(&["name", "zone", "tags"], &[]));
        let name = values.get("name").unwrap();
        assert_eq!(name.text(), Some("a-1"));
        assert_eq!(text.get(name.place.span.start..name.place.span.end), Some("\"a-${count.index}\""));
        assert!(values.get("zone").unwrap().is_unknown() && values.get("tags").is_none());
        assert_eq!(cause.unwrap().reason, "var.zone has no value");
        assert!(evaluation.take_problems().is_empty() && !evaluation.is_exhausted());
    }
}
