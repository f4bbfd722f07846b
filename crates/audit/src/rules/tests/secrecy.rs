//! Findings contain no secrets.

use serde_json::{Value, json};

use super::{CANARY, examples::findings};
use crate::example::Base;

/// Commands with a token in all common forms, based on a command.
fn with_token(words: &Value) -> Vec<Value> {
    let mut longer = words.as_array().cloned().unwrap_or_default();
    longer.push(json!(format!("-token={CANARY}")));
    vec![
        Value::Array(longer),
        json!(["start", "-token", CANARY]),
        json!([format!("start -token {CANARY}")]),
        json!([format!("-token={CANARY}")]),
        json!([CANARY]),
        json!(["-token", CANARY]),
        json!([format!("consul login -token={CANARY}; consul agent")]),
        json!([format!("TOKEN={CANARY} mesh-init")]),
        json!(["curl", "-H", format!("X-Consul-Token: {CANARY}")]),
        json!(["/bin/sh", "-c", format!("export TOKEN={CANARY} && start")]),
        json!(["CMD-SHELL", format!("curl -H 'X-Consul-Token: {CANARY}' localhost")]),
    ]
}

/// All definitions with a token in the command of one container.
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
fn arguments_of_programs_are_not_reported() {
    for base in Base::ALL.into_iter().filter(|base| *base != Base::AppMeshResources) {
        for definition in definitions(base) {
            for finding in findings(base, &definition) {
                let notes = finding.notes.iter().map(|note| note.text.as_str());
                let texts = notes.chain([finding.message.as_str(), finding.help.as_str()]);
                let leaks: Vec<&str> = texts.filter(|text| text.contains(CANARY)).collect();
                assert_eq!(leaks, [""; 0], "{}", finding.rule.id);
            }
        }
    }
}
