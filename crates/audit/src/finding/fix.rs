//! The edits that fix a finding.

use serde_json::Value;

use audit_read::{
    definition::List,
    document::{Place, Route},
};

/// The edits that fix a finding.
#[derive(Debug, Clone)]
pub struct Fix {
    /// The edits, in the order in which they must be made.
    pub edits: Vec<Edit>,
}

/// A change at one place of a file.
#[derive(Debug, Clone)]
pub struct Edit {
    /// The route to the value; for a new key, to where it will be.
    pub route: Route,
    pub change: Change,
}

/// A change of a value. New values are spelled as in ECS's JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Sets the value, or adds it if there is none.
    Set(Value),
    /// Adds an item to the end of the list.
    Append(Value),
    /// Removes the value, and its key.
    Remove,
}

impl Fix {
    /// Sets the value at `place`; `None` if edits do not reach it.
    pub fn set(place: &Place, value: impl Into<Value>) -> Option<Self> {
        Self::one(place, Change::Set(value.into()))
    }

    /// Adds `value` to the end of `list`, which may be absent.
    pub fn append<T>(list: &List<T>, value: impl Into<Value>) -> Option<Self> {
        let value = value.into();
        match (list.is_present, list.is_complete) {
            (true, true) => Self::one(&list.place, Change::Append(value)),
            (false, true) => Self::one(&list.place, Change::Set(Value::Array(vec![value]))),
            (_, false) => None,
        }
    }

    /// Removes the value at `place`.
    pub fn remove(place: &Place) -> Option<Self> {
        Self::one(place, Change::Remove)
    }

    /// The edits of both fixes; `None` if there is no other fix.
    pub fn and(mut self, other: Option<Self>) -> Option<Self> {
        self.edits.extend(other?.edits);
        Some(self)
    }

    fn one(place: &Place, change: Change) -> Option<Self> {
        Some(Self { edits: vec![Edit { route: place.route.clone()?, change }] })
    }
}
