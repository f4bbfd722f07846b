//! The edits that correct a finding.

use serde_json::Value;

use crate::{
    definition::List,
    document::{Place, Route},
};

/// Edits that mend a finding.
#[derive(Debug, Clone)]
pub struct Fix {
    /// The edits, in the order in which to make them.
    pub edits: Vec<Edit>,
}

/// A change at one place of a file.
#[derive(Debug, Clone)]
pub struct Edit {
    /// The way to the value; for a change that adds a key, to where it will be.
    pub route: Route,
    /// What to do there.
    pub change: Change,
}

/// What to do at a place. Values are spelled as ECS's JSON spells them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Make the value this, whether there is one or not.
    Set(Value),
    /// Add this to the end of the list.
    Append(Value),
    /// Take the value away, and its key.
    Remove,
}

impl Fix {
    /// Sets the value at `place`; nothing where edits do not reach it.
    #[must_use]
    pub fn set(place: &Place, value: impl Into<Value>) -> Option<Self> {
        Self::one(place, Change::Set(value.into()))
    }

    /// Adds `value` to the end of `list`, which may be absent.
    #[must_use]
    pub fn append<T>(list: &List<T>, value: impl Into<Value>) -> Option<Self> {
        let value = value.into();
        match (list.is_present, list.is_complete) {
            (true, true) => Self::one(&list.place, Change::Append(value)),
            (false, true) => Self::one(&list.place, Change::Set(Value::Array(vec![value]))),
            (_, false) => None,
        }
    }

    /// Takes the value at `place` away.
    #[must_use]
    pub fn remove(place: &Place) -> Option<Self> {
        Self::one(place, Change::Remove)
    }

    /// Both, or nothing if one of them is not possible.
    #[must_use]
    pub fn and(mut self, other: Option<Self>) -> Option<Self> {
        self.edits.extend(other?.edits);
        Some(self)
    }

    fn one(place: &Place, change: Change) -> Option<Self> {
        Some(Self { edits: vec![Edit { route: place.route.clone()?, change }] })
    }
}
