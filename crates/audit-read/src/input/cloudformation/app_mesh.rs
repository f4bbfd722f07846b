//! Resources of App Mesh in a template, and the values of references to them. Source:
//! <https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/AWS_AppMesh.html>

use std::sync::Arc;

use super::{
    resource::{TemplateResource, construct},
    scope::Scope,
};
use crate::{
    app_mesh::{Presence, Resource, ResourceKind},
    definition::{
        Dialect,
        api::{Accepts, Shape, departures_from},
    },
};
use document::{Entry, HOLE, Node, SourceFile, Value};

/// Before the kind, in the type of a resource.
const TYPES: &str = "AWS::AppMesh::";

/// The spelling of its properties.
const DIALECT: Dialect = Dialect::CloudFormationAppMesh;

pub(super) fn kind(type_name: &str) -> Option<ResourceKind> {
    let name = type_name.strip_prefix(TYPES)?;
    ResourceKind::ALL.into_iter().find(|kind| DIALECT.spell(kind.key()) == name)
}

/// Reads a resource of App Mesh; `None` if it is another resource.
pub(super) fn read(file: &Arc<SourceFile>, resource: &TemplateResource<'_>, scope: &Scope<'_, '_>) -> Option<Resource> {
    let kind = kind(resource.kind)?;
    let properties = resource.resolved(scope);
    let (departures, unread) = departures_from(&properties, kind.shape(), DIALECT, true);
    let body = spelled_as_the_api(properties, kind.shape());
    let presence = if resource.condition().is_some() { Presence::Conditional } else { Presence::Declared };
    let read = Resource::new(file.clone(), kind, body, resource.id_span, presence);
    let mut read = Resource { dialect: DIALECT, departures, unread, ..read };
    resource.id.clone_into(&mut read.address);
    read.construct = construct(resource.node);
    read.is_synthesised = resource.is_synthesised;
    Some(read)
}

/// A map with the keys of the API: `MeshName` is `meshName`. A key that the API does not have stays as it is.
fn spelled_as_the_api(node: Node, shape: &Shape) -> Node {
    let value = match node.value {
        Value::Map(entries) => Value::Map(entries.into_iter().map(|entry| spelled_entry(entry, shape)).collect()),
        value => value,
    };
    Node { value, place: node.place }
}

fn spelled_entry(entry: Entry, shape: &Shape) -> Entry {
    let Some(own) = shape.keys.iter().find(|own| DIALECT.is_spelling_of(&entry.key, own.name)) else { return entry };
    Entry::new(own.name, entry.key_span, spelled_value(entry.node, &own.accepts))
}

fn spelled_value(node: Node, accepts: &Accepts) -> Node {
    let value = match (accepts, node.value) {
        (Accepts::Map(shape) | Accepts::Union(shape), value) => {
            return spelled_as_the_api(Node { value, place: node.place }, shape);
        }
        (Accepts::Counted(.., items), value) => return spelled_value(Node { value, place: node.place }, items),
        (Accepts::Maps(shape), Value::List(items)) => {
            Value::List(items.into_iter().map(|item| spelled_as_the_api(item, shape)).collect())
        }
        // A template may have numbers as strings.
        (Accepts::Whole(..), Value::Text(text)) if text.parse::<i64>().is_ok() => Value::Number(text),
        (_, value) => value,
    };
    Node { value, place: node.place }
}

/// Properties that refer to each other in a longer chain are unknown. A node's mesh, for example, is a chain of two.
const MAX_CHAIN: usize = 4;

