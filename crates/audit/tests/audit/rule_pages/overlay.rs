//! Puts what a block shows into a complete definition, and finds a place of the definition in the block.

use document::{Node, SourceFile, Span, embedded_json};
use serde_json::Value;

use super::block::{Block, tree_of};

/// Whose values a block shows.
#[derive(Debug, Clone)]
pub(super) enum Scope {
    Definition,
    /// The configuration of consul-ecs, in this container or in all.
    Configuration(Option<String>),
}

const CONFIGURATION: &str = "CONSUL_ECS_CONFIG_JSON";
/// What names an item of a list, in small letters and without underscores.
const NAMES: [&str; 5] = ["name", "key", "containername", "sourcevolume", "family"];

impl Scope {
    pub(super) fn of(block: &Block) -> Self {
        let first = block.text.lines().next().and_then(|line| line.strip_prefix("// ")?.strip_prefix(CONFIGURATION));
        match first {
            Some(rest) => Self::Configuration(rest.strip_prefix(" of ").map(str::to_owned)),
            None => Self::Definition,
        }
    }
}

/// The definition with what a block shows, and without what only the `other` one shows.
pub(super) fn laid(definition: &Value, scope: Scope, shown: &Value, other: &Value) -> Value {
    let mut definition = definition.clone();
    match scope {
        Scope::Definition => lay(&mut definition, shown, Some(other)),
        Scope::Configuration(container) => {
            for candidate in definition["containerDefinitions"].as_array_mut().unwrap() {
                let is_wanted = container.as_ref().is_none_or(|name| candidate["name"] == **name);
                let variables = candidate.get_mut("environment").and_then(Value::as_array_mut).filter(|_| is_wanted);
                for variable in variables.into_iter().flatten().filter(|variable| variable["name"] == CONFIGURATION) {
                    lay(&mut variable["value"], shown, Some(other));
                }
            }
        }
    }
    definition
}

fn lay(base: &mut Value, shown: &Value, other: Option<&Value>) {
    match (&mut *base, shown) {
        (Value::String(text), Value::Object(_)) => {
            // JSON in a string.
            let mut inner = serde_json::from_str(text).unwrap_or_default();
            lay(&mut inner, shown, other);
            *base = inner.to_string().into();
        }
        (Value::Object(base), Value::Object(shown)) => {
            if let Some(other) = other.and_then(Value::as_object) {
                base.retain(|key, _| shown.contains_key(key) || !other.contains_key(key));
            }
            for (key, value) in shown {
                lay(base.entry(key).or_insert(Value::Null), value, other.and_then(|other| other.get(key)));
            }
        }
        (Value::Array(base), Value::Array(shown)) if !shown.is_empty() && are_named(base) && are_named(shown) => {
            let other = other.and_then(Value::as_array).filter(|other| are_named(other));
            let find = |items: &[Value], wanted: &Value| items.iter().position(|item| name(item) == name(wanted));
            if let Some(other) = other {
                base.retain(|item| find(shown, item).is_some() || find(other, item).is_none());
            }
            for item in shown {
                let of_other = other.and_then(|other| other.get(find(other, item)?));
                let at = find(base, item).unwrap_or_else(|| {
                    base.push(Value::Null);
                    base.len() - 1
                });
                lay(&mut base[at], item, of_other);
            }
        }
        _ => *base = shown.clone(),
    }
}

/// Whether each item has a name of its own.
fn are_named(items: &[Value]) -> bool {
    let mut names: Vec<Option<String>> = items.iter().map(name).collect();
    names.sort_unstable();
    let count = names.len();
    names.dedup();
    names.len() == count && names.iter().all(Option::is_some)
}

/// What names an item of a list: of an export of App Mesh, its kind and its name.
fn name(item: &Value) -> Option<String> {
    let entries = item.as_object()?;
    let own = entries.iter().find(|(key, _)| NAMES.contains(&&*key.replace('_', "").to_lowercase()));
    let exported = || {
        let (kind, body) = entries.iter().next().filter(|_| entries.len() == 1)?;
        Some(format!("{kind} {}", body.get(format!("{kind}Name"))?.as_str()?))
    };
    own.and_then(|(_, name)| name.as_str().map(str::to_owned)).or_else(exported)
}

/// The line of a block that shows the value around a span of the complete definition, or the nearest value around it that the
/// block shows.
pub(super) fn place_of(block: &Block, file: &SourceFile, span: Span) -> usize {
    let mut path = path(&file.text, &tree_of(&file.name, &file.text), span).unwrap_or_default();
    if let Scope::Configuration(_) = Scope::of(block) {
        let configuration = path.iter().position(|step| step == CONFIGURATION).expect("a finding in the configuration");
        path.drain(..(configuration + 2).min(path.len()));
    }
    let tree = block.tree();
    let (mut node, mut start) = (&tree, tree.place.span.start);
    for step in path {
        let found =
            node.entries().iter().find(|entry| entry.key == step).map(|entry| (&entry.node, entry.key_span.start));
        let item = || {
            let mut items = node.items().iter().enumerate();
            items.find(|(index, item)| label(*index, item) == step).map(|(_, item)| (item, item.place.span.start))
        };
        let Some((next, at)) = found.or_else(item) else { break };
        (node, start) = (next, at);
    }
    block.line(start)
}

/// The keys and names that lead to the value around a span.
fn path(text: &str, node: &Node, span: Span) -> Option<Vec<String>> {
    let contains = |outer: Span| outer.start <= span.start && span.end <= outer.end;
    for entry in node.entries() {
        if contains(entry.key_span) || contains(entry.node.place.span) {
            let below = path(text, &entry.node, span).unwrap_or_default();
            return Some([vec![entry.key.clone()], below].concat());
        }
    }
    if let Some((index, item)) = node.items().iter().enumerate().find(|(_, item)| contains(item.place.span)) {
        let below = path(text, item, span).unwrap_or_default();
        return Some([vec![label(index, item)], below].concat());
    }
    let is_within = node.text().is_some() && node.place.span != span && contains(node.place.span);
    is_within.then(|| path(text, &embedded_json(text, node).ok()?, span))?
}

/// An item's name, or its number.
fn label(index: usize, item: &Node) -> String {
    let named = |node: &Node| {
        node.entries()
            .iter()
            .find(|entry| NAMES.contains(&&*entry.key.replace('_', "").to_lowercase()))?
            .node
            .text()
            .map(str::to_owned)
    };
    let exported = || match item.entries() {
        [entry] => Some(format!("{} {}", entry.key, entry.node.get(&format!("{}Name", entry.key))?.text()?)),
        _ => None,
    };
    named(item).or_else(exported).unwrap_or_else(|| index.to_string())
}
