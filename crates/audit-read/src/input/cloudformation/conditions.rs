//! Conditions, as far as the defaults of parameters determine them.

use super::scope::Scope;
use crate::document::{Entry, Node, Value};

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

    fn are_equal(&self, sides: &[Node]) -> Option<bool> {
        let [left, right] = sides else { return None };
        Some(whole_text(&self.resolve(left))? == whole_text(&self.resolve(right))?)
    }
}

/// A scalar as a string: CloudFormation compares strings.
fn whole_text(node: &Node) -> Option<String> {
    match &node.value {
        Value::Text(_) => node.text().map(str::to_owned),
        Value::Number(number) => Some(number.clone()),
        Value::Bool(value) => Some(value.to_string()),
        _ => None,
    }
}
