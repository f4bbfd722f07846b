//! Where a task definition departs from ECS's API, and the values that no rule reads.

use super::{
    super::{dialect::Dialect, field::Text},
    accept::is_placeholder,
    log_drivers::log_options,
    shapes::{Accepts, CAPABILITIES, Key, OnFargate, Shape, TASK},
};
use crate::spelling::misspelt;
use document::{Entry, HOLE, Node, Place, Span, Value};
use std::ops::RangeInclusive;

/// A key that ECS does not know, a value that it refuses, or a key that it misses.
#[derive(Debug, Clone)]
pub struct Departure {
    /// The number of its container among those that are known, if it is in one.
    pub container: Option<usize>,
    /// Its path for messages, from the container if it is in one: `portMappings[0].protocol`.
    pub path: String,
    /// The map that has or lacks the key.
    pub shape: &'static Shape,
    /// The key; `None` if the map has no such key.
    pub key: Option<&'static Key>,
    /// The bytes of the key, of the value, or of the map without the key.
    pub span: Span,
    pub fault: Fault,
}

#[derive(Debug, Clone)]
pub enum Fault {
    /// The key is not one of this map.
    UnknownKey {
        key: String,
        /// The required key that the map lacks, if this one certainly stands for it.
        instead_of: Option<&'static str>,
        /// The known keys that the map has.
        given: Vec<&'static str>,
    },
    /// The map lacks a required key.
    Missing,
    /// ECS accepts other values: the value as the file spells it, and its place for edits.
    Refused(String, &'static Accepts, Place),
    /// Fargate does not support the key, or supports these values only.
    NotOnFargate(&'static [&'static str]),
    /// A map with several of its keys, which takes one of them.
    SeveralOf(Vec<String>),
}

impl Departure {
    /// Whether it is about a key of the task definition itself.
    pub fn is_at(&self, key: &str) -> bool {
        self.shape.is_task_definition() && self.key.is_some_and(|own| own.name == key)
    }

    /// Whether it is in the capabilities of a container.
    pub fn is_in_capabilities(&self) -> bool {
        std::ptr::eq(self.shape, &raw const CAPABILITIES)
    }
}

/// A value that no rule reads. Reports cover it, because it may be a secret in the wrong place.
#[derive(Debug, Clone)]
pub struct Unread {
    /// The key of an option or label, or a value that ECS refuses: most of them are no secrets, and this text tells.
    pub hint: Option<String>,
    /// The bytes of the value.
    pub span: Span,
    /// Its texts, without the names of variables.
    pub texts: Vec<String>,
}

/// All departures of the definition `node`, in the order of the file, and the values that no rule reads.
pub(in crate::definition) fn departures(node: &Node, dialect: Dialect) -> (Vec<Departure>, Vec<Unread>) {
    departures_from(node, &TASK, dialect, false)
}

/// All departures of another map, in the order of the file, and the values that no rule reads. With `judges_types`, no
/// reader notes values of another type.
pub(crate) fn departures_from(
    node: &Node,
    shape: &'static Shape,
    dialect: Dialect,
    judges_types: bool,
) -> (Vec<Departure>, Vec<Unread>) {
    let mut walk = Walk { dialect, judges_types, container: None, found: Vec::new(), unread: Vec::new() };
    walk.map(node, shape, &At::Top(shape));
    (walk.found, walk.unread)
}

/// The path to a value. It becomes a text only for a departure.
enum At<'a> {
    /// A map whose keys begin a path.
    Top(&'static Shape),
    /// The value of a key, as the file spells it, in a map.
    Key(&'a Self, &'a str, &'static Shape, Option<&'static Key>),
    Item(&'a Self, usize),
}

impl At<'_> {
    fn path(&self) -> String {
        match self {
            Self::Top(_) => String::new(),
            Self::Key(before, key, ..) => match before.path() {
                path if path.is_empty() => (*key).to_owned(),
                path => format!("{path}.{key}"),
            },
            Self::Item(before, index) => format!("{}[{index}]", before.path()),
        }
    }

    /// The last key, and the map that it is in.
    fn home(&self) -> (&'static Shape, Option<&'static Key>) {
        match self {
            Self::Top(shape) => (shape, None),
            Self::Key(_, _, shape, key) => (shape, *key),
            Self::Item(before, _) => before.home(),
        }
    }
}

/// The keys of a map in which each is likely to be written.
const FEW: usize = 6;

