//! Random definitions: the auditor does not fail, findings point into the file, and messages contain no secrets.

use std::{collections::HashMap, sync::Arc};

use audit::{audit, finding::Finding};
use audit_read::{Material, input::read_source};
use document::SourceFile;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::{example::Base, template::yaml_template};

/// The value of every variable with the name of a secret.
const CANARY: &str = "cAnArY-7f3a";

const SECRET_NAMES: [&str; 8] = [
    "CONSUL_HTTP_TOKEN",
    "CONSUL_GOSSIP_ENCRYPTION_KEY",
    "AGENT_TOKEN",
    "DB_PASSWORD",
    "API_KEY",
    "AWS_SECRET_ACCESS_KEY",
    "SECRET",
    "CONSUL_TOKEN",
];

/// A random change of a definition.
#[derive(Debug, Clone)]
enum RandomChange {
    /// Replaces a value by another one, of any type.
    Replace(usize, Value),
    /// Removes a value.
    Remove(usize),
    /// Replaces a value by that of another place.
    Copy(usize, usize),
    /// Replaces the configuration.
    Configure(Value),
    /// Adds a variable with a secret to a container.
    AddSecret(usize, usize),
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "\\PC{0,12}".prop_map(Value::from),
        prop::sample::select(vec![
            "true",
            "FARGATE",
            "HEALTHY",
            "consul-dataplane",
            "consul-ecs-mesh-init",
            "{}",
            "",
            "0"
        ])
        .prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::hash_map("[a-zA-Z]{1,8}|name|key|value|proxy|service|gateway", inner, 0..4)
                .prop_map(|map: HashMap<String, Value>| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn any_change() -> impl Strategy<Value = RandomChange> {
    prop_oneof![
        4 => (any::<usize>(), any_value()).prop_map(|(at, value)| RandomChange::Replace(at, value)),
        2 => any::<usize>().prop_map(RandomChange::Remove),
        3 => (any::<usize>(), any::<usize>()).prop_map(|(from, to)| RandomChange::Copy(from, to)),
        1 => any_value().prop_map(RandomChange::Configure),
        2 => (any::<usize>(), 0..SECRET_NAMES.len()).prop_map(|(at, name)| RandomChange::AddSecret(at, name)),
    ]
}

/// The JSON pointers to all values, outer values first.
fn pointers(value: &Value, here: &str, out: &mut Vec<String>) {
    let mut inside = |key: &str, value: &Value| {
        let path = format!("{here}/{}", key.replace('~', "~0").replace('/', "~1"));
        out.push(path.clone());
        pointers(value, &path, out);
    };
    match value {
        Value::Object(map) => map.iter().for_each(|(key, value)| inside(key, value)),
        Value::Array(items) => items.iter().enumerate().for_each(|(index, value)| inside(&index.to_string(), value)),
        _ => {}
    }
}

fn pick(definition: &Value, index: usize) -> Option<String> {
    let mut all = Vec::new();
    pointers(definition, "", &mut all);
    let index = index.checked_rem(all.len())?;
    Some(all.swap_remove(index))
}

fn change(definition: &mut Value, change: &RandomChange) -> Option<()> {
    match change {
        RandomChange::Replace(at, value) => *definition.pointer_mut(&pick(definition, *at)?)? = value.clone(),
        RandomChange::Remove(at) => {
            let path = pick(definition, *at)?;
            let (outer, key) = path.rsplit_once('/')?;
            match definition.pointer_mut(outer)? {
                Value::Object(map) => drop(map.remove(key)),
                Value::Array(items) => drop(items.remove(key.parse().ok()?)),
                _ => {}
            }
        }
        RandomChange::Copy(from, to) => {
            let value = definition.pointer(&pick(definition, *from)?)?.clone();
            // Prevents exponential growth.
            if value.to_string().len() < 5_000 {
                *definition.pointer_mut(&pick(definition, *to)?)? = value;
            }
        }
        RandomChange::Configure(value) => {
            let variable = json!({ "name": "CONSUL_ECS_CONFIG_JSON", "value": value.to_string() });
            for container in definition.get_mut("containerDefinitions")?.as_array_mut()? {
                if container.get("environment").is_some() {
                    container["environment"] = json!([variable]);
                }
            }
        }
        RandomChange::AddSecret(at, name) => {
            let containers = definition.get_mut("containerDefinitions")?.as_array_mut()?;
            let index = at.checked_rem(containers.len())?;
            let container = containers.get_mut(index)?.as_object_mut()?;
            let variables = container.entry("environment").or_insert_with(|| json!([])).as_array_mut()?;
            variables.push(json!({ "name": SECRET_NAMES[*name], "value": CANARY }));
        }
    }
    Some(())
}

/// Reads and checks a text. The error of an unreadable text must be one line without secrets.
fn check(name: &str, text: String) -> Result<Vec<Finding>, String> {
    let mut material = Material::default();
    match read_source(Arc::new(SourceFile::new(name, text)), true, &mut material) {
        Err(problem) if problem.to_string().lines().count() != 1 => Err(problem.to_string()),
        Err(problem) if problem.to_string().contains(CANARY) => Err(problem.to_string()),
        Ok(()) | Err(_) => Ok(audit(&material)),
    }
}

fn contains_text(finding: &Finding, what: &str) -> bool {
    let notes = finding.notes.iter().map(|note| &note.text);
    [&finding.message, &finding.help, &finding.subject].into_iter().chain(notes).any(|text| text.contains(what))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

    #[test]
    fn findings_point_into_the_file_without_secrets(
        base in prop::sample::select(Base::ALL.to_vec()),
        changes in prop::collection::vec(any_change(), 1..6),
        in_yaml in any::<bool>(),
    ) {
        let mut definition: Value = serde_json::from_str(base.json()).unwrap();
        // Secrets are added last: if one is copied into a name, it is not secret any more.
        let (secrets, others): (Vec<_>, Vec<_>) = changes.iter().partition(|change| matches!(change, RandomChange::AddSecret(..)));
        for one in others.into_iter().chain(secrets) {
            change(&mut definition, one);
        }
        let is_template = in_yaml && definition.is_object();
        let findings = if is_template {
            check("template.yaml", yaml_template(&definition))
        } else {
            check("task.json", serde_json::to_string_pretty(&definition).unwrap())
        };
        for finding in findings.map_err(TestCaseError::fail)? {
            let spans = finding.notes.iter().map(|note| note.span).chain([finding.span]);
            for span in spans {
                prop_assert!(finding.file.text.get(span.start..span.end).is_some(), "{}: {span:?}", finding.rule.id);
            }
            prop_assert!(!contains_text(&finding, CANARY), "{}: {}", finding.rule.id, finding.message);
        }
    }
}
