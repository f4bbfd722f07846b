//! The inputs of a call, with the defaults of the module.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use super::release::Release;
use crate::{
    document::{Entry, HOLE, Node, Span, Value},
    input::{
        terraform::string_of,
        terraform_source::{
            blocks::Reader,
            values::{as_bool, entry, equal, is_open, list, map, merged, node, text, unknown},
        },
    },
};

/// The inputs of a call. What the module makes by itself has the place of the call's name.
pub(super) struct Inputs {
    pub(super) given: BTreeMap<String, Node>,
    pub(super) label: Span,
    pub(super) release: Release,
}

impl Inputs {
    pub(super) fn of(reader: &Reader<'_, '_>, release: Release) -> Self {
        let given = reader.arguments().map(|attribute| (attribute.name.clone(), reader.value(attribute)));
        Self { given: given.collect(), label: reader.block.name_span(), release }
    }

    /// An input that is not null.
    pub(super) fn get(&self, name: &str) -> Option<&Node> {
        self.given.get(name).filter(|value| !matches!(value.value, Value::Null))
    }

    /// An input, or the module's default.
    pub(super) fn or(&self, name: &str, default: Json) -> Node {
        self.get(name).cloned().unwrap_or_else(|| self.made(default))
    }

    /// A string, which the module's type makes of numbers as well.
    pub(super) fn text(&self, name: &str, default: &str) -> Node {
        let value = self.or(name, default.into());
        match &value.value {
            Value::Number(number) => text(number.clone(), value.place.span),
            _ => value,
        }
    }

    /// A number, which the module's type makes of strings as well.
    pub(super) fn number(&self, name: &str, default: u64) -> Node {
        let value = self.or(name, default.into());
        match &value.value {
            Value::Text(number) if number.contains(HOLE) => unknown(value.place.span),
            Value::Text(number) => node(Value::Number(number.clone()), value.place.span),
            _ => value,
        }
    }

    /// A flag as the module reads it; false by default.
    pub(super) fn flag(&self, name: &str) -> Node {
        self.flag_or(name, false)
    }

    /// Whether a flag is set; `None` if that is not known.
    pub(super) fn is(&self, name: &str) -> Option<bool> {
        as_bool(&self.flag(name))
    }

    /// Transparent proxy, which is on by default since 0.8. Source: the changelog of 0.8.0.
    pub(super) fn transparent_proxy(&self) -> Node {
        self.flag_or("enable_transparent_proxy", self.release.minor >= 8)
    }

    fn flag_or(&self, name: &str, default: bool) -> Node {
        let value = self.or(name, default.into());
        match as_bool(&value) {
            Some(flag) => node(Value::Bool(flag), value.place.span),
            None => unknown(value.place.span),
        }
    }

    /// A list or map of strings, which the module's type makes of numbers and booleans as well.
    pub(super) fn texts(&self, name: &str, default: Json) -> Node {
        let mut given = self.or(name, default);
        for item in given.children_mut() {
            *item = string_of(item);
        }
        given
    }

    /// A value that the module makes by itself.
    pub(super) fn made(&self, json: Json) -> Node {
        let value = match json {
            Json::Null => Value::Null,
            Json::Bool(value) => Value::Bool(value),
            Json::Number(number) => Value::Number(number.to_string()),
            Json::String(text) => Value::Text(text),
            Json::Array(items) => Value::List(items.into_iter().map(|item| self.made(item)).collect()),
            Json::Object(entries) => Value::Map(
                entries
                    .into_iter()
                    .map(|(key, value)| Entry { key, key_span: self.label, node: self.made(value) })
                    .collect(),
            ),
        };
        node(value, self.label)
    }

    /// A map that the module makes, with values from inputs.
    pub(super) fn map<const N: usize>(&self, entries: [(&str, Node); N]) -> Node {
        map(entries.into_iter().map(|(key, value)| entry(key, value)).collect(), self.label)
    }

    /// A list that the module makes.
    pub(super) fn list(&self, items: Vec<Node>) -> Node {
        list(items, self.label)
    }

    /// The maps as one; later ones take precedence.
    pub(super) fn merge(&self, maps: &[Node]) -> Node {
        merged(maps, self.label).unwrap_or_else(|| unknown(self.label))
    }

    /// A map in the input `consul_ecs_config`.
    pub(super) fn extra(&self, name: &str) -> Node {
        let config = self.or("consul_ecs_config", Json::Object(serde_json::Map::new()));
        match config.get(name) {
            Some(extra) => extra.clone(),
            None if matches!(config.value, Value::Map(_)) && !is_open(&config) => map(Vec::new(), config.place.span),
            None => unknown(config.place.span),
        }
    }

    /// The input `name`; if it is empty, the input `other`.
    pub(super) fn text_or(&self, name: &str, other: &str) -> Node {
        let value = self.text(name, "");
        match self.is_empty(&value) {
            Some(true) => self.text(other, ""),
            Some(false) => value,
            None => unknown(value.place.span),
        }
    }

    /// Whether a string is empty; `None` if that is not known.
    pub(super) fn is_empty(&self, value: &Node) -> Option<bool> {
        equal(value, &self.made("".into()))
    }

    /// `then` if the condition holds; an unknown item if that is not known.
    pub(super) fn when(&self, condition: Option<bool>, then: impl FnOnce() -> Vec<Node>) -> Vec<Node> {
        match condition {
            Some(true) => then(),
            Some(false) => Vec::new(),
            None => vec![unknown(self.label)],
        }
    }

    /// The image that the module uses without an input. The version of consul-ecs is that of the module.
    pub(super) fn consul_ecs_image(&self) -> Node {
        let Release { minor, patch } = self.release;
        // Source: https://github.com/hashicorp/terraform-aws-consul-ecs/pull/412
        let is_at_docker = (7..10).contains(&minor);
        let repository = if is_at_docker { "hashicorp/consul-ecs" } else { "public.ecr.aws/hashicorp/consul-ecs" };
        let patch = patch.map_or_else(|| HOLE.to_string(), |patch| patch.to_string());
        self.text("consul_ecs_image", &format!("{repository}:0.{minor}.{patch}"))
    }

    /// Another image, whose default version differs from patch to patch.
    pub(super) fn image(&self, name: &str, repository: &str) -> Node {
        self.text(name, &format!("{repository}:{HOLE}"))
    }
}
