//! The identity of findings across runs.

use std::collections::BTreeMap;

use uuid::Uuid;

use super::model::Reported;
use document::{Entry, Node, SourceFile, Span, embedded_json, trees};

/// The UUID namespace of fingerprints.
const FINGERPRINTS: Uuid = Uuid::from_u128(0x6d65_7368_2d61_7564_6974_2d66_696e_6773);

/// What names an item of a list. Objects without any of these keys are counted; texts and numbers have no step in a path.
const NAMES: [&str; 5] = ["name", "key", "containerName", "sourceVolume", "address"];

/// The trees of the last file, and its name: findings are in the order of their files.
#[derive(Debug, Default)]
pub(super) struct Paths(Option<(String, Vec<Tree>)>);

impl Paths {
    /// The keys that lead to the value around `span`: `containerDefinitions.proxy.ulimits`. Items of lists are named where they
    /// have a name, so that a path stays the same if others are added.
    pub(super) fn path(&mut self, file: &SourceFile, span: Span) -> String {
        let last = self.0.take().filter(|(name, _)| *name == file.name);
        // The file was read before. If it could not be read again, its findings would differ in their numbers only.
        let read = || trees(file).unwrap_or_default().into_iter().map(Tree::from).collect();
        let (_, trees) = self.0.insert(last.unwrap_or_else(|| (file.name.clone(), read())));
        trees.iter_mut().find_map(|tree| tree.path(&file.text, span)).unwrap_or_default().join(".")
    }
}

/// A value, and the JSON in its strings by their place. It is read once for all findings: all containers of a plan may be
/// in one string.
#[derive(Debug)]
struct Tree {
    node: Node,
    embedded: BTreeMap<Span, Option<Self>>,
}

impl From<Node> for Tree {
    fn from(node: Node) -> Self {
        Self { node, embedded: BTreeMap::new() }
    }
}

impl Tree {
    /// The keys that lead to the smallest value around `span`; `None` if `span` is not in it.
    fn path(&mut self, text: &str, span: Span) -> Option<Vec<String>> {
        let (mut path, found) = path(&self.node, span)?;
        let is_part_of_it = contains(found.place.span, span) && found.place.span != span;
        if is_part_of_it {
            let read = || embedded_json(text, found).ok().map(Self::from);
            let embedded = self.embedded.entry(found.place.span).or_insert_with(read);
            path.extend(embedded.as_mut().and_then(|json| json.path(text, span)).unwrap_or_default());
        }
        Some(path)
    }
}

/// Sets the fingerprints: derived from where a finding is, and its number among findings of the same rule in the same place.
/// They do not depend on lines, on messages, or on which findings are ignored; the number alone depends on the order of the findings of
/// one place.
pub(super) fn number<'r>(findings: impl Iterator<Item = &'r mut Reported>) {
    let mut findings: Vec<&mut Reported> = findings.collect();
    findings.sort_by(|a, b| (a.start, a.end, &a.message).cmp(&(b.start, b.end, &b.message)));
    let mut seen: BTreeMap<Uuid, usize> = BTreeMap::new();
    for finding in findings {
        let container = finding.container.as_deref().unwrap_or_default();
        // The name of a called module's definition changes with the calls.
        let subject = if finding.calls.is_empty() { &*finding.subject } else { "" };
        let parts = [finding.rule.id, &finding.file, subject, container, &finding.path];
        let same = Uuid::new_v5(&FINGERPRINTS, parts.join("\n").as_bytes());
        let nth = seen.entry(same).or_default();
        *nth += 1;
        finding.nth = *nth;
        let print = if *nth == 1 { same } else { Uuid::new_v5(&same, &nth.to_be_bytes()) };
        finding.fingerprint = print.to_string();
    }
}

/// The keys between `node` and the smallest value around `span`, and this value; `None` if `span` is not in `node`.
fn path(node: &Node, span: Span) -> Option<(Vec<String>, &Node)> {
    for Entry { key, key_span, node, .. } in node.entries() {
        // A type or label of Terraform has the place of its first block's type, and not of what it contains.
        let is_label = node.place.span == *key_span;
        let below = (is_label || contains(node.place.span, span)).then(|| path(node, span)).flatten();
        if let Some((below, found)) = below.or_else(|| contains(*key_span, span).then(|| (Vec::new(), node))) {
            return Some(([vec![key.clone()], below].concat(), found));
        }
    }
    if let Some((index, item)) = node.items().iter().enumerate().find(|(_, item)| contains(item.place.span, span)) {
        let (below, found) = path(item, span)?;
        let counted = || (!item.entries().is_empty()).then(|| index.to_string());
        return Some((name(item).map(str::to_owned).or_else(counted).into_iter().chain(below).collect(), found));
    }
    contains(node.place.span, span).then(|| (Vec::new(), node))
}

/// The name of an item, in the spelling of ECS, CloudFormation or Terraform.
fn name(item: &Node) -> Option<&str> {
    let is_name = |key: &str| NAMES.iter().any(|name| name.eq_ignore_ascii_case(&key.replace('_', "")));
    item.entries().iter().find(|entry| is_name(&entry.key)).and_then(|entry| entry.node.text())
}

fn contains(outer: Span, inner: Span) -> bool {
    outer.start <= inner.start && inner.end <= outer.end
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The path to the first `at` of a file.
    fn path_to(name: &str, text: &str, at: &str) -> String {
        let start = text.find(at).unwrap();
        Paths::default().path(&SourceFile::new(name, text), Span::new(start, start + at.len()))
    }

    #[test]
    fn json_in_a_string_is_read_once_for_all_findings() {
        // Given a plan with all containers in one string, and the path of a first finding.
        let plan = r#"{"containers": "[{\"name\": \"app\", \"user\": 1}, {\"name\": \"log\", \"user\": 2}]"}"#;
        let span = |at: &str| plan.find(at).map(|start| Span::new(start, start + at.len())).unwrap();
        let mut paths = Paths::default();
        assert_eq!(paths.path(&SourceFile::new("plan.json", plan), span("1")), "containers.app.user");
        // When the text is gone, then the paths of other findings are still known.
        let gone = SourceFile::new("plan.json", "");
        assert_eq!(paths.path(&gone, span("2")), "containers.log.user");
        assert_eq!(paths.path(&gone, span(r#"\"log\""#)), "containers.log.name");
    }

    #[test]
    fn a_path_names_items_and_counts_those_without_a_name() {
        let json = r#"{"containers": [{"name": "app", "ports": [80, 81], "mappings": [{"port": 1}, {"port": 2}]}], "config": "{\"a\": {\"b\": 1}}"}"#;
        for (at, path) in [
            ("81", "containers.app.ports"),
            ("2", "containers.app.mappings.1.port"),
            ("{\"port\": 2", "containers.app.mappings.1"),
            ("\"ports\"", "containers.app.ports"),
            ("{\"name", "containers.app"),
            ("1}}\"", "config"),
            ("1", "containers.app.ports"),
            (r#"\"b"#, "config.a.b"),
        ] {
            assert_eq!(path_to("task.json", json, at), path, "{at}");
        }
        let yaml = "a: 1\n---\nTasks:\n  - Name: web\n    Mode: bridge\n";
        assert_eq!(path_to("web.yaml", yaml, "bridge"), "Tasks.web.Mode");
        let hcl = "resource \"x\" \"a\" {\n  mode = 1\n}\nresource \"x\" \"b\" {\n  kind = 2\n}\n";
        assert_eq!(path_to("main.tf", hcl, "2"), "resource.x.b.kind");
        assert_eq!(path_to("main.tf", hcl, "kind"), "resource.x.b.kind");
    }
}
