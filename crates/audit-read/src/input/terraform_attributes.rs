//! The provider's attributes, spelled as ECS's API spells them. Source:
//! <https://registry.terraform.io/providers/hashicorp/aws/latest/docs/resources/ecs_task_definition>

use document::{Entry, HOLE, Node, Place, Value};

/// Attributes that have the same form in both, with ECS's names.
const SAME_FORM: [(&str, &str); 9] = [
    ("family", "family"),
    ("cpu", "cpu"),
    ("memory", "memory"),
    ("pid_mode", "pidMode"),
    ("ipc_mode", "ipcMode"),
    ("network_mode", "networkMode"),
    ("requires_compatibilities", "requiresCompatibilities"),
    ("task_role_arn", "taskRoleArn"),
    ("execution_role_arn", "executionRoleArn"),
];

const SAME_FORM_OF_SERVICE: [(&str, &str); 7] = [
    ("cluster", "cluster"),
    ("name", "serviceName"),
    ("propagate_tags", "propagateTags"),
    ("launch_type", "launchType"),
    ("scheduling_strategy", "schedulingStrategy"),
    ("iam_role", "role"),
    ("platform_version", "platformVersion"),
];

/// The attribute of a service that is true or false.
const EXECUTE_COMMAND: &str = "enable_execute_command";

/// A task definition. `is_set` returns whether the source sets an attribute; `None` if the plan does not show it.
pub(super) fn definition_node(
    values: &Node,
    place: &Place,
    containers: Node,
    is_set: &dyn Fn(&str) -> Option<bool>,
) -> Node {
    let mut entries = renamed(values, &SAME_FORM);
    // If it is not set, the provider reports it as known after apply, and ECS sets it to bridge.
    if is_set("network_mode") == Some(false) {
        entries.retain(|entry| entry.key != "networkMode" || !matches!(entry.node.value, Value::Unknown));
    }
    // A module may leave the size to its callers.
    for entry in entries.iter_mut().filter(|entry| matches!(entry.key.as_str(), "cpu" | "memory")) {
        if matches!(entry.node.value, Value::Null) && is_set(&entry.key) == Some(true) {
            entry.node.value = Value::Unknown;
        }
    }
    entries.push(entry("containerDefinitions", containers));
    entries.extend(volumes(values).map(|node| entry("volumes", node)));
    entries.extend(proxy(values).map(|node| entry("proxyConfiguration", node)));
    let platform = single_block(values, "runtime_platform", |block| {
        renamed(block, &[("operating_system_family", "operatingSystemFamily"), ("cpu_architecture", "cpuArchitecture")])
    });
    entries.extend(platform.map(|node| entry("runtimePlatform", node)));
    entries.extend(tags(values).map(|node| entry("tags", node)));
    Node { value: Value::Map(entries), place: place.clone() }
}

pub(super) fn service_node(values: &Node, place: &Place) -> Node {
    let mut entries = renamed(values, &SAME_FORM_OF_SERVICE);
    let execute_command = values.get(EXECUTE_COMMAND).map(bool_of);
    entries.extend(execute_command.map(|node| entry("enableExecuteCommand", node)));
    let nested = |own, names| nested_blocks(values, own, names);
    let strategy = nested("capacity_provider_strategy", &[("capacity_provider", "capacityProvider")]);
    let balancers = nested("load_balancer", &[("container_name", "containerName")]);
    let strategies = nested("ordered_placement_strategy", &[("type", "type"), ("field", "field")]);
    let constraints = nested("placement_constraints", &[("type", "type"), ("expression", "expression")]);
    let deployment = deployment(values, place);
    let network = single_block(values, "network_configuration", |block| {
        let subnets = block.get("subnets").map(|subnets| entry("subnets", subnets.clone()));
        let public_ip = block.get("assign_public_ip").map(|is_on| entry("assignPublicIp", switched(is_on)));
        let inside = Value::Map(subnets.into_iter().chain(public_ip).collect());
        vec![entry("awsvpcConfiguration", Node { value: inside, place: block.place.clone() })]
    });
    entries.extend(network.map(|node| entry("networkConfiguration", node)));
    let controller = single_block(values, "deployment_controller", |block| renamed(block, &[("type", "type")]));
    entries.extend(deployment.map(|node| entry("deploymentConfiguration", node)));
    entries.extend(controller.map(|node| entry("deploymentController", node)));
    entries.extend(strategy.map(|node| entry("capacityProviderStrategy", node)));
    entries.extend(balancers.map(|node| entry("loadBalancers", node)));
    entries.extend(strategies.map(|node| entry("placementStrategy", node)));
    entries.extend(constraints.map(|node| entry("placementConstraints", node)));
    entries.extend(tags(values).map(|node| entry("tags", node)));
    Node { value: Value::Map(entries), place: place.clone() }
}

