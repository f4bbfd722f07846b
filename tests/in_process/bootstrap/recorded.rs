//! The bootstrap beside what the controller of consul-ecs 0.10.0 writes to an empty Consul.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::bootstrap::{bootstrap, errors, translated::TranslatedConsul, writes};

/// The requests of `consul-ecs controller` 0.10.0 and the answers of Consul 1.21, with masked IDs and times.
const RECORDED: &str = include_str!("../../recordings/controller-0.10.0.json");

/// Fields that Consul sets, and texts for people.
const NOT_COMPARED: [&str; 7] = ["CreateIndex", "ModifyIndex", "Hash", "ID", "CreateTime", "SecretID", "Description"];

/// The object without fields that are empty or not compared, with sorted fields, and with single blanks in its rules.
fn essence(body: &Value) -> Value {
    let is_empty = |value: &Value| match value {
        Value::Null | Value::Bool(false) => true,
        Value::Number(number) => number.as_u64() == Some(0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(true) => false,
    };
    match body {
        Value::Object(fields) => {
            let kept = fields.iter().filter(|(key, _)| !NOT_COMPARED.contains(&key.as_str()));
            let kept = kept.map(|(key, value)| (key.clone(), essence(value))).filter(|(_, value)| !is_empty(value));
            let sorted: BTreeMap<String, Value> = kept.collect();
            Value::Object(sorted.into_iter().collect())
        }
        Value::Array(items) => items.iter().map(essence).collect(),
        Value::String(text) => Value::String(text.split_whitespace().collect::<Vec<_>>().join(" ")),
        other => other.clone(),
    }
}

fn objects(writes: impl Iterator<Item = (String, Value)>) -> Vec<String> {
    let mut objects: Vec<String> = writes.map(|(line, body)| format!("{line} {}", essence(&body))).collect();
    objects.sort();
    objects
}

#[tokio::test]
async fn bootstrap_writes_what_the_controller_of_consul_ecs_writes() {
    let recorded: Value = serde_json::from_str(RECORDED).unwrap();
    let of_consul_ecs = recorded["requests"].as_array().unwrap().iter().filter(|request| request["method"] == "PUT");
    let of_consul_ecs =
        of_consul_ecs.map(|request| (format!("PUT {}", request["path"].as_str().unwrap()), request["body"].clone()));
    let consul = TranslatedConsul::start().await;
    let cluster = recorded["cluster"].as_str().unwrap();
    let path = recorded["iamRolePath"].as_str().unwrap();
    let settings = [("ECS_CLUSTER_ARNS", cluster), ("IAM_ROLE_PATH", path), ("BOOTSTRAP", ""), ("TOKEN_MODE", "")];
    let report = bootstrap(&consul.controller(&settings).await).await;
    assert_eq!(errors(&report), [""; 0]);
    let own: Vec<(String, Value)> = writes(&consul.recorder);
    assert_eq!(objects(own.into_iter()), objects(of_consul_ecs));
}
