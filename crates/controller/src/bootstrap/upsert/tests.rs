use mesh::tenancy::Tenancy;
use proptest::{collection::vec, prelude::*};
use serde_json::json;

use super::*;

fn map(value: Value) -> Map<String, Value> {
    serde_json::from_value(value).unwrap()
}

fn desired(kind: ObjectKind, body: Value) -> Object {
    Object { kind, name: "ours".to_owned(), tenancy: Tenancy::Community, body: map(body) }
}

fn method(principals: &[String], tags: &[String]) -> Object {
    let config = json!({ "BoundIAMPrincipalARNs": principals, "EnableIAMEntityDetails": true, "IAMEntityTags": tags });
    desired(ObjectKind::AuthMethod, json!({ "Name": "ours", "Type": "aws-iam", "Description": "d", "Config": config }))
}

fn updated(existing: Value, desired: &Object) -> Value {
    match merge(Some(&map(existing)), desired).unwrap() {
        Upsert::Update(body) => Value::Object(body),
        other => panic!("{other:?}"),
    }
}

#[test]
fn other_principals_and_unknown_fields_are_kept() {
    let existing = json!({
        "Name": "ours", "Type": "aws-iam", "Description": "theirs", "MaxTokenTTL": "1h", "ModifyIndex": 7,
        "Config": { "BoundIAMPrincipalARNs": ["theirs"], "STSEndpoint": "https://sts.example", "IAMEntityTags": null },
    });
    let merged = updated(existing, &method(&["ours".to_owned()], &["tag".to_owned()]));
    assert_eq!(
        merged,
        json!({
            "Name": "ours", "Type": "aws-iam", "Description": "theirs", "MaxTokenTTL": "1h", "ModifyIndex": 7,
            "Config": {
                "BoundIAMPrincipalARNs": ["theirs", "ours"], "STSEndpoint": "https://sts.example",
                "IAMEntityTags": ["tag"], "EnableIAMEntityDetails": true,
            },
        })
    );
}

#[test]
fn single_value_is_extended_to_a_list() {
    let existing =
        json!({ "Type": "aws-iam", "Config": { "boundIAMPrincipalARNs": "theirs", "IAMEntityTags": ["t"] } });
    let merged = updated(existing, &method(&["ours".to_owned()], &[]));
    assert_eq!(merged["Config"]["boundIAMPrincipalARNs"], json!(["theirs", "ours"]));
    assert_eq!(merged["Config"].get("BoundIAMPrincipalARNs"), None);
}

#[test]
fn role_keeps_policies_of_users() {
    let role = desired(ObjectKind::Role, json!({ "Name": "ours", "Policies": [{ "Name": "p" }] }));
    let merged = updated(json!({ "ID": "1", "Name": "ours", "Policies": [{ "ID": "2", "Name": "user" }] }), &role);
    assert_eq!(merged["Policies"], json!([{ "ID": "2", "Name": "user" }, { "Name": "p" }]));
    let complete = map(json!({ "ID": "1", "Name": "ours", "Policies": [{ "ID": "3", "Name": "p" }] }));
    assert_eq!(merge(Some(&complete), &role), Ok(Upsert::Unchanged));
}

#[test]
fn namespace_keeps_other_defaults() {
    let namespace =
        desired(ObjectKind::Namespace, json!({ "Name": "ours", "ACLs": { "PolicyDefaults": [{ "Name": "read" }] } }));
    let acls = json!({ "PolicyDefaults": [{ "ID": "1", "Name": "user" }], "RoleDefaults": [{ "Name": "role" }] });
    let merged = updated(json!({ "Name": "ours", "Meta": { "k": "v" }, "ACLs": acls }), &namespace);
    assert_eq!(merged["ACLs"]["PolicyDefaults"], json!([{ "ID": "1", "Name": "user" }, { "Name": "read" }]));
    assert_eq!(merged["ACLs"]["RoleDefaults"], json!([{ "Name": "role" }]));
    assert_eq!(merged["Meta"], json!({ "k": "v" }));
}

#[test]
fn existing_policy_is_not_changed() {
    let policy = desired(ObjectKind::Policy, json!({ "Name": "ours", "Rules": "narrow" }));
    let widened = map(json!({ "ID": "1", "Name": "ours", "Rules": "wide" }));
    assert_eq!(merge(Some(&widened), &policy), Ok(Upsert::Unchanged));
    assert_eq!(merge(None, &policy), Ok(Upsert::Create(policy.body.clone())));
}

