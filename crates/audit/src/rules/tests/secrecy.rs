//! No finding says what may be a secret.

use serde_json::{Value, json};

use super::examples::findings;
use crate::example::Base;

const CANARY: &str = "e95b599e-166e-7d80-08ad-aee76e7ddf19";

/// What a list of words becomes with a token in it, in all of the ways in which people write one.
fn with_token(words: &Value) -> Vec<Value> {
    let mut longer = words.as_array().cloned().unwrap_or_default();
    longer.push(json!(format!("-token={CANARY}")));
    vec![
        Value::Array(longer),
        json!(["start", "-token", CANARY]),
        json!([format!("start -token {CANARY}")]),
        json!([format!("-token={CANARY}")]),
        json!(["/bin/sh", "-c", format!("export TOKEN={CANARY} && start")]),
        json!(["CMD-SHELL", format!("curl -H 'X-Consul-Token: {CANARY}' localhost")]),
    ]
}

/// Every definition that comes of putting a token into one container's words.
fn definitions(base: Base) -> Vec<Value> {
    let definition: Value = serde_json::from_str(base.json()).unwrap();
    let count = definition["containerDefinitions"].as_array().map_or(0, Vec::len);
    let mut all = Vec::new();
    for container in 0..count {
        for pointer in ["/entryPoint", "/command", "/healthCheck/command"] {
            let place = format!("/containerDefinitions/{container}{pointer}");
            for words in with_token(definition.pointer(&place).unwrap_or(&Value::Null)) {
                let mut changed = definition.clone();
                let (owner, key) = place.rsplit_once('/').unwrap();
                if let Some(owner) = changed.pointer_mut(owner) {
                    owner[key] = words;
                    all.push(changed);
                }
            }
        }
    }
    all
}

#[test]
fn what_follows_a_program_s_name_is_never_said() {
    for base in Base::ALL.into_iter().filter(|base| *base != Base::AppMeshResources) {
        for definition in definitions(base) {
            for finding in findings(base, &definition) {
                let notes = finding.notes.iter().map(|note| note.text.as_str());
                let said = notes.chain([finding.message.as_str(), finding.help.as_str()]);
                let told: Vec<&str> = said.filter(|text| text.contains(CANARY)).collect();
                assert_eq!(told, [""; 0], "{}", finding.rule.id);
            }
        }
    }
}
