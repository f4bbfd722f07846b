//! The resources of a template, and the constructs of the AWS CDK that they are from.

use document::{Entry, Node, Span, Value};

use super::scope::Scope;

pub(super) struct TemplateResource<'n> {
    pub(super) id: &'n str,
    pub(super) id_span: Span,
    pub(super) kind: &'n str,
    pub(super) node: &'n Node,
    pub(super) properties: &'n Node,
    /// Whether the file is generated, so that edits must not reach it.
    pub(super) is_synthesised: bool,
}

impl<'n> TemplateResource<'n> {
    /// The condition under which it is created.
    pub(super) fn condition(&self) -> Option<&'n str> {
        self.node.get("Condition").and_then(Node::text)
    }

    /// Its properties. Together, they have the place of its logical ID.
    pub(super) fn resolved(&self, scope: &Scope<'_, '_>) -> Node {
        for id in self.node.get("DependsOn").into_iter().flat_map(|node| [node].into_iter().chain(node.items())) {
            id.text().inspect(|name| scope.check_resource(name, id.place.span));
        }
        if let Some((name, condition)) = self.condition().zip(self.node.get("Condition")) {
            scope.check_condition(name, condition.place.span);
        }
        let mut properties = scope.resolve(self.properties);
        if matches!(properties.value, Value::Map(_)) {
            properties.place.span = self.id_span;
        }
        if self.is_synthesised {
            properties.remove_routes();
        }
        properties
    }
}

/// Collects the resources. A loop of `Fn::ForEach` has one resource, with an unknown loop variable.
pub(super) fn collect<'n>(entries: &'n [Entry], is_synthesised: bool, out: &mut Vec<TemplateResource<'n>>) {
    for Entry { key, key_span, node, .. } in entries {
        if key.starts_with("Fn::ForEach::") {
            collect(node.items().get(2).map(Node::entries).unwrap_or_default(), is_synthesised, out);
        } else if let (Some(kind), Some(properties)) = (node.get("Type").and_then(Node::text), node.get("Properties")) {
            out.push(TemplateResource { id: key, id_span: *key_span, kind, node, properties, is_synthesised });
        }
    }
}

/// The metadata of a resource with the path of its construct:
/// <https://docs.aws.amazon.com/cdk/v2/guide/identifiers.html>
const PATH: &str = "aws:cdk:path";

/// The last parts of a path that the CDK leaves out of names: the resource inside of a construct.
const INNER: [&str; 2] = ["/Resource", "/Default"];

/// Whether the CDK has written a template. It adds the path of each construct, a resource for its own statistics, and
/// a rule that checks the version of its bootstrap stack; each of the three can be switched off.
pub(super) fn is_synthesised(template: &Node) -> bool {
    let is_its_own = |entry: &Entry| {
        metadata(&entry.node).is_some() || entry.node.get("Type").and_then(Node::text) == Some("AWS::CDK::Metadata")
    };
    template.get("Rules").is_some_and(|rules| rules.get("CheckBootstrapVersion").is_some())
        || template.entries_of("Resources").iter().any(is_its_own)
}

/// The path of a resource's construct, as the CDK's commands print it: `Shop/Web/TaskDef`.
pub(super) fn construct(resource: &Node) -> Option<String> {
    let path = metadata(resource)?;
    Some(INNER.iter().find_map(|inner| path.strip_suffix(inner)).unwrap_or(path).to_owned())
}

fn metadata(resource: &Node) -> Option<&str> {
    resource.get("Metadata")?.get(PATH)?.text()
}
