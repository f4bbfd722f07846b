//! Maps whose values have the types of ECS's API.

use super::{
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
            pub(super) fn read(reader: &super::reader::MapReader<'_>) -> Result<Self, super::reader::Mismatch> {
                Ok(Self { $($field: reader.$kind($key)?,)* place: reader.place() })
            }
        }
    )*};
}

/// The type of a field that [`MapReader`] reads by the method of this name.
macro_rules! field {
    (text) => { $crate::definition::field::Field<$crate::definition::field::Text> };
    (texts) => { $crate::definition::field::List<$crate::definition::reader::field!(text)> };
    (number) => { $crate::definition::field::Field<u64> };
    (flag) => { $crate::definition::field::Field<bool> };
}
pub(super) use {field, record};

/// A map, and the spelling of its keys.
#[derive(Clone)]
pub(super) struct MapReader<'n> {
    node: &'n Node,
    dialect: Dialect,
    path: String,
    /// The bytes that findings point at if a value is absent.
    owner: Span,
}

impl<'n> MapReader<'n> {
    pub(super) fn new(node: &'n Node, dialect: Dialect, path: String) -> Result<Self, Mismatch> {
        let this = Self { node, dialect, path, owner: node.place.span };
        match node.value {
            Value::Map(_) => Ok(this),
            _ => Err(this.mismatch("a map")),
        }
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
        self.node.get(&self.dialect.spell(key))
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

    fn mismatch(&self, wanted: &'static str) -> Mismatch {
        mismatch(self.node, self.path.clone(), wanted)
    }

    fn field<T>(
        &self,
        key: &str,
        read: impl Fn(&Node) -> Option<T>,
        wanted: &'static str,
    ) -> Result<Field<T>, Mismatch> {
        let Some(node) = self.child(key) else {
            return Ok(Field { value: Maybe::Absent, place: self.absent(key) });
        };
        let value = match &node.value {
            Value::Unknown => Maybe::Unknown,
            // A string with unknown parts has an unknown value, unless its type allows such strings.
            Value::Text(text) if text.contains(HOLE) => read(node).map_or(Maybe::Unknown, Maybe::Known),
            _ => Maybe::Known(read(node).ok_or_else(|| mismatch(node, self.at(key), wanted))?),
        };
        Ok(Field { value, place: node.place.clone() })
    }

    pub(super) fn text(&self, key: &str) -> Result<Field<Text>, Mismatch> {
        let dialect = self.dialect;
        self.field(key, move |node| text(node, dialect), "a string")
    }

    pub(super) fn flag(&self, key: &str) -> Result<Field<bool>, Mismatch> {
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

    pub(super) fn number(&self, key: &str) -> Result<Field<u64>, Mismatch> {
        let dialect = self.dialect;
        let read = move |node: &Node| match &node.value {
            Value::Number(number) => whole(number),
            Value::Text(text) if dialect.is_lenient() => whole(text),
            _ => None,
        };
        self.field(key, read, "a whole number")
    }

    /// A nested map.
    pub(super) fn map<T>(
        &self,
        key: &str,
        read: impl Fn(&MapReader<'n>) -> Result<T, Mismatch>,
    ) -> Result<Field<T>, Mismatch> {
        let Some(node) = self.child(key) else {
            return Ok(Field { value: Maybe::Absent, place: self.absent(key) });
        };
        let value = match node.value {
            Value::Unknown => Maybe::Unknown,
            _ => Maybe::Known(read(&MapReader::new(node, self.dialect, self.at(key))?)?),
        };
        Ok(Field { value, place: node.place.clone() })
    }

    pub(super) fn maps<T>(
        &self,
        key: &str,
        read: impl Fn(&MapReader<'n>) -> Result<T, Mismatch>,
    ) -> Result<List<T>, Mismatch> {
        self.list(key, |node, path| read(&MapReader::new(node, self.dialect, path)?))
    }

    pub(super) fn texts(&self, key: &str) -> Result<List<Field<Text>>, Mismatch> {
        self.list(key, |node, path| {
            let value = text(node, self.dialect).ok_or_else(|| mismatch(node, path, "a string"))?;
            Ok(Field { value: Maybe::Known(value), place: node.place.clone() })
        })
    }

    fn list<T>(&self, key: &str, read: impl Fn(&'n Node, String) -> Result<T, Mismatch>) -> Result<List<T>, Mismatch> {
        let Some(node) = self.child(key) else {
            return Ok(List { items: Vec::new(), is_complete: true, place: self.absent(key), is_present: false });
        };
        let mut list = List { items: Vec::new(), is_complete: true, place: node.place.clone(), is_present: true };
        match &node.value {
            Value::Unknown => list.is_complete = false,
            Value::List(items) => {
                list.items.reserve_exact(items.len());
                for (index, item) in items.iter().enumerate() {
                    match item.value {
                        Value::Unknown => list.is_complete = false,
                        Value::Null => {}
                        _ => list.items.push(read(item, format!("{}[{index}]", self.at(key)))?),
                    }
                }
            }
            _ => return Err(mismatch(node, self.at(key), "a list")),
        }
        Ok(list)
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
    let found = node.kind().to_owned();
    let path = if path.is_empty() { "the task definition".to_owned() } else { path };
    Mismatch { span: node.place.span, path, found, wanted }
}
