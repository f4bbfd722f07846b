//! The blocks of code of an example.

use document::{Node, SourceFile, Value as NodeValue, trees};
use serde_json::{Map, Number, Value};

/// A block of code.
pub(super) struct Block {
    language: String,
    pub(super) text: String,
    pub(super) mark: Option<Mark>,
}

/// The comment above the line with the defect.
pub(super) struct Mark {
    pub(super) severity: String,
    pub(super) message: String,
    /// The line below it.
    pub(super) line: usize,
}

/// What is wrong, and what is right, next to what a running mesh has.
pub(super) struct Blocks {
    pub(super) mesh: Option<Block>,
    pub(super) pair: [Block; 2],
}

/// The pairs of blocks of an example.
pub(super) fn blocks(rule: &str, example: &str) -> Vec<Blocks> {
    let mut pairs: Vec<Blocks> = Vec::new();
    let (mut mesh, mut wrong) = (None, None);
    let mut rest = example;
    while let Some((before, after)) = rest.split_once("```") {
        let (block, after) = after.split_once("\n```\n").unwrap_or_else(|| (after.trim_end_matches("\n```"), ""));
        let (language, text) = block.split_once('\n').unwrap();
        let block = Block { language: language.to_owned(), text: format!("{text}\n"), mark: mark(text) };
        match before.trim_end().lines().next_back() {
            Some(line) if line.starts_with("Wrong") => wrong = Some(block),
            Some(line) if line.starts_with("Right") => {
                pairs.push(Blocks { mesh: mesh.take(), pair: [wrong.take().expect(rule), block] });
            }
            Some(line) if line.starts_with("In Consul") => mesh = Some(block),
            other => panic!("{rule}: a block below {other:?}"),
        }
        rest = after;
    }
    assert!(wrong.is_none(), "{rule}: what is right?");
    let is_one_language = |Blocks { pair: [wrong, right], .. }: &Blocks| wrong.language == right.language;
    assert!(pairs.iter().all(is_one_language), "{rule}: two languages");
    assert_eq!(pairs.is_empty(), example.is_empty(), "{rule}");
    pairs
}

fn mark(text: &str) -> Option<Mark> {
    text.lines().zip(2..).find_map(|(line, next)| {
        let comment = line.trim_start().strip_prefix("// ").or_else(|| line.trim_start().strip_prefix("# "))?;
        let (severity, message) = comment.split_once(": ")?;
        let is_mark = ["error", "warning", "info"].contains(&severity);
        is_mark.then(|| Mark { severity: severity.to_owned(), message: message.to_owned(), line: next })
    })
}

impl Block {
    /// Its notation, by its language.
    pub(super) fn notation(&self) -> &'static str {
        ["json", "yaml", "hcl"].into_iter().find(|one| *one == self.language).expect("json, yaml or hcl")
    }

    fn name(&self) -> &'static str {
        match self.notation() {
            "hcl" => "main.tf",
            "yaml" => "template.yaml",
            _ => "task.json",
        }
    }

    pub(super) fn tree(&self) -> Node {
        tree_of(self.name(), &self.text)
    }

    pub(super) fn value(&self) -> Value {
        value(&self.tree())
    }

    /// The line at a byte.
    pub(super) fn line(&self, byte: usize) -> usize {
        SourceFile::new(self.name(), self.text.as_str()).position(byte).line
    }
}

pub(super) fn tree_of(name: &str, text: &str) -> Node {
    let trees = trees(&SourceFile::new(name, text));
    trees.unwrap_or_else(|error| panic!("{}:\n{text}", error.reason)).swap_remove(0)
}

/// The values of a text, without places.
pub(super) fn value_of(name: &str, text: &str) -> Value {
    value(&tree_of(name, text))
}

fn value(node: &Node) -> Value {
    match &node.value {
        NodeValue::Null | NodeValue::Unknown => Value::Null,
        NodeValue::Bool(value) => Value::Bool(*value),
        NodeValue::Number(number) => number.parse::<Number>().unwrap().into(),
        NodeValue::Text(text) => text.clone().into(),
        NodeValue::List(items) => items.iter().map(value).collect(),
        NodeValue::Map(entries) => {
            entries.iter().map(|entry| (entry.key.clone(), value(&entry.node))).collect::<Map<_, _>>().into()
        }
    }
}