/// The unknown keys of a map that become departures. A map with more is no map of ECS's, and each key costs a
/// comparison with all names.
const MOST_UNKNOWN: usize = 20;

struct Walk {
    dialect: Dialect,
    judges_types: bool,
    container: Option<usize>,
    found: Vec<Departure>,
    unread: Vec<Unread>,
}

impl Walk {
    fn map(&mut self, node: &Node, shape: &'static Shape, at: &At<'_>) {
        let Value::Map(entries) = &node.value else { return };
        let is_given = |entry: &&Entry| !matches!(entry.node.value, Value::Null);
        let mut unknown = Vec::new();
        for (index, entry) in entries.iter().enumerate().filter(|(_, entry)| is_given(entry)) {
            // Of several spellings of a key, the last one counts.
            let is_replaced = |key: &Key| {
                let mut later = entries.iter().skip(index + 1);
                later.any(|later| self.dialect.is_spelling_of(&later.key, key.name))
            };
            let known = shape.keys.iter().find(|key| self.dialect.is_spelling_of(&entry.key, key.name));
            let at = At::Key(at, &entry.key, shape, known);
            match known {
                Some(_) if entry.node.is_unknown() => {}
                Some(key) if is_replaced(key) => self.leave_unread(&entry.node, None),
                Some(Key { accepts: Accepts::LogOptions, .. }) => self.log_options(&entry.node, entries, &at),
                Some(key) => {
                    self.value(&entry.node, &key.accepts, &at);
                    self.on_fargate(&entry.node, key.on_fargate, &at);
                    if key.name == "match" && shape.names().any(|name| name == "name") {
                        self.leave_match_unread(&entry.node, entries);
                    }
                }
                // A key that is not known may be any.
                None if entry.key.contains(HOLE) => {
                    self.leave_unknown_unread(entries, shape);
                    return;
                }
                None => {
                    self.leave_unread(&entry.node, None);
                    unknown.push(entry);
                }
            }
        }
        self.keys(node, shape, &unknown, at);
    }

