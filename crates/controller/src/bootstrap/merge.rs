//! Merges a desired object into the existing one. Settings of other writers are kept: lists are extended, unknown
//! fields stay, and existing values take precedence.

use std::slice;

use serde_json::{Map, Value};

use consul::{Kind, Object};

/// The write that the desired object requires.
#[derive(Debug, Clone, PartialEq)]
pub enum Upsert {
    /// The object does not exist.
    Create(Map<String, Value>),
    /// The object exists, but has to be extended to these fields.
    Update(Map<String, Value>),
    /// The object exists, and needs no change.
    Unchanged,
}

/// An auth method with the same name has another type. Replacing it would break the logins of its users.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "auth method {method}: exists with type {found:?} instead of \"aws-iam\", and was not changed; delete it in Consul \
     if it is not in use, or set BOOTSTRAP=none and set Consul up manually"
)]
pub struct OtherType {
    /// The auth method's name.
    pub method: String,
    /// The existing type.
    pub found: String,
}

/// Merges `desired` into the object that Consul has under its name.
///
/// An existing policy, binding rule, partition or node is not changed: users may have extended it.
///
/// # Errors
/// An auth method of that name has another type.
pub fn merge(existing: Option<&Map<String, Value>>, desired: &Object) -> Result<Upsert, OtherType> {
    let Some(existing) = existing else {
        return Ok(Upsert::Create(desired.body.clone()));
    };
    match desired.kind {
        Kind::Partition | Kind::Policy | Kind::BindingRule | Kind::SyntheticNode => return Ok(Upsert::Unchanged),
        Kind::AuthMethod => {
            let found = existing.get("Type").and_then(Value::as_str);
            if found != desired.text("Type") {
                let found = found.unwrap_or_default().to_owned();
                return Err(OtherType { method: desired.name.clone(), found });
            }
        }
        Kind::Namespace | Kind::Role | Kind::AnonymousToken => {}
    }
    let merged = union_of_fields(existing, &desired.body);
    Ok(if merged == *existing { Upsert::Unchanged } else { Upsert::Update(merged) })
}

fn union_of_fields(existing: &Map<String, Value>, desired: &Map<String, Value>) -> Map<String, Value> {
    let mut merged = existing.clone();
    for (field, value) in desired {
        // Consul matches field names without regard to case, and would ignore one of two spellings.
        let other_spelling = || existing.keys().find(|key| key.eq_ignore_ascii_case(field));
        let key = if existing.contains_key(field) { field } else { other_spelling().unwrap_or(field) };
        let value = existing.get(key).map_or_else(|| value.clone(), |existing| union(existing, value));
        merged.insert(key.clone(), value);
    }
    merged
}

fn union(existing: &Value, desired: &Value) -> Value {
    match (existing, desired) {
        // Consul returns an empty list as null.
        (Value::Null, _) => desired.clone(),
        (Value::Object(existing), Value::Object(desired)) => Value::Object(union_of_fields(existing, desired)),
        (Value::Array(existing), Value::Array(desired)) => extended(existing, desired),
        // Consul treats a single value as a list of one.
        (single, Value::Array(desired)) => extended(slice::from_ref(single), desired),
        // The only desired boolean, EnableIAMEntityDetails, only adds to the values that a binding rule can refer to.
        (_, Value::Bool(true)) => Value::Bool(true),
        (existing, _) => existing.clone(),
    }
}

fn extended(existing: &[Value], desired: &[Value]) -> Value {
    let mut all = existing.to_vec();
    for value in desired {
        if !all.iter().any(|known| is_same(known, value)) {
            all.push(value.clone());
        }
    }
    Value::Array(all)
}

/// Whether a list entry is the desired one: Consul adds fields to entries, for example the ID to the name of a policy.
fn is_same(known: &Value, desired: &Value) -> bool {
    match (known, desired) {
        (Value::Object(known), Value::Object(desired)) => {
            desired.iter().all(|(field, value)| known.get(field) == Some(value))
        }
        _ => known == desired,
    }
}

#[cfg(test)]
mod tests;
