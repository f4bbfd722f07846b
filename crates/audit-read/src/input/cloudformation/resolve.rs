//! The properties of a resource with all functions computed.

use super::{scope::Scope, substitute::without_dynamic_references};
use crate::document::{Entry, Node, Place, Value};

impl Scope<'_, '_> {
    /// The value with all functions in it computed, or unknown. `AWS::NoValue` becomes null, which counts as absent.
    pub(super) fn resolve(&self, node: &Node) -> Node {
        let value = match &node.value {
            Value::Map(entries) => match called(entries) {
                Some(Call::Known(name, argument)) => return self.computed(node, name, argument),
                Some(Call::Macro) => Value::Unknown,
                None => Value::Map(entries.iter().map(|entry| self.resolved_entry(entry)).collect()),
            },
            Value::List(items) => Value::List(items.iter().map(|item| self.resolve(item)).collect()),
            Value::Text(text) => without_dynamic_references(text),
            other => other.clone(),
        };
        Node { value, place: node.place.clone() }
    }

    fn resolved_entry(&self, Entry { key, key_span, node }: &Entry) -> Entry {
        Entry { key: key.clone(), key_span: *key_span, node: self.resolve(node) }
    }

    /// A branch of `Fn::If` is written where it is used and keeps its places; every other result has the place of the
    /// function. Edits reach neither, because another resource may use the value as well.
    fn computed(&self, node: &Node, name: &str, argument: &Node) -> Node {
        if name == "Fn::If"
            && let Some(branch) = self.branch(argument)
        {
            let mut branch = self.resolve(branch);
            branch.remove_routes();
            return branch;
        }
        let span = node.place.span;
        let value = if self.template.is_exhausted() { Value::Unknown } else { self.call(name, argument, span) };
        Node { value: self.template.paid(value), place: Place::fixed(span) }
    }

    /// The branch of `Fn::If` that its condition selects.
    pub(super) fn branch<'a>(&self, argument: &'a Node) -> Option<&'a Node> {
        let [condition, then, otherwise] = argument.items() else { return None };
        Some(if self.is_met(condition.text()?)? { then } else { otherwise })
    }
}

enum Call<'n> {
    Known(&'n str, &'n Node),
    /// Its entries in the map are unknown.
    Macro,
}

fn called(entries: &[Entry]) -> Option<Call<'_>> {
    match entries {
        [Entry { key, node, .. }] if key == "Ref" || key.starts_with("Fn::") => Some(Call::Known(key, node)),
        entries => entries.iter().any(|entry| entry.key.starts_with("Fn::")).then_some(Call::Macro),
    }
}
