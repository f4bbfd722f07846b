//! The resources of a template.

use super::scope::Scope;
use crate::document::{Entry, Node, Span, Value};

/// The types of nested stacks. Modules have names of their own:
/// <https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/modules.html>
const NESTED: [&str; 3] =
    ["AWS::CloudFormation::Stack", "AWS::CloudFormation::StackSet", "AWS::Serverless::Application"];

pub(super) struct TemplateResource<'n> {
    pub(super) id: &'n str,
    pub(super) id_span: Span,
    pub(super) kind: &'n str,
    pub(super) node: &'n Node,
    properties: &'n Node,
    /// Whether the file is generated, so that edits must not reach it.
    pub(super) is_generated: bool,
}

impl<'n> TemplateResource<'n> {
    /// The condition under which it is created.
    pub(super) fn condition(&self) -> Option<&'n str> {
        self.node.get("Condition").and_then(Node::text)
    }

    /// A property, with its functions.
    pub(super) fn property(&self, name: &str) -> Option<&'n Node> {
        self.properties.get(name)
    }

    /// Its properties. Together, they have the place of its logical ID.
    pub(super) fn resolved(&self, scope: &Scope<'_, '_>) -> Node {
        let mut properties = scope.resolve(self.properties);
        if matches!(properties.value, Value::Map(_)) {
            properties.place.span = self.id_span;
        }
        if self.is_generated {
            properties.remove_routes();
        }
        properties
    }
}

/// The resources, including those of `Fn::ForEach`: one of each loop, with an unknown loop variable.
pub(super) fn resources(template: &Node, is_generated: bool) -> Vec<TemplateResource<'_>> {
    let mut out = Vec::new();
    collect(template.get("Resources").map(Node::entries).unwrap_or_default(), is_generated, &mut out);
    out
}

/// Whether a template creates stacks or modules, whose resources are declared elsewhere.
pub(super) fn has_nested_stacks(template: &Node) -> bool {
    let kinds = template.get("Resources").map(Node::entries).unwrap_or_default().iter();
    let mut kinds = kinds.filter_map(|entry| entry.node.get("Type")?.text());
    kinds.any(|kind| NESTED.contains(&kind) || kind.ends_with("::MODULE"))
}

fn collect<'n>(entries: &'n [Entry], is_generated: bool, out: &mut Vec<TemplateResource<'n>>) {
    for Entry { key, key_span, node } in entries {
        if key.starts_with("Fn::ForEach::") {
            collect(node.items().get(2).map(Node::entries).unwrap_or_default(), is_generated, out);
        } else if let (Some(kind), Some(properties)) = (node.get("Type").and_then(Node::text), node.get("Properties")) {
            out.push(TemplateResource { id: key, id_span: *key_span, kind, node, properties, is_generated });
        }
    }
}
