//! The parts of a template, and what they mean for a resource.

use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
};

use crate::document::{Node, Value};

/// The limit for the results of functions, in bytes: a thousand times a large template.
const BUDGET: usize = 64 * 1024 * 1024;

/// A template's sections.
pub(super) struct Template<'n> {
    pub(super) parameters: BTreeMap<&'n str, &'n Node>,
    pub(super) mappings: BTreeMap<&'n str, &'n Node>,
    pub(super) conditions: BTreeMap<&'n str, &'n Node>,
    pub(super) resources: BTreeMap<&'n str, &'n Node>,
    budget: Cell<usize>,
}

impl<'n> Template<'n> {
    pub(super) fn of(node: &'n Node) -> Self {
        let section = |name: &str| {
            let entries = node.get(name).map(Node::entries).unwrap_or_default();
            entries.iter().map(|entry| (entry.key.as_str(), &entry.node)).collect()
        };
        Self {
            parameters: section("Parameters"),
            mappings: section("Mappings"),
            conditions: section("Conditions"),
            resources: section("Resources"),
            budget: Cell::new(BUDGET),
        }
    }

    /// Whether the limit was reached, so that some results are missing.
    pub(super) fn is_exhausted(&self) -> bool {
        self.budget.get() == 0
    }

    /// Counts the result of a function against the limit; unknown if the limit is reached.
    pub(super) fn paid(&self, value: Value) -> Value {
        let left = self.budget.get().saturating_sub(weight(&value));
        self.budget.set(left);
        if left == 0 { Value::Unknown } else { value }
    }
}

fn weight(value: &Value) -> usize {
    let inside = match value {
        Value::Text(text) | Value::Number(text) => text.len(),
        Value::List(items) => items.iter().map(|item| weight(&item.value)).sum(),
        Value::Map(entries) => entries.iter().map(|entry| entry.key.len() + weight(&entry.node.value)).sum(),
        Value::Null | Value::Bool(_) | Value::Unknown => 0,
    };
    inside + size_of::<Node>()
}

/// The values for the resources with one condition.
pub(super) struct Scope<'t, 'n> {
    pub(super) template: &'t Template<'n>,
    /// The condition under which the resource exists.
    pub(super) assumed: Option<String>,
    /// Whether parameters have their defaults. They do not if the resource would not exist with them.
    pub(super) has_defaults: bool,
    /// The values of conditions that are computed so far.
    pub(super) verdicts: RefCell<BTreeMap<String, Option<bool>>>,
    pub(super) depth: Cell<usize>,
}

impl<'t, 'n> Scope<'t, 'n> {
    fn new(template: &'t Template<'n>, assumed: Option<&str>, has_defaults: bool) -> Self {
        Self {
            template,
            assumed: assumed.map(str::to_owned),
            has_defaults,
            verdicts: RefCell::default(),
            depth: Cell::default(),
        }
    }
}

/// The scopes of a template, by condition.
pub(super) struct Scopes<'t, 'n> {
    template: &'t Template<'n>,
    known: BTreeMap<Option<String>, Scope<'t, 'n>>,
}

impl<'t, 'n> Scopes<'t, 'n> {
    pub(super) fn new(template: &'t Template<'n>) -> Self {
        Self { template, known: BTreeMap::new() }
    }

    /// The scope of resources with this condition.
    pub(super) fn of(&mut self, condition: Option<&str>) -> &Scope<'t, 'n> {
        let template = self.template;
        self.known.entry(condition.map(str::to_owned)).or_insert_with(|| {
            let by_default = condition.and_then(|condition| Scope::new(template, None, true).is_met(condition));
            Scope::new(template, condition, by_default != Some(false))
        })
    }
}
