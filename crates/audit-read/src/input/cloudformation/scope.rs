//! What the parts of a template mean for a resource: its conditions, and its properties with all functions computed.

use std::{
    cell::{Cell, RefCell},
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::{
    identities::ARNS,
    text::{DYNAMIC_REFERENCE, opened, whole_text},
    undeclared::{Names, is_completed, is_whole},
};
use crate::definition::Undeclared;
use document::{Entry, Node, Place, SourceFile, Value};

/// The limit for the results of functions, in bytes: a thousand times a large template.
const BUDGET: usize = 64 * 1024 * 1024;

/// A template's sections.
pub(super) struct Template<'n> {
    pub(super) parameters: BTreeMap<&'n str, &'n Node>,
    pub(super) mappings: BTreeMap<&'n str, &'n Node>,
    pub(super) conditions: BTreeMap<&'n str, &'n Node>,
    pub(super) resources: BTreeMap<&'n str, &'n Node>,
    /// Whether a macro or another program completes it.
    pub(super) is_completed: bool,
    pub(super) file: Arc<SourceFile>,
    /// Whether it shows all that it declares.
    pub(super) is_whole: bool,
    /// References of what is being read to what it does not declare.
    pub(super) undeclared: RefCell<Vec<Undeclared>>,
    /// Their reasons. A missing name is reported at its first place only.
    pub(super) seen: RefCell<BTreeSet<String>>,
    /// What it declares, which all references to what it does not declare share.
    pub(super) names: Names,
    budget: Cell<usize>,
}

impl<'n> Template<'n> {
    pub(super) fn of(file: &Arc<SourceFile>, node: &'n Node) -> Self {
        let section = |name: &str| -> BTreeMap<&'n str, &'n Node> {
            let entries = node.entries_of(name);
            entries.iter().map(|entry| (entry.key.as_str(), &entry.node)).collect()
        };
        let [parameters, mappings, conditions, resources] =
            ["Parameters", "Mappings", "Conditions", "Resources"].map(section);
        let is_completed = is_completed(file, node);
        Self {
            names: Names::of(&parameters, &mappings, &conditions, &resources),
            parameters,
            mappings,
            conditions,
            resources,
            is_completed,
            file: Arc::clone(file),
            is_whole: is_whole(node, is_completed),
            undeclared: RefCell::default(),
            seen: RefCell::default(),
            budget: Cell::new(BUDGET),
        }
    }

    /// Whether a parameter or a resource has this name.
    pub(super) fn declares(&self, name: &str) -> bool {
        self.parameters.contains_key(name) || self.resources.contains_key(name)
    }

    /// Reads something, and returns also its references to what the template does not declare, unless they are known.
    pub(super) fn with_undeclared<T>(&self, read: impl FnOnce() -> T) -> (T, Vec<Undeclared>) {
        let before = self.undeclared.take();
        let value = read();
        (value, self.undeclared.replace(before))
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
    /// Whether references to secrets and roles are read for their ARN.
    pub(super) names_resources: Cell<bool>,
}

impl<'t, 'n> Scope<'t, 'n> {
    fn new(template: &'t Template<'n>, assumed: Option<&str>, has_defaults: bool) -> Self {
        Self {
            template,
            assumed: assumed.map(str::to_owned),
            has_defaults,
            verdicts: RefCell::default(),
            depth: Cell::default(),
            names_resources: Cell::default(),
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

/// Conditions that refer to each other in a longer chain are unknown.
const MAX_CONDITION_DEPTH: usize = 32;

impl Scope<'_, '_> {
    /// The value of a condition; `None` if it is known only at deployment.
    pub(super) fn is_met(&self, name: &str) -> Option<bool> {
        if self.assumed.as_deref() == Some(name) {
            return Some(true);
        }
        if let Some(known) = self.verdicts.borrow().get(name) {
            return *known;
        }
        let depth = self.depth.get();
        let condition = self.template.conditions.get(name).copied().filter(|_| depth < MAX_CONDITION_DEPTH)?;
        // A condition that refers to itself is unknown.
        self.verdicts.borrow_mut().insert(name.to_owned(), None);
        self.depth.set(depth + 1);
        let verdict = self.verdict(condition);
        self.depth.set(depth);
        self.verdicts.borrow_mut().insert(name.to_owned(), verdict);
        verdict
    }

    fn verdict(&self, condition: &Node) -> Option<bool> {
        let [Entry { key, node, .. }] = condition.entries() else { return None };
        match key.as_str() {
            "Condition" => self.is_met(node.text()?),
            "Fn::Equals" => self.are_equal(node.items()),
            "Fn::Not" => node.items().first().and_then(|negated| self.verdict(negated)).map(|verdict| !verdict),
            "Fn::And" => self.decided(node.items(), false),
            "Fn::Or" => self.decided(node.items(), true),
            _ => None,
        }
    }

    /// If one condition has the value `decisive`, that is the result. Otherwise all must be known.
    fn decided(&self, conditions: &[Node], decisive: bool) -> Option<bool> {
        let verdicts: Vec<Option<bool>> = conditions.iter().map(|condition| self.verdict(condition)).collect();
        if verdicts.contains(&Some(decisive)) {
            return Some(decisive);
        }
        verdicts.iter().all(Option::is_some).then_some(!decisive)
    }

    /// CloudFormation compares strings.
    fn are_equal(&self, sides: &[Node]) -> Option<bool> {
        let [left, right] = sides else { return None };
        Some(whole_text(&self.resolve(left))? == whole_text(&self.resolve(right))?)
    }
}

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
            Value::Text(text) if text.contains(DYNAMIC_REFERENCE) => {
                let (value, parts) = opened(self.placed(node, text));
                return Node { value, place: Place { parts, ..node.place.clone() } };
            }
            other => other.clone(),
        };
        Node { value, place: node.place.clone() }
    }

    fn resolved_entry(&self, entry: &Entry) -> Entry {
        let outside = self.names_resources.get();
        self.names_resources.set(outside || ARNS.contains(&entry.key.as_str()));
        let node = self.resolve(&entry.node);
        self.names_resources.set(outside);
        Entry { key: entry.key.clone(), key_span: entry.key_span, node, replaced: entry.replaced }
    }

    /// A branch of `Fn::If` is written where it is used and keeps its places; every other result has the place of the
    /// function. Edits reach neither, because another resource may use the value as well.
    fn computed(&self, node: &Node, name: &str, argument: &Node) -> Node {
        if let ("Fn::If", Some(condition)) = (name, argument.items().first()) {
            condition.text().inspect(|name| self.check_condition(name, condition.place.span));
        }
        if name == "Fn::If"
            && let Some(branch) = self.branch(argument)
        {
            let mut branch = self.resolve(branch);
            branch.remove_routes();
            return branch;
        }
        let span = node.place.span;
        if self.template.is_exhausted() {
            return Node { value: Value::Unknown, place: Place::fixed(span) };
        }
        let node = self.call(name, argument, span);
        Node { value: self.template.paid(node.value), ..node }
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
