//! Resources of App Mesh in a template, and the values of references to them. Source:
//! <https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/AWS_AppMesh.html>

use std::sync::Arc;

use super::{
    resource::{TemplateResource, construct},
    scope::Scope,
};
use crate::{
    app_mesh::{Presence, Resource, ResourceKind},
    definition::{Dialect, api::departures_from},
};
use document::{Entry, HOLE, Node, SourceFile, Value};

/// Before the kind, in the type of a resource.
const TYPES: &str = "AWS::AppMesh::";

/// Properties that are numbers. A template may have them as strings.
const NUMBERS: [&str; 8] = [
    "port",
    "weight",
    "priority",
    "healthyThreshold",
    "unhealthyThreshold",
    "intervalMillis",
    "timeoutMillis",
    "value",
];

pub(super) fn kind(type_name: &str) -> Option<ResourceKind> {
    let name = type_name.strip_prefix(TYPES)?;
    ResourceKind::ALL.into_iter().find(|kind| Dialect::CloudFormation.spell(kind.key()) == name)
}

/// Reads a resource of App Mesh; `None` if it is another resource.
pub(super) fn read(file: &Arc<SourceFile>, resource: &TemplateResource<'_>, scope: &Scope<'_, '_>) -> Option<Resource> {
    let kind = kind(resource.kind)?;
    let properties = resource.resolved(scope);
    let departures = departures_from(&properties, kind.shape(), Dialect::CloudFormation, true);
    let body = spelled_as_the_api(properties, "");
    let presence = if resource.condition().is_some() { Presence::Conditional } else { Presence::Declared };
    let read = Resource::new(file.clone(), kind, body, resource.id_span, presence);
    let mut read = Resource { dialect: Dialect::CloudFormation, departures, ..read };
    resource.id.clone_into(&mut read.address);
    read.construct = construct(resource.node);
    read.is_synthesised = resource.is_generated;
    Some(read)
}

/// A value with the keys of the API: `MeshName` is `meshName`.
fn spelled_as_the_api(node: Node, key: &str) -> Node {
    let value = match node.value {
        Value::Map(entries) => Value::Map(entries.into_iter().map(spelled_entry).collect()),
        Value::List(items) => Value::List(items.into_iter().map(|item| spelled_as_the_api(item, key)).collect()),
        Value::Text(text) if NUMBERS.contains(&key) && text.parse::<i64>().is_ok() => Value::Number(text),
        value => value,
    };
    Node { value, place: node.place }
}

fn spelled_entry(Entry { key, key_span, node, .. }: Entry) -> Entry {
    let key = key_of_the_api(&key);
    let node = spelled_as_the_api(node, &key);
    Entry::new(key, key_span, node)
}

/// The first word in lower case: `MeshName` is `meshName`, `HTTP2` is `http2`, `AWSCloudMap` is `awsCloudMap`.
fn key_of_the_api(key: &str) -> String {
    let capitals = key.bytes().take_while(u8::is_ascii_uppercase).count();
    let is_before_a_word = capitals > 1 && key.as_bytes().get(capitals).is_some_and(u8::is_ascii_lowercase);
    let (word, rest) = key.split_at(if is_before_a_word { capitals - 1 } else { capitals });
    word.to_ascii_lowercase() + rest
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
        let name = names.into_iter().flatten().find(|it| Dialect::CloudFormation.spell(it.name_key()) == attribute)?;
        self.own_property(id, name.name_key()).map(|node| node.value).filter(|value| matches!(value, Value::Text(_)))
    }

    fn mesh_kind(&self, id: &str) -> Option<ResourceKind> {
        kind(self.template.resources.get(id)?.get("Type")?.text()?)
    }

    /// A property of another resource, called `key` in the API. Without it, CloudFormation generates a name.
    fn own_property(&self, id: &str, key: &str) -> Option<Node> {
        let property = self.template.resources.get(id)?.get("Properties")?.get(&Dialect::CloudFormation.spell(key))?;
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
    use super::*;

    #[test]
    fn keys_are_those_of_the_api() {
        for (key, expected) in [
            ("MeshName", "meshName"),
            ("HTTP", "http"),
            ("HTTP2", "http2"),
            ("GRPC", "grpc"),
            ("AWSCloudMap", "awsCloudMap"),
            ("TcpRoute", "tcpRoute"),
            ("SdsSecret", "sdsSecret"),
            ("", ""),
        ] {
            assert_eq!(key_of_the_api(key), expected);
        }
    }
}
