//! Merging what should be there into what is there. Nothing that somebody else has set is lost: lists are extended,
//! unknown fields stay, and a value that is there already wins.

use std::slice;

use serde_json::{Map, Value};

use consul::{Kind, Object};

/// What has to be written.
#[derive(Debug, Clone, PartialEq)]
pub enum Upsert {
    /// The object does not exist.
    Create(Map<String, Value>),
    /// The object exists, and lacks something: this is all of it.
    Update(Map<String, Value>),
    /// Nothing.
    Unchanged,
}

/// An auth method of our name is of another type. Logins of its users would fail if it were written over.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "auth method {method}: exists with type {found:?} instead of \"aws-iam\", and was left alone; delete it in Consul \
     if nobody logs in with it, or set BOOTSTRAP=none and set Consul up by hand"
)]
pub struct OtherType {
    /// The auth method's name.
    pub method: String,
    /// The type that it has.
    pub found: String,
}

/// What has to be written so that Consul holds `wanted`, given what it holds under that name.
///
/// A policy, a binding rule, a partition and a node that exist are left as they are: users may have widened them.
///
/// # Errors
/// An auth method of that name is of another type.
pub fn merge(existing: Option<&Map<String, Value>>, wanted: &Object) -> Result<Upsert, OtherType> {
    let Some(existing) = existing else {
        return Ok(Upsert::Create(wanted.body.clone()));
    };
    match wanted.kind {
        Kind::Partition | Kind::Policy | Kind::BindingRule | Kind::SyntheticNode => return Ok(Upsert::Unchanged),
        Kind::AuthMethod => {
            let found = existing.get("Type").and_then(Value::as_str);
            if found != wanted.text("Type") {
                let found = found.unwrap_or_default().to_owned();
                return Err(OtherType { method: wanted.name.clone(), found });
            }
        }
        Kind::Namespace | Kind::Role | Kind::AnonymousToken => {}
    }
    let merged = union_of_fields(existing, &wanted.body);
    Ok(if merged == *existing { Upsert::Unchanged } else { Upsert::Update(merged) })
}

fn union_of_fields(existing: &Map<String, Value>, wanted: &Map<String, Value>) -> Map<String, Value> {
    let mut merged = existing.clone();
    for (field, value) in wanted {
        // Consul reads the names of fields without regard to case; of two spellings it would ignore one.
        let other_spelling = || existing.keys().find(|key| key.eq_ignore_ascii_case(field));
        let key = if existing.contains_key(field) { field } else { other_spelling().unwrap_or(field) };
        let value = existing.get(key).map_or_else(|| value.clone(), |existing| union(existing, value));
        merged.insert(key.clone(), value);
    }
    merged
}

fn union(existing: &Value, wanted: &Value) -> Value {
    match (existing, wanted) {
        // Consul prints an empty list as null.
        (Value::Null, _) => wanted.clone(),
        (Value::Object(existing), Value::Object(wanted)) => Value::Object(union_of_fields(existing, wanted)),
        (Value::Array(existing), Value::Array(wanted)) => extended(existing, wanted),
        // Consul takes a single value for a list of one.
        (single, Value::Array(wanted)) => extended(slice::from_ref(single), wanted),
        // The one switch that is wanted, EnableIAMEntityDetails, only adds to what a login may be bound by.
        (_, Value::Bool(true)) => Value::Bool(true),
        (existing, _) => existing.clone(),
    }
}

fn extended(existing: &[Value], wanted: &[Value]) -> Value {
    let mut all = existing.to_vec();
    for value in wanted {
        if !all.iter().any(|known| is_same(known, value)) {
            all.push(value.clone());
        }
    }
    Value::Array(all)
}

/// Whether an entry of a list is the wanted one: Consul adds fields to entries, such as the ID to a policy's name.
fn is_same(known: &Value, wanted: &Value) -> bool {
    match (known, wanted) {
        (Value::Object(known), Value::Object(wanted)) => {
            wanted.iter().all(|(field, value)| known.get(field) == Some(value))
        }
        _ => known == wanted,
    }
}

#[cfg(test)]
mod tests;
