//! Resources of App Mesh as Terraform's provider spells them, in sources, plans and states. Source:
//! <https://registry.terraform.io/providers/hashicorp/aws/latest/docs/resources/appmesh_virtual_node>

use std::sync::Arc;

use crate::{
    app_mesh::{Presence, Resource, ResourceKind},
    definition::{
        Dialect,
        api::{Accepts, Departure, Fault, Key, Shape, departures_from},
    },
};
use document::{Entry, Node, Place, SourceFile, Span, Value};

/// The spelling of its arguments.
const DIALECT: Dialect = Dialect::TerraformAppMesh;

/// Before the kind, in the type of a resource.
const TYPES: &str = "aws_appmesh_";

/// The maps that Terraform's provider sends empty if the file does not have them, each with the map that it is in. Source:
/// <https://github.com/hashicorp/terraform-provider-aws/blob/main/internal/service/appmesh/flex.go>
const SENT: [(&str, &str); 1] = [("grpcRoute", "match")];

/// The attributes that only the provider has. None of them is a secret, and messages may have the same names.
const COMPUTED: [&str; 7] = ["arn", "created_date", "id", "last_updated_date", "region", "resource_owner", "tags_all"];

/// Reads a resource of App Mesh of this type with its attributes; `None` if it is another resource. A plan or state has values
/// also for what is not set.
pub(super) fn read(
    file: &Arc<SourceFile>,
    kind: &str,
    address: &str,
    values: &Node,
    span: Span,
    has_all: bool,
) -> Option<Resource> {
    let name = camel_case(kind.strip_prefix(TYPES)?);
    let kind = ResourceKind::ALL.into_iter().find(|kind| kind.key() == name)?;
    let mut body = spelled_as_the_api(values, kind.shape(), has_all);
    if let Value::Map(entries) = &mut body.value {
        let own_name = entries.iter_mut().filter(|entry| entry.key == "name");
        own_name.for_each(|entry| kind.name_key().clone_into(&mut entry.key));
    }
    let (departures, mut unread) = departures_from(&body, kind.shape(), Dialect::Ecs, true);
    let computed: Vec<Span> = COMPUTED.iter().filter_map(|key| Some(body.get(key)?.place.span)).collect();
    unread.retain(|value| !computed.contains(&value.span));
    let departures = departures.into_iter().map(|departure| spelled_departure(departure, kind)).collect();
    let read = Resource::new(file.clone(), kind, body, span, Presence::Declared);
    Some(Resource { dialect: DIALECT, departures, unread, address: address.to_owned(), ..read })
}

/// A departure with the names of the file: `spec.listener[0].port_mapping`.
fn spelled_departure(mut departure: Departure, kind: ResourceKind) -> Departure {
    let is_of_resource = std::ptr::eq(departure.shape, kind.shape());
    let is_own_name = is_of_resource && departure.key.is_some_and(|key| key.name == kind.name_key());
    departure.path = if is_own_name { "name".to_owned() } else { spelled_path(&departure.path, kind.shape()) };
    if let Fault::SeveralOf(keys) = &mut departure.fault {
        for key in keys.iter_mut() {
            *key = DIALECT.spell(key);
        }
    }
    departure
}

fn spelled_path(path: &str, shape: &'static Shape) -> String {
    let mut shape = Some(shape);
    let spelled = path.split('.').map(|step| {
        let (name, index) = step.split_at(step.find('[').unwrap_or(step.len()));
        let Some(own) = shape.and_then(|shape| shape.keys.iter().find(|own| own.name == name)) else {
            shape = None;
            return step.to_owned();
        };
        let accepts = if let Accepts::Counted(.., items) = &own.accepts { *items } else { &own.accepts };
        let (inner, is_repeated) = match accepts {
            Accepts::Map(inner) | Accepts::Union(inner) => (Some(*inner), false),
            Accepts::Maps(inner) => (Some(*inner), true),
            _ => (None, false),
        };
        shape = inner;
        // A block that may be repeated has the singular.
        let name = name.strip_suffix('s').filter(|_| is_repeated).unwrap_or(name);
        DIALECT.spell(name) + index
    });
    spelled.collect::<Vec<_>>().join(".")
}

