//! Definitions as CloudFormation templates.

use serde_json::{Map, Value, json};

/// A template with one definition, and one parameter that is known only at deployment.
pub(crate) fn template(definition: &Value) -> Value {
    json!({
        "Parameters": { "Given": { "Type": "String" } },
        "Conditions": { "IsGiven": { "Fn::Equals": [{ "Ref": "Given" }, "yes"] } },
        "Resources": {
            "Task": { "Type": "AWS::ECS::TaskDefinition", "Properties": pascal_case(definition) },
        },
    })
}

/// The same template in YAML.
pub(crate) fn yaml_template(definition: &Value) -> String {
    yaml_serde::to_string(&template(definition)).unwrap()
}

/// Spells keys as CloudFormation does, except those of functions.
fn pascal_case(value: &Value) -> Value {
    match value {
        Value::Object(map) if is_function(map) => value.clone(),
        Value::Object(map) => map.iter().map(|(key, value)| (spelled(map, key), pascal_case(value))).collect(),
        Value::Array(items) => items.iter().map(pascal_case).collect(),
        _ => value.clone(),
    }
}

fn is_function(map: &Map<String, Value>) -> bool {
    map.keys().all(|key| key == "Ref" || key.starts_with("Fn::")) && map.len() == 1
}

fn spelled(map: &Map<String, Value>, key: &str) -> String {
    if key == "properties" && map.contains_key("containerName") {
        return "ProxyConfigurationProperties".to_owned();
    }
    let (first, rest) = key.split_at(1);
    first.to_uppercase() + rest
}
