//! The types of configuration fields, and the check of a configuration against its declaration.
//!
//! [`configuration`] turns one declaration into the struct that the controller reads and the table of fields that
//! [`ConfigCheck`] judges. The controller checks JSON; the auditor checks a file, whose values have places and may be unknown.

use std::{borrow::Cow, collections::BTreeSet};

use super::release::Releases;
use crate::release::Release;

/// A field of a section.
#[derive(Debug, Clone, Copy)]
pub struct Field {
    /// The key.
    pub name: &'static str,
    pub kind: Kind,
    /// The releases of consul-ecs that have it.
    pub releases: Releases,
    pub is_required: bool,
    /// Whether it may be null, which means the same as absent.
    pub is_nullable: bool,
    /// Whether the registration depends on it: then the controller reads it.
    pub is_read: bool,
    /// The value that has the same effect as none, beside zero and an empty string.
    pub default: Option<DefaultValue>,
}

/// What consul-ecs or Consul uses in place of an absent field.
#[derive(Debug, Clone, Copy)]
pub enum DefaultValue {
    Port(u16),
    Text(&'static str),
}

/// The type of a field.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    /// A string.
    Text,
    /// A string that is not empty.
    NotEmpty,
    OneOf(&'static [Choice]),
    /// True or false.
    Flag,
    /// An integer between these.
    Whole(i64, i64),
    /// A list of strings.
    Words,
    /// A list of different strings.
    Texts,
    /// A list of different ports.
    Ports,
    /// A map of strings.
    TextMap,
    /// A map with the contents of Consul or Envoy.
    AnyMap,
    Map(&'static Section),
    /// A list of maps.
    Maps(&'static Section),
}

/// A port; zero means the default, or none.
pub(super) const PORT: Kind = Kind::Whole(0, 65_535);
/// A port other than zero.
pub(super) const REAL_PORT: Kind = Kind::Whole(1, 65_535);

/// A possible value of a field.
#[derive(Debug)]
pub struct Choice {
    pub text: &'static str,
    pub releases: Releases,
}

/// A map with known fields.
#[derive(Debug)]
pub struct Section {
    /// Whether consul-ecs refuses unknown fields; otherwise it ignores them.
    pub is_strict: bool,
    /// Whether an unknown field may change the registration.
    pub is_read_in_full: bool,
    pub fields: &'static [Field],
}

impl Field {
    /// A field that may be absent or null.
    pub(super) const fn may(kind: Kind) -> Self {
        let releases = super::release::Feature::Configuration.releases();
        Self { name: "", kind, releases, is_required: false, is_nullable: true, is_read: false, default: None }
    }

    pub(super) const fn must(kind: Kind) -> Self {
        Self { is_required: true, is_nullable: false, ..Self::may(kind) }
    }

    /// A field that may be absent, but not null.
    pub(super) const fn not_null(kind: Kind) -> Self {
        Self { is_nullable: false, ..Self::may(kind) }
    }

    pub(super) const fn since(self, minor: u64) -> Self {
        Self { releases: Releases { since: Release::line(0, minor), ..self.releases }, ..self }
    }

    pub(super) const fn since_release(self, minor: u64, patch: u64) -> Self {
        Self { releases: Releases { since: Release::new(0, minor, patch), ..self.releases }, ..self }
    }

    /// Adds releases of older lines, which got the field later.
    pub(super) const fn and_in(self, backports: &'static [Release]) -> Self {
        Self { releases: Releases { backports, ..self.releases }, ..self }
    }

    pub(super) const fn default(self, default: DefaultValue) -> Self {
        Self { default: Some(default), ..self }
    }

    /// Whether a value has the same effect as none.
    fn is_needless<T>(&self, value: &FieldValue<'_, T>) -> bool {
        match (value, self.default) {
            (FieldValue::Null, _) => true,
            (FieldValue::Number(number), Some(DefaultValue::Port(port))) => number == "0" || number.parse() == Ok(port),
            (FieldValue::Text(text), Some(DefaultValue::Text(default))) => text.is_empty() || *text == default,
            _ => false,
        }
    }

    pub(super) const fn until(self, minor: u64) -> Self {
        Self { releases: self.releases.until(minor), ..self }
    }
}

impl Section {
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name == name)
    }
}

/// Declares sections: the table of their fields, and the structs of those that the controller reads.
///
/// `"key" => name: Type = Field::may(Kind);` is a field of both, `"key" = …` one of the table only. `strict`: consul-ecs
/// refuses unknown fields. `partly`: unknown fields do not change the registration.
macro_rules! configuration {
    (@is strict) => { true };
    (@is lenient) => { false };
    (@is read) => { true };
    (@is partly) => { false };
    (@read $name:ident) => { true };
    (@struct [$($meta:tt)*] [] $($rest:tt)*) => {};
    (@struct [$($meta:tt)*] [$struct:ident] $(($key:literal [$($name:ident: $type:ty)?]))*) => {
        $($meta)*
        #[derive(Debug, Clone, PartialEq, Eq, serde::Deserialize)]
        pub struct $struct {$($(
            #[serde(rename = $key)]
            pub $name: $type,
        )?)*}
    };
    ($(
        $(#[$meta:meta])*
        section $table:ident $(=> $struct:ident)? [$unknown:ident $read:ident] {
            $($key:literal $(=> $name:ident: $type:ty)? = $field:expr;)*
        }
    )*) => {$(
        configuration!(@struct [$(#[$meta])*] [$($struct)?] $(($key [$($name: $type)?]))*);

        pub static $table: $crate::consul_ecs::schema::Section = $crate::consul_ecs::schema::Section {
            is_strict: configuration!(@is $unknown),
            is_read_in_full: configuration!(@is $read),
            fields: &[$($crate::consul_ecs::schema::Field {
                name: $key,
                $(is_read: configuration!(@read $name),)?
                ..$field
            }),*],
        };
    )*};
}

/// Declares the values of a field: the enum that the controller reads, and the table of choices with their releases.
macro_rules! choices {
    (
        $(#[$meta:meta])*
        $enum:ident, $field:literal { $($(#[$variant_meta:meta])* $variant:ident = $text:literal since $since:literal,)+ }
    ) => {
        $crate::names::words! {
            $(#[$meta])*
            $enum, $field { $($(#[$variant_meta])* $variant = $text,)+ }
        }

        impl $enum {
            pub(super) const CHOICES: &[$crate::consul_ecs::schema::Choice] = &[$($crate::consul_ecs::schema::Choice {
                text: $text,
                releases: $crate::consul_ecs::release::Releases::since($since),
            }),+];
        }
    };
}

pub(super) use {choices, configuration};

/// A value in a configuration.
#[derive(Debug)]
pub enum FieldValue<'t, T> {
    /// A value that is known only at deployment.
    Unknown,
    Null,
    Flag,
    Number(Cow<'t, str>),
    Text(&'t str),
    List(Vec<T>),
    /// The keys are unique.
    Map(Vec<(&'t str, T)>),
}

/// A reference to a configuration that can be checked, or to a value in it.
pub trait ConfigTree<'t>: Copy {
    fn value(self) -> FieldValue<'t, Self>;
}

impl<'t> ConfigTree<'t> for &'t serde_json::Value {
    fn value(self) -> FieldValue<'t, Self> {
        use serde_json::Value as Json;
        match self {
            Json::Null => FieldValue::Null,
            Json::Bool(_) => FieldValue::Flag,
            Json::Number(number) => FieldValue::Number(number.to_string().into()),
            Json::String(text) => FieldValue::Text(text),
            Json::Array(items) => FieldValue::List(items.iter().collect()),
            Json::Object(fields) => FieldValue::Map(fields.iter().map(|(key, value)| (key.as_str(), value)).collect()),
        }
    }
}

impl<T> FieldValue<'_, T> {
    fn kind(&self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Null => "null",
            Self::Flag => "a boolean",
            Self::Number(_) => "a number",
            Self::Text(_) => "a string",
            Self::List(_) => "a list",
            Self::Map(_) => "a map",
        }
    }

    fn is_empty(&self) -> bool {
        matches!(self, Self::Null) || matches!(self, Self::List(items) if items.is_empty())
    }
}

/// A defect of a configuration.
#[derive(Debug)]
pub struct ConfigProblem<'t, T> {
    /// The value; for a field that is unknown or missing, or of other releases, the map.
    pub value: T,
    /// The key in the map, for an unknown field and one of other releases.
    pub key: Option<&'t str>,
    /// The field: `proxy.upstreams[0].localBindPort`.
    pub path: String,
    pub fault: ConfigFault,
    /// Whether the registration depends on it.
    pub changes_registration: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConfigFault {
    /// No release has the field.
    Unknown {
        /// Whether consul-ecs refuses it; otherwise it ignores it.
        is_refused: bool,
        /// The fields that the map may have.
        known: Vec<&'static str>,
    },
    /// The field is required.
    Missing,
    /// The field has another type, or is null: the expected type and the one it has.
    WrongType(&'static str, &'static str),
    /// The type is right, but the value is not.
    WrongValue(String),
    /// The release does not have the field, or this value of it.
    OtherRelease {
        /// The releases that have it.
        releases: Releases,
        /// The value, if the release has others.
        value: Option<&'static str>,
        /// Whether consul-ecs refuses it; otherwise it ignores it.
        is_refused: bool,
    },
}

/// A place in a configuration.
#[derive(Clone)]
struct Position {
    /// As in [`ConfigProblem::path`].
    path: String,
    /// As in [`ConfigProblem::changes_registration`].
    is_read: bool,
}

impl Position {
    fn key(&self, name: &str, is_read: bool) -> Self {
        let path = if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) };
        Self { path, is_read: self.is_read && is_read }
    }

    fn item(&self, index: usize) -> Self {
        Self { path: format!("{}[{index}]", self.path), is_read: self.is_read }
    }
}

/// A check of one configuration.
pub struct ConfigCheck<'t, T> {
    /// The releases that may read it; `None` if they are not known. Then no field is one of other releases.
    known: Option<Releases>,
    /// A release that may read it: its required fields are required.
    presumed: Release,
    problems: Vec<ConfigProblem<'t, T>>,
}

impl<'t, T: ConfigTree<'t>> ConfigCheck<'t, T> {
    /// The problems of `root`, in its order.
    pub fn run(root: T, section: &Section, known: Option<Releases>, presumed: Release) -> Vec<ConfigProblem<'t, T>> {
        let mut check = Self { known, presumed, problems: Vec::new() };
        let at = Position { path: String::new(), is_read: true };
        match root.value() {
            FieldValue::Map(entries) => check.map(root, &entries, section, &at),
            other => {
                let at = Position { path: "the configuration".to_owned(), ..at };
                check.add(root, at, ConfigFault::WrongType("a map", other.kind()));
            }
        }
        check.problems
    }

    fn map(&mut self, map: T, entries: &[(&'t str, T)], section: &Section, at: &Position) {
        for (key, value) in entries {
            match section.field(key) {
                // The release ignores the field, which changes nothing.
                Some(field)
                    if !section.is_strict
                        && self.is_of_other_releases(field.releases)
                        && field.is_needless(&value.value()) => {}
                Some(field) if self.is_of_other_releases(field.releases) => {
                    // A field of older releases changes nothing if it is empty: the modules pass `checks` as an empty list.
                    let has_ended = self.known.is_some_and(|known| field.releases.since.first() < known.since.first());
                    let is_read = section.is_read_in_full && !(has_ended && value.value().is_empty());
                    let (releases, is_refused) = (field.releases, section.is_strict);
                    let fault = ConfigFault::OtherRelease { releases, value: None, is_refused };
                    self.add_key(map, key, at.key(key, is_read), fault);
                }
                // A required field that is null counts as missing.
                Some(field)
                    if matches!(value.value(), FieldValue::Null) && (field.is_nullable || field.is_required) => {}
                Some(field) => self.value(*value, &field.kind, &at.key(key, field.is_read)),
                None => {
                    let known = section.fields.iter().map(|field| field.name).collect();
                    let fault = ConfigFault::Unknown { is_refused: section.is_strict, known };
                    self.add_key(map, key, at.key(key, section.is_read_in_full), fault);
                }
            }
        }
        let is_given =
            |name: &str| entries.iter().any(|(key, it)| *key == name && !matches!(it.value(), FieldValue::Null));
        let presumed = self.presumed;
        for field in section.fields.iter().filter(|it| it.is_required && it.releases.contain(presumed)) {
            if !is_given(field.name) {
                let is_partly_read = matches!(field.kind, Kind::Map(section) if !section.is_read_in_full);
                let is_read = field.is_read && section.is_read_in_full && !is_partly_read;
                self.add(map, at.key(field.name, is_read), ConfigFault::Missing);
            }
        }
    }

    fn is_of_other_releases(&self, releases: Releases) -> bool {
        self.known.is_some_and(|known| !releases.overlaps(known))
    }

    fn value(&mut self, node: T, kind: &Kind, at: &Position) {
        match (kind, node.value()) {
            (Kind::NotEmpty, FieldValue::Text("")) => self.wrong_value(node, at, "is empty"),
            (_, FieldValue::Unknown)
            | (Kind::Text | Kind::NotEmpty, FieldValue::Text(_))
            | (Kind::Flag, FieldValue::Flag)
            | (Kind::AnyMap, FieldValue::Map(_)) => {}
            (Kind::OneOf(choices), FieldValue::Text(text)) => self.choice(node, choices, text, at),
            (Kind::Whole(min, max), FieldValue::Number(number)) => self.whole(node, &number, (*min, *max), at),
            (Kind::Words | Kind::Texts | Kind::Ports, FieldValue::List(items)) => self.list(&items, kind, at),
            (Kind::TextMap, FieldValue::Map(entries)) => {
                for (key, value) in entries {
                    self.value(value, &Kind::Text, &at.key(key, true));
                }
            }
            (Kind::Map(section), FieldValue::Map(entries)) => self.map(node, &entries, section, at),
            (Kind::Maps(section), FieldValue::List(items)) => {
                for (index, item) in items.into_iter().enumerate() {
                    self.value(item, &Kind::Map(section), &at.item(index));
                }
            }
            (kind, other) => self.add(node, at.clone(), ConfigFault::WrongType(wanted(kind), other.kind())),
        }
    }

    fn choice(&mut self, node: T, choices: &'static [Choice], text: &str, at: &Position) {
        match choices.iter().find(|choice| choice.text == text) {
            Some(choice) if self.is_of_other_releases(choice.releases) => {
                let (releases, value) = (choice.releases, Some(choice.text));
                self.add(node, at.clone(), ConfigFault::OtherRelease { releases, value, is_refused: true });
            }
            Some(_) => {}
            None => {
                let known: Vec<&str> = choices.iter().map(|choice| choice.text).collect();
                self.wrong_value(node, at, &format!("is {text:?}, which is not one of {}", known.join(", ")));
            }
        }
    }

    fn whole(&mut self, node: T, number: &str, (min, max): (i64, i64), at: &Position) {
        match number.parse::<i64>() {
            Ok(value) if value < min || value > max => {
                let range = if max == i64::MAX { format!("{min} or more") } else { format!("{min} to {max}") };
                self.wrong_value(node, at, &format!("is {value}, and may be {range}"));
            }
            Ok(_) => {}
            // JSON Schema accepts 20.0 as an integer, Go does not.
            Err(_) => self.wrong_value(node, at, &format!("is {number}, and has to be a whole number")),
        }
    }

    fn list(&mut self, items: &[T], kind: &Kind, at: &Position) {
        let mut seen = BTreeSet::new();
        for (index, item) in items.iter().copied().enumerate() {
            let at = at.item(index);
            self.value(item, if matches!(kind, Kind::Ports) { &PORT } else { &Kind::Text }, &at);
            let text = match item.value() {
                FieldValue::Text(text) => text.to_owned(),
                FieldValue::Number(number) => number.into_owned(),
                _ => continue,
            };
            if !matches!(kind, Kind::Words) && seen.replace(text.clone()).is_some() {
                self.wrong_value(item, &at, &format!("is {text}, which is in the list already"));
            }
        }
    }

    fn wrong_value(&mut self, node: T, at: &Position, how: &str) {
        self.add(node, at.clone(), ConfigFault::WrongValue(how.to_owned()));
    }

    fn add(&mut self, value: T, at: Position, fault: ConfigFault) {
        let Position { path, is_read } = at;
        self.problems.push(ConfigProblem { value, key: None, path, fault, changes_registration: is_read });
    }

    fn add_key(&mut self, map: T, key: &'t str, at: Position, fault: ConfigFault) {
        let Position { path, is_read } = at;
        self.problems.push(ConfigProblem { value: map, key: Some(key), path, fault, changes_registration: is_read });
    }
}

fn wanted(kind: &Kind) -> &'static str {
    match kind {
        Kind::Text | Kind::NotEmpty | Kind::OneOf(_) => "a string",
        Kind::Flag => "true or false",
        Kind::Whole(..) => "a whole number",
        Kind::Words | Kind::Texts | Kind::Ports | Kind::Maps(_) => "a list",
        Kind::TextMap | Kind::AnyMap | Kind::Map(_) => "a map",
    }
}
