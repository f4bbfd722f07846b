//! The resources of a plan or state.

use std::collections::BTreeMap;

use document::{Entry, Node, Place, Value};

/// A resource after the plan is applied.
pub(super) struct Planned<'n> {
    /// Its address: `module.web["a"].aws_ecs_service.this[0]`.
    pub(super) address: &'n str,
    /// The address of its module; `None` for the root module.
    pub(super) module: Option<&'n str>,
    /// Its type: `aws_ecs_service`.
    pub(super) kind: &'n str,
    /// Its attributes. No edit reaches them: the file is generated.
    pub(super) values: Node,
    /// The place of its address.
    pub(super) place: Place,
}

/// The type of roles.
pub(super) const ROLE: &str = "aws_iam_role";

/// The prefixes of the other types that are read.
const TYPES: [&str; 2] = ["aws_ecs_", "aws_appmesh_"];

/// All roles and resources of ECS and App Mesh, in the order of the file, without data sources.
pub(super) fn resources(shown: &Node) -> Vec<Planned<'_>> {
    let planned = shown.get("planned_values").or_else(|| shown.get("values"));
    let Some(root) = planned.and_then(|values| values.get("root_module")) else { return Vec::new() };
    let mut out = Vec::new();
    collect(root, &unknown_attributes(shown), &mut out);
    out
}

fn collect<'n>(module: &'n Node, unknown: &BTreeMap<&str, &Node>, out: &mut Vec<Planned<'n>>) {
    let own = module.get("address").and_then(Node::text);
    for resource in module.items_of("resources") {
        let text = |key: &str| resource.get(key).and_then(Node::text);
        let (Some(address), Some(kind), Some(values)) = (text("address"), text("type"), resource.get("values")) else {
            continue;
        };
        let is_read = kind == ROLE || TYPES.iter().any(|prefix| kind.starts_with(prefix));
        if text("mode") == Some("data") || !is_read {
            continue;
        }
        let place = resource.get("address").map(|node| Place::fixed(node.place.span)).unwrap_or_default();
        out.push(Planned {
            address,
            module: own,
            kind,
            values: overlaid(values, unknown.get(address).copied()),
            place,
        });
    }
    for child in module.items_of("child_modules") {
        collect(child, unknown, out);
    }
}

/// The attributes that are known only after the plan is applied, by address.
fn unknown_attributes(shown: &Node) -> BTreeMap<&str, &Node> {
    let changes = shown.items_of("resource_changes");
    // A replaced object that is still to be destroyed has the same address.
    let current = changes.iter().filter(|change| change.get("deposed").is_none());
    current
        .filter_map(|change| Some((change.get("address")?.text()?, change.get("change")?.get("after_unknown")?)))
        .collect()
}

/// The value without routes for edits. Parts that are `true` in `unknown` become unknown.
fn overlaid(value: &Node, unknown: Option<&Node>) -> Node {
    let place = Place::fixed(value.place.span);
    if let Some(Node { value: Value::Bool(true), .. }) = unknown {
        return Node { value: Value::Unknown, place };
    }
    let value = match &value.value {
        Value::Map(entries) => Value::Map(overlaid_map(entries, unknown, &place)),
        Value::List(items) => {
            let unknown = unknown.map(Node::items).unwrap_or_default();
            Value::List(items.iter().enumerate().map(|(index, item)| overlaid(item, unknown.get(index))).collect())
        }
        other => other.clone(),
    };
    Node { value, place }
}

fn overlaid_map(entries: &[Entry], unknown: Option<&Node>, owner: &Place) -> Vec<Entry> {
    let known = entries.iter().map(|entry| {
        let node = overlaid(&entry.node, unknown.and_then(|unknown| unknown.get(&entry.key)));
        Entry::new(&*entry.key, entry.key_span, node)
    });
    let mut all: Vec<Entry> = known.collect();
    let added = unknown
        .map(Node::entries)
        .unwrap_or_default()
        .iter()
        .filter(|added| is_unknown_somewhere(&added.node) && entries.iter().all(|entry| entry.key != added.key));
    all.extend(
        added.map(|added| Entry::new(&*added.key, owner.span, Node { value: Value::Unknown, place: owner.clone() })),
    );
    all
}

fn is_unknown_somewhere(marks: &Node) -> bool {
    match &marks.value {
        Value::Bool(is_unknown) => *is_unknown,
        Value::List(items) => items.iter().any(is_unknown_somewhere),
        Value::Map(entries) => entries.iter().any(|entry| is_unknown_somewhere(&entry.node)),
        _ => false,
    }
}