pub(super) fn role_node(values: &Node, place: &Place) -> Node {
    let names = renamed(values, &[("name", "roleName"), ("path", "path")]).into_iter();
    let entries = names.chain(tags(values).map(|node| entry("tags", node))).collect();
    Node { value: Value::Map(entries), place: place.clone() }
}

fn nested_blocks(values: &Node, own: &str, names: &[(&str, &str)]) -> Option<Node> {
    let mut blocks = values.get(own)?.clone();
    if let Value::List(items) = &mut blocks.value {
        for item in items.iter_mut().filter(|item| !item.is_unknown()) {
            let port = item.get("container_port").map(|port| entry("containerPort", number_of(port)));
            item.value = Value::Map(renamed(item, names).into_iter().chain(port).collect());
        }
    }
    Some(blocks)
}

/// Attributes with ECS's names. The provider writes an empty string if an attribute is not set. A null stays, because
/// its place is where a value would be.
fn renamed(values: &Node, names: &[(&str, &str)]) -> Vec<Entry> {
    let value = |own| values.entries().iter().find(|entry| entry.key == own).map(|entry| string_of(&entry.node));
    let renamed = names.iter().filter_map(|(own, ecs)| Some(entry(ecs, value(*own)?)));
    renamed.filter(|entry| entry.node.text() != Some("")).collect()
}

/// Nested blocks are lists of at most one item.
fn volumes(values: &Node) -> Option<Node> {
    let mut volumes = values.entries().iter().find(|entry| entry.key == "volume")?.node.clone();
    if let Value::List(items) = &mut volumes.value {
        for item in items.iter_mut().filter(|item| !item.is_unknown()) {
            let part = |own: &str, ecs: &str, names: &[(&str, &str)]| {
                let block = item.get(own)?;
                // Terraform's JSON may have the map alone.
                let map = if block.entries().is_empty() { block.items().first() } else { Some(block) };
                let value = match map {
                    Some(map) if !map.is_unknown() => Value::Map(renamed(map, names)),
                    None if !block.is_unknown() => return None,
                    Some(_) | None => Value::Unknown,
                };
                Some(entry(ecs, Node { value, place: block.place.clone() }))
            };
            let parts = [
                part(
                    "efs_volume_configuration",
                    "efsVolumeConfiguration",
                    &[("file_system_id", "fileSystemId"), ("transit_encryption", "transitEncryption")],
                ),
                part("docker_volume_configuration", "dockerVolumeConfiguration", &[("scope", "scope")]),
            ];
            let path = renamed(item, &[("host_path", "sourcePath")]);
            let host = (!path.is_empty()).then(|| Node { value: Value::Map(path), place: item.place.clone() });
            let mut entries = renamed(item, &[("name", "name")]);
            entries.extend(parts.into_iter().flatten());
            entries.extend(host.map(|node| entry("host", node)));
            item.value = Value::Map(entries);
        }
    }
    Some(volumes)
}

fn proxy(values: &Node) -> Option<Node> {
    single_block(values, "proxy_configuration", |block| {
        let mut entries = renamed(block, &[("type", "type"), ("container_name", "containerName")]);
        entries.extend(block.get("properties").map(|map| entry("properties", listed(map, "name"))));
        entries
    })
}