    /// The unknown keys of a map, and the required keys that it lacks.
    fn keys(&mut self, node: &Node, shape: &'static Shape, unknown: &[&Entry], at: &At<'_>) {
        let entries = node.entries();
        let dialect = self.dialect;
        let is_given = |key: &&'static Key| {
            let mut values = entries.iter().filter(|entry| !matches!(entry.node.value, Value::Null));
            values.any(|entry| dialect.is_spelling_of(&entry.key, key.name))
        };
        let (given, absent): (Vec<&'static Key>, Vec<&'static Key>) = shape.keys.iter().partition(is_given);
        let given: Vec<&'static str> = given.into_iter().map(|key| key.name).collect();
        let mut missing: Vec<&'static Key> = absent.into_iter().filter(|key| key.is_required).collect();
        let only = match (missing.as_slice(), unknown) {
            // In a map with few keys, the unknown one stands for the missing one.
            ([missing], [_]) if shape.keys.len() <= FEW => Some(missing.name),
            _ => None,
        };
        let required: Vec<&'static str> = missing.iter().map(|key| key.name).collect();
        let stands_for = |entry: &Entry| only.or_else(|| misspelt(&entry.key, required.iter().copied()));
        // One finding for a misspelt key, not another one for the same key that is missing.
        missing.retain(|key| !unknown.iter().take(MOST_UNKNOWN).any(|entry| stands_for(entry) == Some(key.name)));
        // In App Mesh's maps, the other values are mostly names, which messages need.
        if !required.is_empty() && shape.keys.len() <= FEW && !self.judges_types {
            self.leave_values_unread(entries);
        }
        for entry in unknown.iter().take(MOST_UNKNOWN) {
            let instead_of = stands_for(entry);
            let fault = Fault::UnknownKey { key: entry.key.clone(), instead_of, given: given.clone() };
            self.add(&At::Key(at, &entry.key, shape, None), entry.key_span, fault);
        }
        for key in missing {
            let spelt = dialect.spell(key.name);
            self.add(&At::Key(at, &spelt, shape, Some(key)), node.place.span, Fault::Missing);
        }
    }

    fn value(&mut self, node: &Node, accepts: &'static Accepts, at: &At<'_>) {
        if self.judges_types && !accepts.suits(node) {
            return self.refuse(node, node.kind(), accepts, at);
        }
        match accepts {
            Accepts::Any | Accepts::Texts => {}
            Accepts::Union(shape) => {
                self.one_key(node, at);
                self.map(node, shape, at);
            }
            Accepts::Counted(least, most, items) => {
                self.count(node, *least..=*most, accepts, at);
                self.value(node, items, at);
            }
            Accepts::Options | Accepts::LogOptions => self.options(node, &[], at),
            Accepts::OptionsOf(shape) => self.options(node, &shape.keys.iter().collect::<Vec<_>>(), at),
            Accepts::Map(_) if !matches!(node.value, Value::Map(_)) => self.leave_unread(node, None),
            Accepts::Map(shape) => self.map(node, shape, at),
            Accepts::Maps(shape) => self.items(node, shape, at),
            Accepts::Items(shape) => {
                if matches!(&node.value, Value::List(items) if items.is_empty()) {
                    self.refuse(node, "an empty list", accepts, at);
                }
                self.containers(node, shape);
            }
            Accepts::EachOf(_) | Accepts::EachKnown(_) => {
                for (index, item) in node.items().iter().enumerate() {
                    self.scalar(item, accepts, &At::Item(at, index));
                }
            }
            _ => self.scalar(node, accepts, at),
        }
    }

    /// The options of a log driver, which is one of the `siblings`.
    fn log_options(&mut self, node: &Node, siblings: &[Entry], at: &At<'_>) {
        let mut drivers = siblings.iter().rev().filter(|entry| self.dialect.is_spelling_of(&entry.key, "logDriver"));
        let driver = drivers.next().and_then(|entry| entry.node.text()).unwrap_or_default();
        self.options(node, &log_options(driver).collect::<Vec<_>>(), at);
    }

    /// A map with the keys of a driver. Only the `known` ones are judged.
    fn options(&mut self, node: &Node, known: &[&'static Key], at: &At<'_>) {
        for entry in node.entries() {
            self.leave_unread(&entry.node, Some(entry.key.clone()));
            if let Some(key) = known.iter().copied().find(|key| key.name == entry.key) {
                let at = At::Key(at, &entry.key, at.home().0, Some(key));
                self.scalar(&entry.node, &key.accepts, &at);
                self.on_fargate(&entry.node, key.on_fargate, &at);
            }
        }
        if !matches!(node.value, Value::Map(_)) {
            self.leave_unread(node, None);
        }
    }

    /// Several keys of a map that takes one. A value that is not known may be none.
    fn one_key(&mut self, node: &Node, at: &At<'_>) {
        let given = node.entries().iter().filter(|entry| !matches!(entry.node.value, Value::Null | Value::Unknown));
        let keys: Vec<String> = given.map(|entry| entry.key.clone()).collect();
        if keys.len() > 1 {
            self.add(at, node.place.span, Fault::SeveralOf(keys));
        }
    }

    fn count(&mut self, node: &Node, allowed: RangeInclusive<u64>, accepts: &'static Accepts, at: &At<'_>) {
        let items = node.items().iter().filter(|item| !matches!(item.value, Value::Null));
        let count = u64::try_from(items.clone().count()).unwrap_or(u64::MAX);
        if allowed.contains(&count) || items.clone().any(Node::is_unknown) || !matches!(node.value, Value::List(_)) {
            return;
        }
        let found = if count == 0 { "an empty list".to_owned() } else { format!("a list of {count} items") };
        self.refuse(node, &found, accepts, at);
    }

    fn items(&mut self, node: &Node, shape: &'static Shape, at: &At<'_>) {
        if !matches!(node.value, Value::List(_)) {
            self.leave_unread(node, None);
        }
        for (index, item) in node.items().iter().enumerate() {
            if !matches!(item.value, Value::Map(_)) {
                self.leave_unread(item, None);
            }
            self.map(item, shape, &At::Item(at, index));
        }
    }

    /// The values of a map with an unknown key, except for those that the map may have.
    fn leave_unknown_unread(&mut self, entries: &[Entry], shape: &'static Shape) {
        let dialect = self.dialect;
        let is_unknown = |entry: &&Entry| !shape.keys.iter().any(|key| dialect.is_spelling_of(&entry.key, key.name));
        for entry in entries.iter().filter(is_unknown) {
            self.leave_unread(&entry.node, None);
        }
    }

    /// The values of a map that lacks a key, except for names.
    fn leave_values_unread(&mut self, entries: &[Entry]) {
        for entry in entries.iter().filter(|entry| !is_name(entry)) {
            self.leave_unread(&entry.node, None);
        }
    }

    /// The values that a header, metadata or query parameter must have. `entries` also have its name.
    fn leave_match_unread(&mut self, node: &Node, entries: &[Entry]) {
        let name = entries.iter().find(|entry| is_name(entry)).and_then(|entry| entry.node.text());
        let hint = name.filter(|name| !name.eq_ignore_ascii_case("cookie")).map(str::to_owned);
        for entry in node.entries() {
            self.leave_unread(&entry.node, hint.clone());
        }
        if node.entries().is_empty() {
            self.leave_unread(node, hint);
        }
    }

    fn leave_unread(&mut self, node: &Node, hint: Option<String>) {
        if matches!(node.value, Value::Null | Value::Unknown | Value::Bool(_)) {
            return;
        }
        let mut texts = Vec::new();
        collect_texts(node, &mut texts);
        self.unread.push(Unread { hint, span: node.place.span, texts });
    }

    fn containers(&mut self, node: &Node, shape: &'static Shape) {
        let containers = node.items().iter().filter(|item| matches!(item.value, Value::Map(_)));
        for (number, container) in containers.enumerate() {
            self.container = Some(number);
            self.map(container, shape, &At::Top(shape));
        }
        self.container = None;
    }

    fn scalar(&mut self, node: &Node, accepts: &'static Accepts, at: &At<'_>) {
        let is_lenient = self.judges_types || self.dialect.is_lenient();
        let text = match &node.value {
            Value::Text(text) | Value::Number(text) => text,
            Value::Bool(is_on) if is_lenient && matches!(accepts, Accepts::OneOf(_)) => &is_on.to_string(),
            _ => return,
        };
        let is_number = matches!(node.value, Value::Number(_));
        // The reader notes values of another type.
        if is_number != matches!(accepts, Accepts::Whole(..)) && !is_lenient {
            return;
        }
        let text = Text::opened(text);
        if let Some(whole) = text.whole().filter(|whole| !accepts.accept(whole) && !is_placeholder(whole)) {
            self.refuse(node, whole, accepts, at);
        }
    }

    fn on_fargate(&mut self, node: &Node, supported: OnFargate, at: &At<'_>) {
        match supported {
            OnFargate::Same => {}
            OnFargate::Nothing => {
                if has_effect(node) {
                    self.add(at, node.place.span, Fault::NotOnFargate(&[]));
                }
            }
            OnFargate::Only(words) => {
                self.only(node, words, at);
                for (index, item) in node.items().iter().enumerate() {
                    self.only(item, words, &At::Item(at, index));
                }
            }
        }
    }

    fn only(&mut self, node: &Node, words: &'static [&'static str], at: &At<'_>) {
        if node.text().is_some_and(|text| !is_placeholder(text) && !words.contains(&text)) {
            self.add(at, node.place.span, Fault::NotOnFargate(words));
        }
    }

    fn refuse(&mut self, node: &Node, value: &str, accepts: &'static Accepts, at: &At<'_>) {
        self.leave_unread(node, Some(value.to_owned()));
        self.add(at, node.place.span, Fault::Refused(value.to_owned(), accepts, node.place.clone()));
    }

    fn add(&mut self, at: &At<'_>, span: Span, fault: Fault) {
        let (shape, key) = at.home();
        self.found.push(Departure { container: self.container, path: at.path(), shape, key, span, fault });
    }
}

fn is_name(entry: &Entry) -> bool {
    entry.key.eq_ignore_ascii_case("name")
}

fn collect_texts(node: &Node, texts: &mut Vec<String>) {
    match &node.value {
        Value::Text(text) | Value::Number(text) => texts.push(text.clone()),
        Value::List(items) => items.iter().for_each(|item| collect_texts(item, texts)),
        Value::Map(entries) => {
            let values = entries.iter().filter(|entry| !is_name(entry));
            values.for_each(|entry| collect_texts(&entry.node, texts));
        }
        Value::Null | Value::Bool(_) | Value::Unknown => {}
    }
}

/// Whether a value is more than none.
fn has_effect(node: &Node) -> bool {
    match &node.value {
        Value::Bool(is_on) => *is_on,
        Value::Text(text) | Value::Number(text) => !["", "0", "false"].contains(&text.as_str()),
        Value::List(items) => !items.is_empty(),
        Value::Map(_) => true,
        Value::Null | Value::Unknown => false,
    }
}
