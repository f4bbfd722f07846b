//! A value and its place in the file.

use super::{Place, Span};

/// A value and its place in the file.
#[derive(Debug, Clone)]
pub struct Node {
    /// The value.
    pub value: Value,
    /// Its place.
    pub place: Place,
}

/// A value in a file.
#[derive(Debug, Clone)]
pub enum Value {
    /// Null, which ECS treats like an absent value.
    Null,
    /// True or false.
    Bool(bool),
    /// A number as the file spells it.
    Number(String),
    /// A string.
    Text(String),
    /// A list.
    List(Vec<Node>),
    /// A map in the order of the file. Its keys are unique.
    Map(Vec<Entry>),
    /// A value that is known only at deployment.
    Unknown,
}

/// A key of a map and its value.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The key.
    pub key: String,
    /// The bytes of the key.
    pub key_span: Span,
    /// The value.
    pub node: Node,
}

/// In a string: a part that is known only at deployment. A Unicode noncharacter, which texts do not contain.
pub(crate) const HOLE: char = '\u{FDD0}';

impl Node {
    /// The entries of a map; none for other values.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        match &self.value {
            Value::Map(entries) => entries,
            _ => &[],
        }
    }

    /// The items of a list; none for other values.
    #[must_use]
    pub fn items(&self) -> &[Self] {
        match &self.value {
            Value::List(items) => items,
            _ => &[],
        }
    }

    /// The value of a map's key. Null counts as absent, as in ECS.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Self> {
        let entry = self.entries().iter().find(|entry| entry.key == key)?;
        (!matches!(entry.node.value, Value::Null)).then_some(&entry.node)
    }

    /// The text of a string without unknown parts.
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

    /// The type of the value, for error messages.
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
