//! A value of a file, and its place.

use super::{Place, Span};

/// A value and its place.
#[derive(Debug, Clone)]
pub struct Node {
    /// What it is.
    pub value: Value,
    /// Where it is.
    pub place: Place,
}

/// What a file can hold.
#[derive(Debug, Clone)]
pub enum Value {
    /// Nothing: as if the value were not there.
    Null,
    /// True or false.
    Bool(bool),
    /// A number as it is written.
    Number(String),
    /// A string.
    Text(String),
    /// A list.
    List(Vec<Node>),
    /// A map, in the file's order. Keys are unique.
    Map(Vec<Entry>),
    /// A value that only a deployment can tell.
    Unknown,
}

/// A key of a map and its value.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The key.
    pub key: String,
    /// Where the key is.
    pub key_span: Span,
    /// The value.
    pub node: Node,
}

/// Stands in a string for a part that only a deployment can tell. Not a character that anybody writes: a noncharacter.
pub(crate) const HOLE: char = '\u{FDD0}';

impl Node {
    /// The entries of a map, or none.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        match &self.value {
            Value::Map(entries) => entries,
            _ => &[],
        }
    }

    /// The items of a list, or none.
    #[must_use]
    pub fn items(&self) -> &[Self] {
        match &self.value {
            Value::List(items) => items,
            _ => &[],
        }
    }

    /// The value of a map's key. A null counts as absent, as it does for ECS.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Self> {
        let entry = self.entries().iter().find(|entry| entry.key == key)?;
        (!matches!(entry.node.value, Value::Null)).then_some(&entry.node)
    }

    /// The text of a string that is known to its last character.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) if !text.contains(HOLE) => Some(text),
            _ => None,
        }
    }

    /// A whole number.
    #[must_use]
    pub fn number(&self) -> Option<i64> {
        match &self.value {
            Value::Number(number) => number.parse().ok(),
            _ => None,
        }
    }

    /// What kind of value it is, for error messages.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self.value {
            Value::Null => "null",
            Value::Bool(_) => "a boolean",
            Value::Number(_) => "a number",
            Value::Text(_) => "a string",
            Value::List(_) => "a list",
            Value::Map(_) => "a map",
            Value::Unknown => "unknown",
        }
    }
}
