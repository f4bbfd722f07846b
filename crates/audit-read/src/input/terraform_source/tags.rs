//! The tags that the provider adds. Source:
//! <https://registry.terraform.io/providers/hashicorp/aws/latest/docs#default_tags-configuration-block>

use super::{
    frame::Frame,
    maps::merged,
    module::Module,
    syntax::Block,
    values::{entry, map, unknown},
};
use crate::document::{Node, Value};

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

    /// The arguments of a resource with the tags of the provider, which it adds to those of the resource.
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
