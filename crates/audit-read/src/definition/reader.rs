//! Maps whose values have the types of ECS's API.

use std::cell::RefCell;

use super::{
    container::LogOption,
    dialect::Dialect,
    field::{Field, List, Maybe, Text},
};
use document::{HOLE, InputProblem, Node, PathStep, Place, SourceFile, Span, Value};

/// A value whose type differs from ECS's API.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {found} where {wanted} is expected")]
pub struct Mismatch {
    /// The bytes of the value.
    pub span: Span,
    /// Its path: `containerDefinitions[0].essential`.
    pub path: String,
    /// The type of the value.
    pub found: String,
    /// The type in ECS's API.
    pub wanted: &'static str,
}

impl Mismatch {
    /// The problem of the definition called `address`.
    pub(crate) fn problem(&self, file: &SourceFile, address: &str) -> InputProblem {
        let owner = if address.is_empty() { String::new() } else { format!("{address}: ") };
        InputProblem::unexpected(file, self.span, &format!("{owner}{self}"))
    }
}

/// Records of ECS's API: each field with its type and with its key, as ECS spells it.
macro_rules! record {
    ($($(#[$doc:meta])* pub struct $name:ident {
        $($(#[$about:meta])* $field:ident: $kind:ident($key:literal),)*
    })*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone)]
        pub struct $name {
            $($(#[$about])* pub $field: $crate::definition::reader::field!($kind),)*
            /// Its place in the file.
            pub place: document::Place,
        }

        impl $name {
            pub(super) fn read(reader: &super::reader::MapReader<'_>) -> Self {
                Self { $($field: reader.$kind($key),)* place: reader.place() }
            }
        }
    )*};
}

/// The type of a field that [`MapReader`] reads by the method of this name.
macro_rules! field {
    (text) => { $crate::definition::field::Field<$crate::definition::field::Text> };
    (words) => { $crate::definition::field::List<$crate::definition::reader::field!(text)> };
    (number) => { $crate::definition::field::Field<u64> };
    (limit) => { $crate::definition::field::Field<u64> };
    (flag) => { $crate::definition::field::Field<bool> };
}
pub(super) use {field, record};

/// A map, and the spelling of its keys. A value of another type than in ECS's API counts as unknown, and is noted.
#[derive(Clone)]
pub(super) struct MapReader<'n> {
    node: &'n Node,
    dialect: Dialect,
    path: String,
    /// The bytes that findings point at if a value is absent.
    owner: Span,
    mismatches: &'n RefCell<Vec<Mismatch>>,
}