/// A map with the keys of the API, without attributes that are not set. A key that the API does not have stays as it is.
fn spelled_as_the_api(node: &Node, shape: &Shape, has_all: bool) -> Node {
    let value = match &node.value {
        Value::Map(entries) => {
            let mut spelled: Vec<Entry> =
                entries.iter().filter_map(|entry| spelled_entry(entry, shape, has_all)).collect();
            let sent = SENT.iter().filter(|(map, _)| *map == shape.name).map(|(_, key)| *key);
            let unset: Vec<&str> = sent.filter(|key| spelled.iter().all(|entry| entry.key != *key)).collect();
            spelled.extend(unset.into_iter().map(|key| empty_map(key, node.place.span)));
            Value::Map(spelled)
        }
        other => other.clone(),
    };
    Node { value, place: Place::fixed(node.place.span) }
}

fn empty_map(key: &str, span: Span) -> Entry {
    Entry::new(key, span, Node { value: Value::Map(Vec::new()), place: Place::fixed(span) })
}

fn spelled_entry(Entry { key, key_span, node, .. }: &Entry, shape: &Shape, has_all: bool) -> Option<Entry> {
    let name = camel_case(key);
    // A block that may be repeated has the singular.
    let is_it = |own: &&Key| own.name.strip_prefix(&name).is_some_and(|rest| matches!(rest, "" | "s"));
    let Some(own) = shape.keys.iter().find(is_it) else {
        return Some(Entry::new(key.as_str(), *key_span, node.clone()));
    };
    let value = spelled_value(node, &own.accepts, has_all)?;
    let is_unset = match &value.value {
        Value::Text(text) => text.is_empty(),
        Value::Number(number) => number == "0" && has_all && !own.is_required,
        Value::List(items) => items.is_empty() && !own.is_required,
        _ => false,
    };
    (!is_unset).then(|| Entry::new(own.name, *key_span, value))
}

/// `None` for a block that is not there.
fn spelled_value(node: &Node, accepts: &Accepts, has_all: bool) -> Option<Node> {
    let place = || Place::fixed(node.place.span);
    match (accepts, &node.value) {
        // A block that may not be repeated is a list of at most one item.
        (Accepts::Map(shape) | Accepts::Union(shape), Value::List(blocks)) => {
            Some(spelled_as_the_api(blocks.first()?, shape, has_all))
        }
        (Accepts::Map(shape) | Accepts::Union(shape), _) => Some(spelled_as_the_api(node, shape, has_all)),
        (Accepts::Counted(.., items), _) => spelled_value(node, items, has_all),
        (Accepts::Maps(shape), Value::List(blocks)) => {
            let blocks = blocks.iter().map(|block| spelled_as_the_api(block, shape, has_all));
            Some(Node { value: Value::List(blocks.collect()), place: place() })
        }
        // A map of names and values, which the API has as a list.
        (Accepts::Maps(_), Value::Map(_)) => Some(Node { value: Value::Unknown, place: place() }),
        // Terraform converts strings.
        (Accepts::Whole(..), Value::Text(text)) if text.parse::<i64>().is_ok() => {
            Some(Node { value: Value::Number(text.clone()), place: place() })
        }
        _ => Some(Node { value: node.value.clone(), place: place() }),
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::api::{ROUTE, VIRTUAL_NODE};

    #[test]
    fn paths_have_the_names_of_the_file() {
        for (shape, path, expected) in [
            (&VIRTUAL_NODE, "spec.listeners[1].tls.certificate", "spec.listener[1].tls.certificate"),
            (
                &VIRTUAL_NODE,
                "spec.serviceDiscovery.awsCloudMap.serviceName",
                "spec.service_discovery.aws_cloud_map.service_name",
            ),
            (&ROUTE, "spec.httpRoute.action.weightedTargets", "spec.http_route.action.weighted_target"),
            // What the API does not have is as in the file.
            (&ROUTE, "spec.http_routes.action", "spec.http_routes.action"),
        ] {
            assert_eq!(spelled_path(path, shape), expected);
        }
    }
}
