//! The value of `CONSUL_ECS_CONFIG_JSON` on a container.

use audit_read::definition::{Container, Maybe, TaskDefinition};
use document::{HOLE, Node, ParseError, PathStep, Place, Value};
use mesh::consul_ecs::{self, CONFIG_VARIABLE, ConfigTree};

/// The configuration of consul-ecs. Source: <https://developer.hashicorp.com/consul/docs/reference/ecs/configuration>
#[derive(Debug, Clone)]
pub struct PlacedConfiguration<'d> {
    /// The configuration. Parts of it may be unknown.
    pub content: &'d Maybe<Result<Node, ParseError>>,
    /// The place of the variable's value; of the container, if it has no such variable.
    pub place: Place,
}

impl<'d> PlacedConfiguration<'d> {
    pub fn of(definition: &TaskDefinition, container: &'d Container) -> Self {
        let (content, place) = match container.variable(CONFIG_VARIABLE) {
            Maybe::Known(variable) => (variable.json(&definition.file.text), variable.value.place.clone()),
            // The value may come from Secrets Manager or the Parameter Store.
            Maybe::Absent if !matches!(container.secret(CONFIG_VARIABLE), Maybe::Absent) => {
                (&Maybe::Unknown, Place::fixed(container.span()))
            }
            Maybe::Absent => (&Maybe::Absent, Place::fixed(container.span())),
            Maybe::Unknown => (&Maybe::Unknown, Place::fixed(container.span())),
        };
        Self { content, place }
    }

    /// The configuration, if it exists and is JSON.
    pub fn json(&self) -> Option<&'d Node> {
        match self.content {
            Maybe::Known(Ok(node)) => Some(node),
            Maybe::Known(Err(_)) | Maybe::Absent | Maybe::Unknown => None,
        }
    }

    /// The value at a path such as `proxy.publicListenerPort`. If the configuration is missing or invalid, the value
    /// counts as unknown: other rules report that.
    pub fn at(&self, path: &str) -> Maybe<&'d Node> {
        let Some(mut node) = self.json() else { return Maybe::Unknown };
        for key in path.split('.') {
            match (node.get(key), &node.value) {
                (Some(next), _) => node = next,
                (None, Value::Map(_)) => return Maybe::Absent,
                (None, _) => return Maybe::Unknown,
            }
        }
        match &node.value {
            Value::Unknown => Maybe::Unknown,
            Value::Text(text) if text.contains(HOLE) => Maybe::Unknown,
            _ => Maybe::Known(node),
        }
    }

    /// A string. Empty counts as absent, another type as unknown: another rule reports that.
    pub fn name_at(&self, path: &str) -> Maybe<&str> {
        match self.at(path) {
            Maybe::Known(node) => match node.text() {
                Some("") => Maybe::Absent,
                Some(name) => Maybe::Known(name),
                None => Maybe::Unknown,
            },
            Maybe::Absent => Maybe::Absent,
            Maybe::Unknown => Maybe::Unknown,
        }
    }

    /// A flag, or `default` if it is absent; `None` if it is unknown or not a boolean.
    pub fn flag(&self, path: &str, default: bool) -> Option<bool> {
        match self.at(path) {
            Maybe::Known(Node { value: Value::Bool(value), .. }) => Some(*value),
            Maybe::Absent => Some(default),
            Maybe::Known(_) | Maybe::Unknown => None,
        }
    }

    /// A number, or `default` if it is absent; `None` if it is unknown or not a whole number.
    pub fn number(&self, path: &str, default: u64) -> Option<u64> {
        match self.at(path) {
            Maybe::Known(node) => node.number(),
            Maybe::Absent => Some(default),
            Maybe::Unknown => None,
        }
    }

    /// A string; `None` if it is absent, unknown or not a string.
    pub fn text(&self, path: &str) -> Option<&str> {
        match self.at(path) {
            Maybe::Known(node) => node.text(),
            Maybe::Absent | Maybe::Unknown => None,
        }
    }

    /// The items of a list, empty if it is absent; `None` if it is unknown or not a list.
    pub fn list(&self, path: &str) -> Option<&[Node]> {
        match self.at(path) {
            Maybe::Known(node) => matches!(node.value, Value::List(_)).then(|| node.items()),
            Maybe::Absent => Some(&[]),
            Maybe::Unknown => None,
        }
    }

    /// The place of the value at `path`, or the place where it would be.
    pub fn place_of(&self, path: &str) -> Place {
        let Some(mut node) = self.json() else { return self.place.clone() };
        let mut place = node.place.clone();
        let mut is_there = true;
        for key in path.split('.') {
            if let Some(next) = node.get(key).filter(|_| is_there) {
                node = next;
                place = next.place.clone();
            } else {
                is_there = false;
                place = place.then(PathStep::Key(key.to_owned()), node.place.span);
            }
        }
        place
    }
}

/// A configuration or a value in it, to be checked against the schema of consul-ecs.
#[derive(Debug, Clone, Copy)]
pub struct ConfigValue<'n>(pub &'n Node);

/// A string with a part that is known only at deployment counts as unknown.
impl<'n> ConfigTree<'n> for ConfigValue<'n> {
    fn value(self) -> consul_ecs::FieldValue<'n, Self> {
        match &self.0.value {
            Value::Unknown => consul_ecs::FieldValue::Unknown,
            Value::Null => consul_ecs::FieldValue::Null,
            Value::Bool(_) => consul_ecs::FieldValue::Flag,
            Value::Number(number) => consul_ecs::FieldValue::Number(number.into()),
            Value::Text(text) if text.contains(HOLE) => consul_ecs::FieldValue::Unknown,
            Value::Text(text) => consul_ecs::FieldValue::Text(text),
            Value::List(items) => consul_ecs::FieldValue::List(items.iter().map(Self).collect()),
            Value::Map(entries) => consul_ecs::FieldValue::Map(
                entries.iter().map(|entry| (entry.key.as_str(), Self(&entry.node))).collect(),
            ),
        }
    }
}