/// Reads the map `node`. Also returns the values in it whose type differs from ECS's API; without a map, nothing is read.
pub(super) fn read_map<T>(
    node: &Node,
    dialect: Dialect,
    path: String,
    read: impl FnOnce(MapReader<'_>) -> T,
) -> (Option<T>, Vec<Mismatch>) {
    let mismatches = RefCell::new(Vec::new());
    let value = MapReader::new(node, dialect, path, &mismatches).map(read);
    (value, mismatches.into_inner())
}

impl<'n> MapReader<'n> {
    fn new(node: &'n Node, dialect: Dialect, path: String, mismatches: &'n RefCell<Vec<Mismatch>>) -> Option<Self> {
        if !matches!(node.value, Value::Map(_)) {
            mismatches.borrow_mut().push(mismatch(node, path, "a map"));
            return None;
        }
        Some(Self { node, dialect, path, owner: node.place.span, mismatches })
    }

    /// Points findings about absent values at `span`.
    pub(super) fn owned_by(mut self, span: Span) -> Self {
        self.owner = span;
        self
    }

    pub(super) fn place(&self) -> Place {
        self.node.place.clone()
    }

    fn child(&self, key: &str) -> Option<&'n Node> {
        if !self.dialect.matches_keys_in_any_case() {
            return self.node.get(&self.dialect.spell(key));
        }
        // Of several keys, the last counts.
        let entry = self.node.entries().iter().rev().find(|entry| entry.key.eq_ignore_ascii_case(key))?;
        (!matches!(entry.node.value, Value::Null)).then_some(&entry.node)
    }

    fn at(&self, key: &str) -> String {
        let key = self.dialect.spell(key);
        if self.path.is_empty() { key } else { format!("{}.{key}", self.path) }
    }

    /// Where a value would be. A null is there already: an edit replaces it, if edits reach it.
    fn absent(&self, key: &str) -> Place {
        let key = self.dialect.spell(key);
        match self.node.entries().iter().find(|entry| entry.key == key) {
            Some(null) => Place { span: self.owner, ..null.node.place.clone() },
            None => self.node.place.then(PathStep::Key(key), self.owner),
        }
    }

    fn note(&self, node: &Node, path: String, wanted: &'static str) {
        self.mismatches.borrow_mut().push(mismatch(node, path, wanted));
    }

    fn field<T>(&self, key: &str, read: impl Fn(&Node) -> Option<T>, wanted: &'static str) -> Field<T> {
        let Some(node) = self.child(key) else {
            return Field { value: Maybe::Absent, place: self.absent(key) };
        };
        let value = match (&node.value, read(node)) {
            (Value::Unknown, _) => Maybe::Unknown,
            (_, Some(value)) => Maybe::Known(value),
            // A string with unknown parts has an unknown value, unless its type allows such strings.
            (Value::Text(text), None) if text.contains(HOLE) => Maybe::Unknown,
            (_, None) => {
                self.note(node, self.at(key), wanted);
                Maybe::Unknown
            }
        };
        Field { value, place: node.place.clone() }
    }

    /// A string in which placeholders of other programs are unknown parts: a name, an image, an ARN.
    pub(super) fn text(&self, key: &str) -> Field<Text> {
        let dialect = self.dialect;
        self.field(key, move |node| text(node, dialect).map(|text| Text::opened(&text.0)), "a string")
    }

    /// A string under a name of the user's or of a driver.
    pub(super) fn own_text(&self, name: &str) -> Field<Text> {
        let Some(node) = self.node.get(name) else { return Field { value: Maybe::Absent, place: self.absent(name) } };
        self.option(node)
    }

    fn option(&self, node: &Node) -> Field<Text> {
        let text = text(node, self.dialect).map(|text| Text::opened(&text.0));
        Field { value: text.map_or(Maybe::Unknown, Maybe::Known), place: node.place.clone() }
    }

    /// A string as it is: a program or shell in the container may read what looks like a placeholder.
    pub(super) fn literal(&self, key: &str) -> Field<Text> {
        let dialect = self.dialect;
        self.field(key, move |node| text(node, dialect), "a string")
    }

    /// A string as users read it.
    pub(super) fn shown(&self, key: &str) -> Option<String> {
        text(self.child(key)?, self.dialect).map(|text| text.shown())
    }

    pub(super) fn flag(&self, key: &str) -> Field<bool> {
        let dialect = self.dialect;
        let read = move |node: &Node| match &node.value {
            Value::Bool(value) => Some(*value),
            // CloudFormation reads YAML 1.1.
            Value::Text(text) if dialect.is_lenient() => match text.to_lowercase().as_str() {
                "true" | "yes" | "on" => Some(true),
                "false" | "no" | "off" => Some(false),
                _ => None,
            },
            _ => None,
        };
        self.field(key, read, "true or false")
    }

    /// A whole number that is not negative.
    pub(super) fn number(&self, key: &str) -> Field<u64> {
        self.field(key, self.whole(whole), "a whole number")
    }

    /// A resource limit. -1, which means none, is the largest number.
    pub(super) fn limit(&self, key: &str) -> Field<u64> {
        let limit = |number: &str| if number == "-1" { Some(u64::MAX) } else { whole(number) };
        self.field(key, self.whole(limit), "a whole number")
    }

    fn whole(&self, read: impl Fn(&str) -> Option<u64>) -> impl Fn(&Node) -> Option<u64> {
        let dialect = self.dialect;
        move |node: &Node| match &node.value {
            Value::Number(number) => read(number),
            Value::Text(text) if dialect.is_lenient() => read(text),
            _ => None,
        }
    }

    /// A nested map.
    pub(super) fn map<T>(&self, key: &str, read: impl Fn(&MapReader<'n>) -> T) -> Field<T> {
        let Some(node) = self.child(key) else {
            return Field { value: Maybe::Absent, place: self.absent(key) };
        };
        let value = match node.value {
            Value::Unknown => Maybe::Unknown,
            _ => self.nested(node, self.at(key)).map_or(Maybe::Unknown, |map| Maybe::Known(read(&map))),
        };
        Field { value, place: node.place.clone() }
    }

    fn nested(&self, node: &'n Node, path: String) -> Option<Self> {
        Self::new(node, self.dialect, path, self.mismatches)
    }

    pub(super) fn maps<T>(&self, key: &str, read: impl Fn(&MapReader<'n>) -> T) -> List<T> {
        self.list(key, |node, path| self.nested(node, path).map(|map| read(&map)))
    }

    /// The strings of a list as they are: the words of a command.
    pub(super) fn words(&self, key: &str) -> List<Field<Text>> {
        self.texts_by(key, |text| text)
    }

    /// The strings of a list, in which placeholders are unknown parts.
    pub(super) fn texts(&self, key: &str) -> List<Field<Text>> {
        self.texts_by(key, |text| Text::opened(&text.0))
    }

    fn texts_by(&self, key: &str, read: impl Fn(Text) -> Text) -> List<Field<Text>> {
        self.list(key, |node, path| {
            let text = text(node, self.dialect);
            if text.is_none() {
                self.note(node, path, "a string");
            }
            let value = text.map_or(Maybe::Unknown, |text| Maybe::Known(read(text)));
            Some(Field { value, place: node.place.clone() })
        })
    }

    /// The keys of a map that are names of the user's or of a driver.
    pub(super) fn options(&self, key: &str) -> List<LogOption> {
        let Some(node) = self.child(key) else { return List::without_items(true, &self.absent(key)) };
        let mut list = List::without_items(!node.is_unknown(), &node.place);
        list.is_present = true;
        for entry in node.entries() {
            let name = Field { value: Maybe::Known(Text::opened(&entry.key)), place: Place::fixed(entry.key_span) };
            list.items.push(LogOption { name, value: self.option(&entry.node) });
        }
        list
    }

    /// A list. An item that cannot be read is left out: the list is not complete then.
    fn list<T>(&self, key: &str, read: impl Fn(&'n Node, String) -> Option<T>) -> List<T> {
        let Some(node) = self.child(key) else {
            return List { items: Vec::new(), is_complete: true, place: self.absent(key), is_present: false };
        };
        let mut list = List { items: Vec::new(), is_complete: true, place: node.place.clone(), is_present: true };
        match &node.value {
            Value::Unknown => list.is_complete = false,
            Value::List(items) => {
                list.items.reserve_exact(items.len());
                for (index, item) in items.iter().enumerate() {
                    let read = match item.value {
                        Value::Unknown => None,
                        Value::Null => continue,
                        _ => read(item, format!("{}[{index}]", self.at(key))),
                    };
                    list.is_complete &= read.is_some();
                    list.items.extend(read);
                }
            }
            _ => {
                self.note(node, self.at(key), "a list");
                list.is_complete = false;
            }
        }
        list
    }
}

fn text(node: &Node, dialect: Dialect) -> Option<Text> {
    match &node.value {
        Value::Text(text) => Some(Text(text.clone())),
        Value::Number(number) if dialect.is_lenient() => Some(Text(number.clone())),
        Value::Bool(value) if dialect.is_lenient() => Some(Text(value.to_string())),
        _ => None,
    }
}

fn whole(number: &str) -> Option<u64> {
    number.parse().ok().or_else(|| number.strip_suffix(".0")?.parse().ok())
}

fn mismatch(node: &Node, path: String, wanted: &'static str) -> Mismatch {
    // The value may be a secret, or one in the wrong place: the message contains only its type.
    let found = match &node.value {
        Value::Number(number) if number.starts_with('-') => "a negative number",
        _ => node.kind(),
    };
    let path = if path.is_empty() { "the task definition".to_owned() } else { path };
    Mismatch { span: node.place.span, path, found: found.to_owned(), wanted }
}
