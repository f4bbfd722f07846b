//! A value and its place in the file.

use std::{collections::HashMap, str::FromStr, sync::Arc};

use serde_json::Value as Json;

use crate::{
    place::{PathStep, Place},
    span::Span,
};

/// A value and its place in the file.
#[derive(Debug, Clone)]
pub struct Node {
    pub value: Value,
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
    Text(String),
    List(Vec<Node>),
    /// A map in the order of the file. Its keys are unique: of equal ones, the last counts.
    Map(Vec<Entry>),
    /// A value that is known only at deployment.
    Unknown,
}

/// A key of a map and its value.
#[derive(Debug, Clone)]
pub struct Entry {
    pub key: String,
    /// The bytes of the key.
    pub key_span: Span,
    /// The value.
    pub node: Node,
    /// The bytes of an entry with an equal key before it in the same map, which does not count.
    pub replaced: Option<Span>,
}

impl Entry {
    pub fn new(key: impl Into<String>, key_span: Span, node: Node) -> Self {
        Self { key: key.into(), key_span, node, replaced: None }
    }

    /// The key, if it replaces an equal one.
    pub fn repeated(&self) -> Option<RepeatedKey> {
        self.replaced.map(|ignored| RepeatedKey { key: self.key.clone(), ignored, last: self.key_span })
    }

    /// The entries of a map in a file. Of equal keys, the last counts, as in CloudFormation and Terraform. Edits do not reach
    /// its value: they could change an earlier one.
    pub fn last_of_each_key(mut entries: Vec<Self>) -> Vec<Self> {
        let mut last = HashMap::with_capacity(entries.len());
        let numbered = entries.iter().enumerate();
        let mut replaced: Vec<(usize, usize)> =
            numbered.filter_map(|(index, entry)| Some((last.insert(entry.key.as_str(), index)?, index))).collect();
        replaced.sort_unstable();
        for (earlier, later) in replaced.iter().copied() {
            let span = entries.get(earlier).map(|entry| Span::new(entry.key_span.start, entry.node.place.span.end));
            if let Some(entry) = entries.get_mut(later) {
                entry.replaced = span;
                entry.node.remove_routes();
            }
        }
        let (mut index, mut ignored) = (0.., replaced.into_iter().map(|(earlier, _)| earlier).peekable());
        entries.retain(|_| index.next().and_then(|index| ignored.next_if_eq(&index)).is_none());
        entries.shrink_to_fit();
        entries
    }
}

/// A key that replaces an equal one in the same map.
#[derive(Debug, Clone)]
pub struct RepeatedKey {
    pub key: String,
    /// The bytes of the entry that does not count: its key and its value.
    pub ignored: Span,
    /// The bytes of the key whose value counts.
    pub last: Span,
}

/// In a string: a part that is known only at deployment. A Unicode noncharacter, which texts do not contain.
pub const HOLE: char = '\u{FDD0}';

impl Node {
    /// The entries of a map; none for other values.
    pub fn entries(&self) -> &[Entry] {
        match &self.value {
            Value::Map(entries) => entries,
            _ => &[],
        }
    }

    /// The items of a list; none for other values.
    pub fn items(&self) -> &[Self] {
        match &self.value {
            Value::List(items) => items,
            _ => &[],
        }
    }

    /// The value of a map's key. Null counts as absent, as in ECS.
    pub fn get(&self, key: &str) -> Option<&Self> {
        let entry = self.entries().iter().find(|entry| entry.key == key)?;
        (!matches!(entry.node.value, Value::Null)).then_some(&entry.node)
    }

    /// The entries of the map at a key; none for other values.
    pub fn entries_of(&self, key: &str) -> &[Entry] {
        self.get(key).map(Self::entries).unwrap_or_default()
    }

    /// The items of the list at a key; none for other values.
    pub fn items_of(&self, key: &str) -> &[Self] {
        self.get(key).map(Self::items).unwrap_or_default()
    }

    /// The value at the end of `steps` in one document.
    pub fn at(&self, steps: &[PathStep]) -> Option<&Self> {
        steps.iter().try_fold(self, |node, step| match step {
            PathStep::Key(key) => node.entries().iter().find(|entry| entry.key == *key).map(|entry| &entry.node),
            PathStep::Index(index) => node.items().get(*index),
            PathStep::Embedded | PathStep::Document(_) => None,
        })
    }

