//! Checks the configuration against the schemas of consul-ecs.

mod fields;
mod registration;
mod shape;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use semver::Version;

use self::shape::{Choice, Fact, Kind, Releases, Shape};
use crate::subject::{Configuration, ConsulEcs};
use audit_read::document::{HOLE, Node, Span, Value};

/// A defect of the configuration.
#[derive(Debug)]
pub(super) struct Problem {
    /// Its bytes.
    pub span: Span,
    /// The field: `proxy.upstreams[0].localBindPort`.
    pub path: String,
    /// Its kind.
    pub fault: Fault,
}

/// A kind of defect.
#[derive(Debug)]
pub(super) enum Fault {
    /// The field exists in no release.
    Unknown {
        /// Whether consul-ecs refuses it; otherwise it ignores it.
        is_refused: bool,
        /// A similar field.
        nearest: Option<&'static str>,
    },
    /// The field is required.
    Missing,
    /// The field has another type, or is null.
    WrongType(&'static str, String),
    /// The type is right, but the value is not.
    WrongValue(String),
    /// The field does not exist in the image's version.
    OtherVersion {
        /// The releases that have it, as users read them.
        releases: String,
        /// Whether consul-ecs refuses it; otherwise it ignores it.
        is_refused: bool,
    },
}

/// The defects of a task's configuration, in the order of the file.
pub(super) fn problems(consul_ecs: &ConsulEcs<'_, '_>) -> Vec<Problem> {
    let Some(json) = consul_ecs.configuration.and_then(Configuration::json) else { return Vec::new() };
    // A tag such as 0.9 moves to the newest release of its line.
    let newest = |version: Version| match &consul_ecs.release {
        Some(release) => release.clone(),
        None => Version { patch: u64::MAX, ..version },
    };
    let image = consul_ecs.version.clone().filter(|_| consul_ecs.fits).map(newest);
    let presumed = image.clone().unwrap_or_else(|| consul_ecs.presumed.clone());
    let mut walk = Walk { image, presumed, problems: Vec::new() };
    match &json.value {
        Value::Map(_) => walk.map(json, &fields::ROOT, ""),
        _ => walk.wrong_type(json, "the configuration", "a map"),
    }
    walk.problems
}

struct Walk {
    /// The version in the image's tag.
    image: Option<Version>,
    /// The same version, or one of the generation.
    presumed: Version,
    problems: Vec<Problem>,
}

impl Walk {
    fn map(&mut self, node: &Node, shape: &Shape, path: &str) {
        let at = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
        for entry in node.entries() {
            let path = at(&entry.key);
            if let Some(fact) = shape.field(&entry.key) {
                self.field(&entry.node, entry.key_span, fact, shape.is_strict, &path);
            } else {
                let nearest = shape.nearest(&entry.key);
                self.add(entry.key_span, &path, Fault::Unknown { is_refused: shape.is_strict, nearest });
            }
        }
        let required = shape.fields.iter().filter(|fact| fact.is_required && fact.releases.contain(&self.presumed));
        for fact in required.collect::<Vec<_>>() {
            if node.get(fact.name).is_none() {
                self.add(node.place.span, &at(fact.name), Fault::Missing);
            }
        }
    }

    fn field(&mut self, node: &Node, key: Span, fact: &Fact, is_refused: bool, path: &str) {
        if self.is_of_another_version(fact.releases) {
            return self.add(key, path, Fault::OtherVersion { releases: fact.releases.shown(), is_refused });
        }
        match &node.value {
            Value::Unknown => {}
            // A required field that is null counts as missing.
            Value::Null if fact.is_nullable || fact.is_required => {}
            Value::Text(text) if text.contains(HOLE) => {}
            _ => self.value(node, &fact.kind, path),
        }
    }

    fn is_of_another_version(&self, releases: Releases) -> bool {
        self.image.as_ref().is_some_and(|version| !releases.contain(version))
    }

    fn value(&mut self, node: &Node, kind: &Kind, path: &str) {
        match (kind, &node.value) {
            (Kind::NotEmpty, Value::Text(text)) if text.is_empty() => self.wrong_value(node, path, "is empty"),
            (_, Value::Unknown)
            | (Kind::Text | Kind::NotEmpty, Value::Text(_))
            | (Kind::Flag, Value::Bool(_))
            | (Kind::AnyMap, Value::Map(_)) => {}
            (Kind::OneOf(choices), Value::Text(text)) => self.choice(node, choices, text, path),
            (Kind::Whole(min, max), Value::Number(number)) => self.whole(node, number, (*min, *max), path),
            (Kind::Words | Kind::Texts | Kind::Ports, Value::List(items)) => self.list(items, kind, path),
            (Kind::TextMap, Value::Map(entries)) => {
                for entry in entries {
                    self.value(&entry.node, &Kind::Text, &format!("{path}.{}", entry.key));
                }
            }
            (Kind::Map(shape), Value::Map(_)) => self.map(node, shape, path),
            (Kind::Maps(shape), Value::List(items)) => {
                for (index, item) in items.iter().enumerate() {
                    self.value(item, &Kind::Map(shape), &format!("{path}[{index}]"));
                }
            }
            (kind, _) => self.wrong_type(node, path, wanted(kind)),
        }
    }

    fn choice(&mut self, node: &Node, choices: &[Choice], text: &str, path: &str) {
        match choices.iter().find(|choice| choice.text == text) {
            Some(choice) if self.is_of_another_version(choice.releases) => {
                let fault = Fault::OtherVersion { releases: choice.releases.shown(), is_refused: true };
                self.add(node.place.span, &format!("{path} {text}"), fault);
            }
            Some(_) => {}
            None => {
                let known: Vec<&str> = choices.iter().map(|choice| choice.text).collect();
                self.wrong_value(node, path, &format!("is {text:?}, which is not one of {}", known.join(", ")));
            }
        }
    }

    fn whole(&mut self, node: &Node, number: &str, (min, max): (i64, i64), path: &str) {
        match number.parse::<i64>() {
            Ok(value) if value < min || value > max => {
                let range = if max == i64::MAX { format!("{min} or more") } else { format!("{min} to {max}") };
                self.wrong_value(node, path, &format!("is {value}, and may be {range}"));
            }
            Ok(_) => {}
            // JSON Schema accepts 20.0 as an integer, Go does not.
            Err(_) => self.wrong_value(node, path, &format!("is {number}, and has to be a whole number")),
        }
    }

    fn list(&mut self, items: &[Node], kind: &Kind, path: &str) {
        let mut seen = BTreeSet::new();
        for (index, item) in items.iter().enumerate() {
            let path = format!("{path}[{index}]");
            let one = if matches!(kind, Kind::Ports) { &shape::PORT } else { &Kind::Text };
            self.value(item, one, &path);
            if let Value::Text(text) | Value::Number(text) = &item.value
                && !matches!(kind, Kind::Words)
                && !text.contains(HOLE)
                && !seen.insert(text.clone())
            {
                self.wrong_value(item, &path, &format!("is {text}, which is in the list already"));
            }
        }
    }

    fn wrong_type(&mut self, node: &Node, path: &str, wanted: &'static str) {
        self.add(node.place.span, path, Fault::WrongType(wanted, node.kind().to_owned()));
    }

    fn wrong_value(&mut self, node: &Node, path: &str, how: &str) {
        self.add(node.place.span, path, Fault::WrongValue(how.to_owned()));
    }

    fn add(&mut self, span: Span, path: &str, fault: Fault) {
        self.problems.push(Problem { span, path: path.to_owned(), fault });
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
