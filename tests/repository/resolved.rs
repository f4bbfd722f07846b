//! The template with values in place of its functions, as CloudFormation deploys it.

use std::{collections::BTreeMap, sync::LazyLock};

use document::{Node, Value, parse_yaml};
use serde_json::{Value as Json, json};

pub(crate) static TEMPLATE: LazyLock<Node> =
    LazyLock::new(|| parse_yaml(include_str!("../../template.yaml")).expect("YAML"));

/// A resource of the template.
pub(crate) fn resource(name: &str) -> &'static Node {
    TEMPLATE.get("Resources").and_then(|all| all.get(name)).unwrap_or_else(|| panic!("{name} is not in the template"))
}

/// The resources of a type, with their names.
pub(crate) fn resources(kind: &str) -> impl Iterator<Item = (&'static str, &'static Node)> {
    let all = TEMPLATE.get("Resources").expect("resources").entries().iter();
    let is_kind = move |node: &Node| node.get("Type").and_then(Node::text) == Some(kind);
    all.filter(move |entry| is_kind(&entry.node)).map(|entry| (entry.key.as_str(), &entry.node))
}

/// A stack with these parameters, and the defaults of the others.
pub(crate) struct Stack(BTreeMap<&'static str, String>);

impl Stack {
    pub(crate) fn new(parameters: &[(&'static str, &str)]) -> Self {
        Self(parameters.iter().map(|(name, value)| (*name, (*value).to_owned())).collect())
    }

    /// The value of a parameter, a pseudo parameter, or a resource, which stands for its ID.
    fn reference(&self, name: &str) -> String {
        let pseudo = match name {
            "AWS::Partition" => Some("aws"),
            "AWS::Region" => Some("us-east-1"),
            "AWS::AccountId" => Some("123456789012"),
            "AWS::StackName" => Some("mesh"),
            "AWS::URLSuffix" => Some("amazonaws.com"),
            _ => None,
        };
        let default = || {
            let parameter = TEMPLATE.get("Parameters").and_then(|all| all.get(name))?;
            parameter.get("Default").map(plain)
        };
        let given = || self.0.get(name).cloned();
        pseudo.map(str::to_owned).or_else(given).or_else(default).unwrap_or_else(|| name.to_owned())
    }

    fn holds(&self, condition: &Node) -> bool {
        let [only] = condition.entries() else { panic!("{condition:?}") };
        let items = only.node.items();
        match only.key.as_str() {
            "Fn::Equals" => self.value(&items[0]) == self.value(&items[1]),
            "Fn::Not" => !self.holds(&items[0]),
            "Fn::And" => items.iter().all(|item| self.holds(item)),
            "Fn::Or" => items.iter().any(|item| self.holds(item)),
            "Condition" => self.holds_named(only.node.text().expect("a name")),
            other => panic!("{other} is not known here"),
        }
    }

    pub(crate) fn holds_named(&self, name: &str) -> bool {
        let condition = TEMPLATE.get("Conditions").and_then(|all| all.get(name));
        self.holds(condition.unwrap_or_else(|| panic!("{name} is not a condition")))
    }

    /// The value; `None` for `AWS::NoValue`.
    pub(crate) fn value(&self, node: &Node) -> Option<Json> {
        if let [only] = node.entries() {
            match (only.key.as_str(), only.node.items()) {
                ("Ref", _) if only.node.text() == Some("AWS::NoValue") => return None,
                ("Ref", _) => return Some(json!(self.reference(only.node.text()?))),
                ("Fn::GetAtt", _) => return Some(json!(plain(&only.node))),
                ("Fn::Sub", _) => return Some(json!(self.substituted(only.node.text()?))),
                ("Fn::If", [name, yes, no]) => {
                    return self.value(if self.holds_named(name.text()?) { yes } else { no });
                }
                (function, _) => assert!(!function.starts_with("Fn::"), "{function} is not known here"),
            }
        }
        Some(match &node.value {
            Value::List(items) => items.iter().filter_map(|item| self.value(item)).collect(),
            Value::Map(entries) => {
                entries.iter().filter_map(|entry| Some((entry.key.clone(), self.value(&entry.node)?))).collect()
            }
            _ => json!(plain(node)),
        })
    }

    fn substituted(&self, text: &str) -> String {
        let mut parts = text.split("${");
        let mut whole = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let (name, rest) = part.split_once('}').expect("a name");
            whole += &self.reference(name);
            whole += rest;
        }
        whole
    }
}

fn plain(node: &Node) -> String {
    match &node.value {
        Value::Number(number) => number.clone(),
        Value::List(items) => items.iter().map(plain).collect::<Vec<_>>().join("."),
        _ => node.text().unwrap_or_default().to_owned(),
    }
}
