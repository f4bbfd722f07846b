//! Definitions that nobody would write: the auditor answers all the same, points into the file, and tells no secret.

use std::{collections::HashMap, sync::Arc};

use audit::{Material, audit, example::Base, finding::Finding, input::read_source, source::SourceFile};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::template::yaml_template;

/// The value of every variable with a secret-looking name.
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

/// One random change.
#[derive(Debug, Clone)]
enum Change {
    /// A value becomes another one, of any type.
    Replace(usize, Value),
    /// A value goes.
    Remove(usize),
    /// A value becomes that of another place.
    Copy(usize, usize),
    /// The configuration becomes another one.
    Configure(Value),
    /// A container gets a variable with a secret.
    Tell(usize, usize),
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

fn any_change() -> impl Strategy<Value = Change> {
    prop_oneof![
        4 => (any::<usize>(), any_value()).prop_map(|(at, value)| Change::Replace(at, value)),
        2 => any::<usize>().prop_map(Change::Remove),
        3 => (any::<usize>(), any::<usize>()).prop_map(|(from, to)| Change::Copy(from, to)),
        1 => any_value().prop_map(Change::Configure),
        2 => (any::<usize>(), 0..SECRET_NAMES.len()).prop_map(|(at, name)| Change::Tell(at, name)),
    ]
}

/// All values, the outer ones first, as pointers.
fn pointers(value: &Value, here: &str, out: &mut Vec<String>) {
    let mut inside = |key: &str, value: &Value| {
        let way = format!("{here}/{}", key.replace('~', "~0").replace('/', "~1"));
        out.push(way.clone());
        pointers(value, &way, out);
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

fn change(definition: &mut Value, change: &Change) -> Option<()> {
    match change {
        Change::Replace(at, value) => *definition.pointer_mut(&pick(definition, *at)?)? = value.clone(),
        Change::Remove(at) => {
            let way = pick(definition, *at)?;
            let (outer, key) = way.rsplit_once('/')?;
            match definition.pointer_mut(outer)? {
                Value::Object(map) => drop(map.remove(key)),
                Value::Array(items) => drop(items.remove(key.parse().ok()?)),
                _ => {}
            }
        }
        Change::Copy(from, to) => {
            let value = definition.pointer(&pick(definition, *from)?)?.clone();
            // A tree does not fit into itself for ever.
            if value.to_string().len() < 5_000 {
                *definition.pointer_mut(&pick(definition, *to)?)? = value;
            }
        }
        Change::Configure(value) => {
            let variable = json!({ "name": "CONSUL_ECS_CONFIG_JSON", "value": value.to_string() });
            for container in definition.get_mut("containerDefinitions")?.as_array_mut()? {
                if container.get("environment").is_some() {
                    container["environment"] = json!([variable]);
                }
            }
        }
        Change::Tell(at, name) => {
            let containers = definition.get_mut("containerDefinitions")?.as_array_mut()?;
            let index = at.checked_rem(containers.len())?;
            let container = containers.get_mut(index)?.as_object_mut()?;
            let variables = container.entry("environment").or_insert_with(|| json!([])).as_array_mut()?;
            variables.push(json!({ "name": SECRET_NAMES[*name], "value": CANARY }));
        }
    }
    Some(())
}

/// Reads and checks a text. A text that cannot be read is one line to say why.
fn check(name: &str, text: String) -> Result<Vec<Finding>, String> {
    let mut material = Material::default();
    match read_source(Arc::new(SourceFile::new(name, text)), true, &mut material) {
        Err(problem) if problem.to_string().lines().count() != 1 => Err(problem.to_string()),
        Err(problem) if problem.to_string().contains(CANARY) => Err(problem.to_string()),
        Ok(()) | Err(_) => Ok(audit(&material)),
    }
}

fn says(finding: &Finding, what: &str) -> bool {
    let notes = finding.notes.iter().map(|note| &note.text);
    [&finding.message, &finding.help, &finding.subject].into_iter().chain(notes).any(|text| text.contains(what))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

    #[test]
    fn findings_point_into_the_file_and_tell_no_secret(
        base in prop::sample::select(Base::ALL.to_vec()),
        changes in prop::collection::vec(any_change(), 1..6),
        in_yaml in any::<bool>(),
    ) {
        let mut definition: Value = serde_json::from_str(base.json()).unwrap();
        // Secrets come last: what is copied from one into a name is none any more, and is shown.
        let (secrets, others): (Vec<_>, Vec<_>) = changes.iter().partition(|change| matches!(change, Change::Tell(..)));
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
            prop_assert!(!says(&finding, CANARY), "{}: {}", finding.rule.id, finding.message);
        }
    }
}
