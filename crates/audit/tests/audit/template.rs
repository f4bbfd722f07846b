//! Definitions and exports of App Mesh as CloudFormation templates.

use serde_json::{Map, Value, json};

/// A template with one definition, or with the resources of a list, and one parameter that is known only at deployment.
pub(crate) fn template(input: &Value) -> Value {
    let resources: Map<String, Value> = match input {
        Value::Array(items) => {
            items.iter().enumerate().map(|(index, item)| (format!("R{index}"), resource(item))).collect()
        }
        definition => Map::from_iter([("Task".to_owned(), resource(definition))]),
    };
    json!({
        "Parameters": { "Given": { "Type": "String" } },
        "Conditions": { "IsGiven": { "Fn::Equals": [{ "Ref": "Given" }, "yes"] } },
        "Resources": resources,
    })
}

/// A definition, or an export: `{"virtualNode": {…}}`.
fn resource(input: &Value) -> Value {
    let exported = input.as_object().filter(|_| input.get("containerDefinitions").is_none());
    match exported.and_then(|export| export.iter().find(|(key, _)| *key != "idle")) {
        Some((kind, body)) => json!({
            "Type": format!("AWS::AppMesh::{}", upper_first(kind)),
            "Properties": pascal_case(body),
        }),
        None => json!({ "Type": "AWS::ECS::TaskDefinition", "Properties": pascal_case(input) }),
    }
}

/// The same template in YAML.
pub(crate) fn yaml_template(definition: &Value) -> String {
    yaml_serde::to_string(&template(definition)).unwrap()
}

/// Spells keys as CloudFormation does, except those of functions.
fn pascal_case(value: &Value) -> Value {
    match value {
        Value::Object(map) if is_function(map) => value.clone(),
        Value::Object(map) => map
            .iter()
            // The options of a log driver have names of their own.
            .map(|(key, value)| (spelled(key), if key == "options" { value.clone() } else { pascal_case(value) }))
            .collect(),
        Value::Array(items) => items.iter().map(pascal_case).collect(),
        _ => value.clone(),
    }
}

fn is_function(map: &Map<String, Value>) -> bool {
    map.keys().all(|key| key == "Ref" || key.starts_with("Fn::")) && map.len() == 1
}

fn spelled(key: &str) -> String {
    match key {
        "properties" => "ProxyConfigurationProperties".to_owned(),
        "efsVolumeConfiguration" => "EFSVolumeConfiguration".to_owned(),
        "fileSystemId" => "FilesystemId".to_owned(),
        "awsCloudMap" => "AWSCloudMap".to_owned(),
        // Within a specification of App Mesh, these are abbreviations.
        "iam" | "acm" | "dns" | "grpc" | "http" | "http2" | "sds" | "tcp" | "tls" => key.to_uppercase(),
        _ => upper_first(key),
    }
}

fn upper_first(key: &str) -> String {
    let (first, rest) = key.split_at(1);
    first.to_uppercase() + rest
}