#[test]
fn auth_method_of_another_type_is_an_error() {
    let error = merge(Some(&map(json!({ "Name": "ours", "Type": "jwt" }))), &method(&[], &[])).unwrap_err();
    assert_eq!(error.found, "jwt");
    let message = error.to_string();
    assert!(message.contains("auth method ours") && message.contains("\"jwt\""), "{message}");
    assert!(message.contains("BOOTSTRAP=none"), "{message}");
}

// ---- properties ----

/// Short lists of few words, so that lists often overlap.
fn words() -> impl Strategy<Value = Vec<String>> {
    vec("[a-e]", 0..4).prop_map(|mut words| {
        words.sort();
        words.dedup();
        words
    })
}

fn methods() -> impl Strategy<Value = Object> {
    (words(), words()).prop_map(|(principals, tags)| method(&principals, &tags))
}

/// The values that Consul may have for a list of words.
fn lists() -> impl Strategy<Value = Value> {
    prop_oneof![Just(Value::Null), words().prop_map(|words| json!(words)), "[a-e]".prop_map(Value::String)]
}

/// An auth method of the same type by another writer, with unknown fields.
fn existing() -> impl Strategy<Value = Map<String, Value>> {
    (lists(), lists(), any::<Option<bool>>(), proptest::collection::btree_map("[A-Z][a-z]{1,5}", lists(), 0..4))
        .prop_map(|(principals, tags, details, unknown)| {
            let mut config = json!({ "BoundIAMPrincipalARNs": principals, "IAMEntityTags": tags });
            if let Some(details) = details {
                config["EnableIAMEntityDetails"] = json!(details);
            }
            config["Unknown"] = json!(unknown);
            let mut method = map(json!(unknown));
            method.extend(map(json!({ "Name": "ours", "Type": "aws-iam", "Config": config })));
            method
        })
}

fn after(existing: Option<&Map<String, Value>>, desired: &Object) -> Map<String, Value> {
    match merge(existing, desired).unwrap() {
        Upsert::Create(body) | Upsert::Update(body) => body,
        Upsert::Unchanged => existing.unwrap().clone(),
    }
}

/// The same value with all lists sorted.
fn ordered(value: &Value) -> Value {
    match value {
        Value::Array(entries) => {
            let mut entries: Vec<Value> = entries.iter().map(ordered).collect();
            entries.sort_by_key(Value::to_string);
            Value::Array(entries)
        }
        Value::Object(fields) => fields.iter().map(|(name, value)| (name.clone(), ordered(value))).collect(),
        other => other.clone(),
    }
}

/// Whether `whole` contains `part`.
fn holds(whole: &Value, part: &Value) -> bool {
    match (whole, part) {
        (_, Value::Null) | (Value::Bool(true), Value::Bool(_)) => true,
        (Value::Object(whole), Value::Object(part)) => {
            part.iter().all(|(name, value)| whole.get(name).is_some_and(|whole| holds(whole, value)))
        }
        (Value::Array(whole), Value::Array(part)) => {
            part.iter().all(|entry| whole.iter().any(|known| holds(known, entry)))
        }
        (Value::Array(whole), single) => whole.contains(single),
        _ => whole == part,
    }
}

proptest! {
    #[test]
    fn merge_is_idempotent(existing in proptest::option::of(existing()), desired in methods()) {
        let once = after(existing.as_ref(), &desired);
        prop_assert_eq!(merge(Some(&once), &desired), Ok(Upsert::Unchanged));
    }

    #[test]
    fn merge_is_commutative(
        existing in proptest::option::of(existing()),
        a in methods(),
        b in methods(),
    ) {
        let a_then_b = Value::Object(after(Some(&after(existing.as_ref(), &a)), &b));
        let b_then_a = Value::Object(after(Some(&after(existing.as_ref(), &b)), &a));
        prop_assert_eq!(ordered(&a_then_b), ordered(&b_then_a));
        prop_assert!(holds(&a_then_b["Config"], &a.body["Config"]) && holds(&a_then_b["Config"], &b.body["Config"]));
    }

    #[test]
    fn merge_keeps_existing_values(existing in existing(), desired in methods()) {
        let merged = Value::Object(after(Some(&existing), &desired));
        prop_assert!(holds(&merged, &Value::Object(existing)));
    }
}