    /// The text of a string without unknown parts.
    pub fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) if !text.contains(HOLE) => Some(text),
            _ => None,
        }
    }

    /// A string, number or boolean as a string, and an unknown value as an unknown part; `None` for other values.
    pub fn as_text(&self) -> Option<String> {
        match &self.value {
            Value::Text(text) | Value::Number(text) => Some(text.clone()),
            Value::Bool(value) => Some(value.to_string()),
            Value::Unknown => Some(HOLE.to_string()),
            Value::Null | Value::List(_) | Value::Map(_) => None,
        }
    }

    /// Whether the value is known only at deployment.
    pub fn is_unknown(&self) -> bool {
        matches!(self.value, Value::Unknown)
    }

    /// A number, if it is one of this type.
    pub fn number<N: FromStr>(&self) -> Option<N> {
        match &self.value {
            Value::Number(number) => number.parse().ok(),
            _ => None,
        }
    }

    /// A copy in which everything has one place, without routes for edits: that where the value is used, if it is from
    /// another file or from the result of a function.
    #[must_use]
    pub fn placed(&self, span: Span) -> Self {
        let value = match &self.value {
            Value::List(items) => Value::List(items.iter().map(|item| item.placed(span)).collect()),
            Value::Map(entries) => Value::Map(
                entries
                    .iter()
                    .map(|entry| Entry {
                        key: entry.key.clone(),
                        key_span: span,
                        node: entry.node.placed(span),
                        replaced: entry.replaced.map(|_| span),
                    })
                    .collect(),
            ),
            other => other.clone(),
        };
        Self { value, place: Place::fixed(span) }
    }

    /// Changes the bytes of every value and key.
    pub fn map_spans(&mut self, map: &dyn Fn(Span) -> Span) {
        self.place.span = map(self.place.span);
        self.place.parts = self.place.parts.take().map(|parts| Arc::new(parts.placed_by(map)));
        match &mut self.value {
            Value::List(items) => items.iter_mut().for_each(|item| item.map_spans(map)),
            Value::Map(entries) => entries.iter_mut().for_each(|entry| {
                entry.key_span = map(entry.key_span);
                entry.replaced = entry.replaced.map(map);
                entry.node.map_spans(map);
            }),
            _ => {}
        }
    }

    /// Removes the routes for edits: something else may use the value as well.
    pub fn remove_routes(&mut self) {
        self.place.route = None;
        self.children_mut().into_iter().for_each(Self::remove_routes);
    }

    /// The items of a list, and the values of a map.
    pub fn children(&self) -> Vec<&Self> {
        match &self.value {
            Value::List(items) => items.iter().collect(),
            Value::Map(entries) => entries.iter().map(|entry| &entry.node).collect(),
            _ => Vec::new(),
        }
    }

    /// The items of a list, and the values of a map, to change them.
    pub fn children_mut(&mut self) -> Vec<&mut Self> {
        match &mut self.value {
            Value::List(items) => items.iter_mut().collect(),
            Value::Map(entries) => entries.iter_mut().map(|entry| &mut entry.node).collect(),
            _ => Vec::new(),
        }
    }

    /// The value as JSON. An unknown value, and a number that JSON cannot spell, are strings that contain [`HOLE`].
    pub fn json(&self) -> Json {
        match &self.value {
            Value::Null => Json::Null,
            Value::Bool(value) => Json::Bool(*value),
            Value::Number(number) => serde_json::from_str(number).unwrap_or_else(|_| format!("{HOLE}{number}").into()),
            Value::Text(text) => Json::String(text.clone()),
            Value::List(items) => items.iter().map(Self::json).collect(),
            Value::Map(entries) => entries.iter().map(|entry| (entry.key.clone(), entry.node.json())).collect(),
            Value::Unknown => HOLE.to_string().into(),
        }
    }

    /// The keys that replace an equal one in the same map, in the whole value.
    pub fn repeated_keys(&self) -> Vec<RepeatedKey> {
        let mut found = Vec::new();
        self.add_repeated_keys(&mut found);
        found
    }

    fn add_repeated_keys(&self, found: &mut Vec<RepeatedKey>) {
        for item in self.items() {
            item.add_repeated_keys(found);
        }
        for entry in self.entries() {
            found.extend(entry.repeated());
            entry.node.add_repeated_keys(found);
        }
    }

    /// The type of the value, for error messages.
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
