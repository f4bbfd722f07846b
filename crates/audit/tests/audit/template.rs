//! Definitions and exports of App Mesh as CloudFormation templates.

use serde_json::{Map, Value, json};

/// A template with one definition, or with the resources of a list, and one parameter that is known only at deployment.
pub(crate) fn template(input: &Value) -> Value {
    let mut resources = Map::new();
    match input {
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                let id = export_id(item).filter(|id| !resources.contains_key(id));
                resources.insert(id.unwrap_or_else(|| format!("R{index}")), resource(item));
            }
        }
        definition => {
            resources.insert("Task".to_owned(), resource(definition));
        }
    }
    json!({
        "Parameters": { "Given": { "Type": "String" } },
        "Conditions": { "IsGiven": { "Fn::Equals": [{ "Ref": "Given" }, "yes"] } },
        "Resources": resources,
    })
}

/// `VirtualNodeOrders` for the export of the virtual node `orders`.
fn export_id(input: &Value) -> Option<String> {
    let (kind, body) = input.as_object().filter(|export| export.len() == 1)?.iter().next()?;
    let name = body.get(format!("{kind}Name"))?.as_str()?;
    let words = name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    Some(format!("{}{}", upper_first(kind), words.map(upper_first).collect::<String>()))
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
        "s3filesVolumeConfiguration" => "S3FilesVolumeConfiguration".to_owned(),
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
