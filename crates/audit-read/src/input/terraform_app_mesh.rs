//! Resources of App Mesh as Terraform's provider spells them, in sources, plans and states. Source:
//! <https://registry.terraform.io/providers/hashicorp/aws/latest/docs/resources/appmesh_virtual_node>

use std::sync::Arc;

use crate::app_mesh::{Presence, Resource, ResourceKind};
use document::{Entry, Node, Place, SourceFile, Span, Value};

/// Before the kind, in the type of a resource.
const TYPES: &str = "aws_appmesh_";

/// Blocks that may be repeated, and the lists of the API that they are.
const REPEATED: [(&str, &str); 5] = [
    ("listener", "listeners"),
    ("backend", "backends"),
    ("weighted_target", "weightedTargets"),
    ("header", "headers"),
    ("metadata", "metadata"),
];

/// Reads a resource of App Mesh of this type with its attributes; `None` if it is another resource.
pub(super) fn read(file: &Arc<SourceFile>, kind: &str, address: &str, values: &Node, span: Span) -> Option<Resource> {
    let name = camel_case(kind.strip_prefix(TYPES)?);
    let kind = ResourceKind::ALL.into_iter().find(|kind| kind.key() == name)?;
    let mut body = spelled_as_the_api(values);
    if let Value::Map(entries) = &mut body.value {
        let own_name = entries.iter_mut().filter(|entry| entry.key == "name");
        own_name.for_each(|entry| kind.name_key().clone_into(&mut entry.key));
    }
    let mut read = Resource::new(file.clone(), kind, body, span, Presence::Declared);
    address.clone_into(&mut read.address);
    Some(read)
}

/// A value with the keys of the API, without attributes that are not set.
fn spelled_as_the_api(node: &Node) -> Node {
    let value = match &node.value {
        Value::Map(entries) => Value::Map(entries.iter().filter_map(spelled_entry).collect()),
        other => other.clone(),
    };
    Node { value, place: Place::fixed(node.place.span) }
}

fn spelled_entry(Entry { key, key_span, node, .. }: &Entry) -> Option<Entry> {
    if let Some((_, list)) = REPEATED.iter().find(|(block, _)| block == key) {
        let value = match &node.value {
            Value::List(blocks) => Value::List(blocks.iter().map(spelled_as_the_api).collect()),
            other => other.clone(),
        };
        let node = Node { value, place: Place::fixed(node.place.span) };
        return Some(Entry::new(*list, *key_span, node));
    }
    let node = match &node.value {
        // A block that may not be repeated is a list of at most one item.
        Value::List(blocks) => spelled_as_the_api(blocks.first()?),
        Value::Text(text) if text.is_empty() => return None,
        // The provider's state has 0 for numbers that are not set. The weight of a target is always set.
        Value::Number(number) if number == "0" && key != "weight" => return None,
        _ => spelled_as_the_api(node),
    };
    Some(Entry::new(camel_case(key), *key_span, node))
}

/// `virtual_node_name` is `virtualNodeName`.
fn camel_case(key: &str) -> String {
    let mut words = key.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |camel, word| {
        let mut letters = word.chars();
        camel.chars().chain(letters.next().into_iter().flat_map(char::to_uppercase)).chain(letters).collect()
    })
}
