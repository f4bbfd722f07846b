//! Exports of App Mesh as Terraform plans.

use serde_json::{Map, Value, json};

/// Keys of the API whose blocks may be repeated, and the blocks.
const REPEATED: [(&str, &str); 4] =
    [("listeners", "listener"), ("backends", "backend"), ("weightedTargets", "weighted_target"), ("headers", "header")];

/// A plan that creates the resources of a list.
pub(crate) fn plan(exports: &Value) -> Value {
    let exports = exports.as_array().unwrap().iter().flat_map(|export| export.as_object().unwrap());
    let resources = exports.filter(|(kind, _)| *kind != "idle").enumerate().map(|(index, (kind, body))| {
        let own_name = format!("{kind}Name");
        let of_values = |(key, value): (&String, &Value)| match key.as_str() {
            key if *key == own_name => Some(("name".to_owned(), value.clone())),
            "spec" => Some(("spec".to_owned(), block(value))),
            key if key.ends_with("Name") => Some((snake_case(key), value.clone())),
            _ => None,
        };
        let values: Map<String, Value> = body.as_object().unwrap().iter().filter_map(of_values).collect();
        let kind = format!("aws_appmesh_{}", snake_case(kind));
        json!({ "address": format!("{kind}.r{index}"), "mode": "managed", "type": kind, "values": values })
    });
    json!({
        "format_version": "1.2",
        "terraform_version": "1.9.8",
        "planned_values": { "root_module": { "resources": resources.collect::<Vec<_>>() } },
    })
}

/// A map is a block, which a plan has as a list.
fn block(value: &Value) -> Value {
    match value {
        Value::Object(map) => json!([map.iter().map(|(key, value)| attribute(key, value)).collect::<Map<_, _>>()]),
        scalar => scalar.clone(),
    }
}

fn attribute(key: &str, value: &Value) -> (String, Value) {
    match REPEATED.iter().find(|(list, _)| *list == key) {
        Some((_, name)) => {
            let blocks = value.as_array().unwrap().iter().map(|item| block(item)[0].clone());
            ((*name).to_owned(), blocks.collect())
        }
        None => (snake_case(key), block(value)),
    }
}

fn snake_case(key: &str) -> String {
    let separated =
        key.chars().map(|c| if c.is_uppercase() { format!("_{}", c.to_lowercase()) } else { c.to_string() });
    separated.collect()
}
