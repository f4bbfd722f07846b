//! Resources of App Mesh in a template. Source:
//! <https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/AWS_AppMesh.html>

use std::sync::Arc;

use super::{cdk, resource::TemplateResource, scope::Scope};
use crate::{
    app_mesh::{Presence, Resource, ResourceKind},
    definition::Dialect,
    document::{Entry, Node, Value},
    source::SourceFile,
};

/// Before the kind, in the type of a resource.
const TYPES: &str = "AWS::AppMesh::";

/// Properties that are numbers. A template may have them as strings.
const NUMBERS: [&str; 7] =
    ["port", "weight", "priority", "healthyThreshold", "unhealthyThreshold", "intervalMillis", "timeoutMillis"];

/// The kind of a resource of this type.
pub(super) fn kind(type_name: &str) -> Option<ResourceKind> {
    let name = type_name.strip_prefix(TYPES)?;
    ResourceKind::ALL.into_iter().find(|kind| Dialect::CloudFormation.spell(kind.key()) == name)
}

/// Reads a resource of App Mesh; `None` if it is another resource.
pub(super) fn read(file: &Arc<SourceFile>, resource: &TemplateResource<'_>, scope: &Scope<'_, '_>) -> Option<Resource> {
    let kind = kind(resource.kind)?;
    let body = spelled_as_the_api(resource.resolved(scope), "");
    let presence = if resource.condition().is_some() { Presence::Conditional } else { Presence::Declared };
    let mut read = Resource::new(file.clone(), kind, body, resource.id_span, presence);
    resource.id.clone_into(&mut read.address);
    read.construct = cdk::construct(resource.node);
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

fn spelled_entry(Entry { key, key_span, node }: Entry) -> Entry {
    let mut chars = key.chars();
    let key: String = chars.next().map(|first| first.to_lowercase().chain(chars).collect()).unwrap_or_default();
    let node = spelled_as_the_api(node, &key);
    Entry { key, key_span, node }
}