impl Scope<'_, '_> {
    /// `Ref` and the attribute `Arn`: the ARN of a virtual node or virtual gateway, which Envoy gets. Its partition,
    /// region and account are unknown.
    pub(super) fn mesh_arn(&self, id: &str) -> Option<Value> {
        let kind = self.mesh_kind(id)?;
        if !matches!(kind, ResourceKind::VirtualNode | ResourceKind::VirtualGateway) {
            return None;
        }
        let part = |key: &str| match self.own_property(id, key).map(|node| node.value) {
            Some(Value::Text(text)) => text,
            _ => HOLE.to_string(),
        };
        let (mesh, name) = (part(ResourceKind::Mesh.name_key()), part(kind.name_key()));
        Some(Value::Text(format!("arn:{HOLE}:appmesh:{HOLE}:{HOLE}:mesh/{mesh}/{}/{name}", kind.key())))
    }

    /// `Fn::GetAtt` with the name of the resource itself, of its mesh, or of the router or gateway that it belongs to.
    pub(super) fn mesh_attribute(&self, id: &str, attribute: &str) -> Option<Value> {
        if attribute == "Arn" {
            return self.mesh_arn(id);
        }
        let kind = self.mesh_kind(id)?;
        let names = [Some(ResourceKind::Mesh), kind.owner(), Some(kind)];
        let name = names.into_iter().flatten().find(|it| DIALECT.spell(it.name_key()) == attribute)?;
        self.own_property(id, name.name_key()).map(|node| node.value).filter(|value| matches!(value, Value::Text(_)))
    }

    fn mesh_kind(&self, id: &str) -> Option<ResourceKind> {
        kind(self.template.resources.get(id)?.get("Type")?.text()?)
    }

    /// A property of another resource, called `key` in the API. Without it, CloudFormation generates a name.
    fn own_property(&self, id: &str, key: &str) -> Option<Node> {
        let property = self.template.resources.get(id)?.get("Properties")?.get(&DIALECT.spell(key))?;
        let depth = self.depth.get();
        if depth >= MAX_CHAIN {
            return None;
        }
        self.depth.set(depth + 1);
        let resolved = self.resolve(property);
        self.depth.set(depth);
        Some(resolved)
    }
}

#[cfg(test)]
mod tests {
    use document::{Place, Span};

    use super::*;
    use crate::definition::api::VIRTUAL_NODE;

    fn node(value: Value) -> Node {
        Node { value, place: Place::fixed(Span { start: 0, end: 0 }) }
    }

    fn map(key: &str, value: Value) -> Value {
        Value::Map(vec![Entry::new(key, Span { start: 0, end: 0 }, node(value))])
    }

    fn path(node: &Node) -> Vec<String> {
        let entry = |entry: &Entry| std::iter::once(entry.key.clone()).chain(path(&entry.node)).collect();
        node.entries().first().or_else(|| node.items().first()?.entries().first()).map(entry).unwrap_or_default()
    }

    #[test]
    fn keys_become_those_of_the_api() {
        for (written, expected) in [
            (
                &["Spec", "ServiceDiscovery", "AWSCloudMap", "NamespaceName"][..],
                "spec.serviceDiscovery.awsCloudMap.namespaceName",
            ),
            (&["Spec", "ServiceDiscovery", "DNS"], "spec.serviceDiscovery.dns"),
            // What the API does not have.
            (&["Spec", "ServiceDiscovery", "Dns"], "spec.serviceDiscovery.Dns"),
        ] {
            let value = written.iter().rev().fold(Value::Null, |value, key| map(key, value));
            assert_eq!(path(&spelled_as_the_api(node(value), &VIRTUAL_NODE)).join("."), expected);
        }
    }

    #[test]
    fn texts_become_numbers_where_the_api_has_numbers() {
        let mapping = map("PortMapping", map("Port", Value::Text("8080".to_owned())));
        let written = map("Spec", map("Listeners", Value::List(vec![node(mapping)])));
        let spelled = spelled_as_the_api(node(written), &VIRTUAL_NODE);
        let listener = spelled.get("spec").and_then(|spec| spec.get("listeners")?.items().first()).cloned();
        let port = listener.as_ref().and_then(|listener| listener.get("portMapping")?.get("port"));
        assert!(matches!(port.map(|port| &port.value), Some(Value::Number(port)) if port == "8080"));
    }
}