/// A nested block is a list of at most one item.
fn single_block(values: &Node, name: &str, read: impl Fn(&Node) -> Vec<Entry>) -> Option<Node> {
    let block = values.get(name)?;
    let block = if block.is_unknown() { block } else { block.items().first()? };
    if block.is_unknown() {
        return Some(block.clone());
    }
    Some(Node { value: Value::Map(read(block)), place: block.place.clone() })
}

/// `tags_all` also contains the provider's default tags. Before the first apply, all of it may be unknown.
fn tags(values: &Node) -> Option<Node> {
    let (own, all) = (values.get("tags"), values.get("tags_all"));
    match (own, all) {
        (Some(own), Some(all)) if matches!(all.value, Value::Unknown) => {
            let mut list = listed(own, "key");
            if let Value::List(items) = &mut list.value {
                items.push(all.clone());
            }
            Some(list)
        }
        (own, all) => all.or(own).map(|map| listed(map, "key")),
    }
}

/// A value where the provider has a string: Terraform converts numbers and booleans.
fn string_of(value: &Node) -> Node {
    let text = match &value.value {
        Value::Number(_) | Value::Bool(_) => value.as_text().map_or(Value::Unknown, Value::Text),
        other => other.clone(),
    };
    Node { value: text, place: value.place.clone() }
}

/// A value where the provider has a number: Terraform converts strings.
fn number_of(value: &Node) -> Node {
    match value.text().filter(|text| text.bytes().all(|byte| byte.is_ascii_digit())) {
        Some(digits) => Node { value: Value::Number(digits.to_owned()), place: value.place.clone() },
        None => value.clone(),
    }
}

/// The configuration of deployments: the strategy is in a block, the percentages are arguments of the service.
fn deployment(values: &Node, place: &Place) -> Option<Node> {
    let block = single_block(values, "deployment_configuration", |block| renamed(block, &[("strategy", "strategy")]));
    let percentages = [
        ("deployment_minimum_healthy_percent", "minimumHealthyPercent"),
        ("deployment_maximum_percent", "maximumPercent"),
    ];
    let percentages: Vec<Entry> =
        percentages.into_iter().filter_map(|(own, ecs)| Some(entry(ecs, number_of(values.get(own)?)))).collect();
    match block {
        Some(mut block) => {
            if let Value::Map(entries) = &mut block.value {
                entries.extend(percentages);
            }
            Some(block)
        }
        None => (!percentages.is_empty()).then(|| Node { value: Value::Map(percentages), place: place.clone() }),
    }
}

/// `ENABLED` or `DISABLED`, where the provider has true or false.
fn switched(is_on: &Node) -> Node {
    let value = match bool_of(is_on).value {
        Value::Bool(is_on) => Value::Text(if is_on { "ENABLED" } else { "DISABLED" }.to_owned()),
        _ => Value::Unknown,
    };
    Node { value, place: is_on.place.clone() }
}

/// A value where the provider has true or false: Terraform converts strings.
fn bool_of(value: &Node) -> Node {
    let value_of = |text: &str| text.parse().map_or(Value::Unknown, Value::Bool);
    Node { value: value.text().map_or_else(|| value.value.clone(), value_of), place: value.place.clone() }
}

/// A map of strings as a list of names and values, as in ECS's API. Edits do not reach it, because the source has a map.
fn listed(map: &Node, name_key: &str) -> Node {
    let place = Place::fixed(map.place.span);
    let Value::Map(entries) = &map.value else { return Node { value: map.value.clone(), place } };
    let items = entries.iter().map(|Entry { key, key_span, node, .. }| {
        let name = Node { value: Value::Text(key.clone()), place: Place::fixed(*key_span) };
        // A key that is not known stands for any number of entries.
        if key.contains(HOLE) {
            return Node { value: Value::Unknown, place: Place::fixed(*key_span) };
        }
        let pair = Value::Map(vec![entry(name_key, name), entry("value", string_of(node))]);
        Node { value: pair, place: Place::fixed(*key_span) }
    });
    Node { value: Value::List(items.collect()), place }
}

fn entry(key: &str, node: Node) -> Entry {
    Entry::new(key, node.place.span, node)
}
