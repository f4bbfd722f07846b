//! The examples on the rules' pages: what a block after `Wrong` shows has exactly one finding, of the page's rule, with the
//! severity, message and line of its comment; what the block after `Right` shows has none.
//!
//! Both blocks show the same part of one definition: the one that the heading `Example: …` names, or else they are complete.
//! What only one of them shows, the other does not have. A block that begins with the comment `CONSUL_ECS_CONFIG_JSON` shows
//! the configuration in every container that has one, or in one of them (`… of consul-ecs-health-sync`). A block after
//! `In Consul` is what a running mesh has.

mod block;
pub(crate) mod live;
mod overlay;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use audit::{finding::Finding, rule::Rule, rules::rules};
use serde_json::Value;

use self::{
    block::{Block, Blocks, blocks},
    live::live_findings_in,
    overlay::{Scope, laid, place_of},
};
use crate::{
    example::Base,
    reading::{END_OF_APP_MESH, all_findings_in, shown},
    template::template,
    terraform_source::written::{Spelling, terraform_json},
};

/// One definition alone does not show these defects: they need a role, other definitions or a deployment, or have another
/// finding beside them. Tests of their own have such inputs.
const WITHOUT_EXAMPLE: [&str; 10] = [
    "consul-token-secret-managed",
    "consul-task-role-tags",
    "consul-gateway-kind-tag",
    "consul-server-lookup",
    "consul-server-tags",
    "consul-upstream-misspelt",
    "consul-end-of-support",
    "consul-service-checks",
    "consul-task-role-shared",
    "appmesh-mesh-end-of-service",
];

/// A pair of blocks, as complete inputs.
pub(crate) struct Example {
    pub(crate) rule: &'static Rule,
    /// `None` if the blocks are complete.
    pub(crate) base: Option<Base>,
    /// The language of the blocks.
    pub(crate) notation: &'static str,
    /// Null if the blocks are complete.
    pub(crate) wrong: Value,
    pub(crate) right: Value,
    blocks: [Block; 2],
    /// What a running mesh has, if the example needs one.
    pub(crate) mesh: Option<Value>,
}

/// The examples of all rules.
pub(crate) fn examples() -> impl Iterator<Item = Example> {
    rules().flat_map(|rule| {
        let example = rule.texts().example;
        let name = example.strip_prefix(": ").and_then(|rest| rest.lines().next());
        let base = name.map(|name| named(name).unwrap_or_else(|| panic!("{}: no definition {name:?}", rule.id)));
        let blocks = blocks(rule.id, example);
        blocks.into_iter().map(move |blocks| Example::new(rule, base, blocks))
    })
}

fn named(name: &str) -> Option<Base> {
    Some(match name {
        "a service of the client generation" => Base::Client,
        "a mesh gateway of the client generation" => Base::ClientGateway,
        "a service of consul-ecs 0.7" => Base::ControlPlane,
        "a service of the dataplane generation" => Base::Dataplane,
        "a mesh gateway" => Base::MeshGateway,
        "an API gateway" => Base::ApiGateway,
        "a terminating gateway" => Base::TerminatingGateway,
        "the controller of consul-ecs" => Base::Controller,
        "a service of App Mesh" => Base::AppMesh,
        "a virtual gateway of App Mesh" => Base::AppMeshGateway,
        "resources of App Mesh" => Base::AppMeshResources,
        "a task in no mesh" => Base::Plain,
        _ => return None,
    })
}

impl Example {
    fn new(rule: &'static Rule, base: Option<Base>, Blocks { mesh, pair: blocks }: Blocks) -> Self {
        let notation = blocks[0].notation();
        // A module makes the definition.
        let base = base.filter(|_| !blocks[0].text.contains("\nmodule \"") && !blocks[0].text.starts_with("module \""));
        let [wrong, right] = match base {
            Some(base) => {
                let correct = correct(base, notation);
                let [wrong, right] = blocks.each_ref().map(Block::value);
                [
                    laid(&correct, Scope::of(&blocks[0]), &wrong, &right),
                    laid(&correct, Scope::of(&blocks[1]), &right, &wrong),
                ]
            }
            None => [Value::Null, Value::Null],
        };
        Self { rule, base, notation, wrong, right, blocks, mesh: mesh.map(|mesh| mesh.value()) }
    }

    /// The name of the file that has the example.
    pub(crate) fn name(&self) -> String {
        match (self.notation, self.base) {
            ("hcl", Some(_)) => "main.tf.json".to_owned(),
            ("hcl", None) => "main.tf".to_owned(),
            ("yaml", _) => "template.yaml".to_owned(),
            _ => "task.json".to_owned(),
        }
    }

    pub(crate) fn wrong_text(&self) -> String {
        self.text(&self.wrong, &self.blocks[0])
    }

    fn text(&self, value: &Value, block: &Block) -> String {
        match self.base {
            None => block.text.clone(),
            Some(_) if self.notation == "hcl" => terraform_json(value),
            Some(_) => serde_json::to_string_pretty(value).unwrap(),
        }
    }

    pub(crate) fn findings_of_wrong(&self) -> Vec<Finding> {
        self.findings(&self.wrong_text())
    }

    fn findings(&self, text: &str) -> Vec<Finding> {
        let mut found = match &self.mesh {
            Some(mesh) => live_findings_in(&self.name(), text, mesh),
            None => all_findings_in(&self.name(), text),
        };
        // Each release of consul-ecs 0.7 has a known defect.
        let has_defect = |id: &str| self.base == Some(Base::ControlPlane) && id == "consul-release-defect";
        let is_of_every_definition =
            |id: &str| END_OF_APP_MESH.contains(&id) || id == "consul-end-of-support" || has_defect(id);
        found.retain(|finding| finding.rule.id == self.rule.id || !is_of_every_definition(finding.rule.id));
        found
    }

    /// What differs from what the page says.
    fn mismatch(&self) -> Option<String> {
        let [wrong, right] = &self.blocks;
        let text = self.wrong_text();
        let found = self.findings(&text);
        let said = found.iter().map(|finding| {
            let line = match self.base {
                None => finding.file.position(finding.span.start).line,
                Some(_) => place_of(wrong, &finding.file, finding.span),
            };
            (finding.rule.id, finding.severity.as_str().to_owned(), finding.message.clone(), line)
        });
        let said: Vec<_> = said.collect();
        let expected: Vec<_> = wrong
            .mark
            .iter()
            .map(|mark| (self.rule.id, mark.severity.clone(), mark.message.clone(), mark.line))
            .collect();
        let of_right = self.findings(&self.text(&self.right, right));
        let is_as_said = said == expected && !expected.is_empty() && of_right.is_empty() && right.mark.is_none();
        (!is_as_said).then(|| {
            format!(
                "{} ({}): {said:?}\n  instead of {expected:?}\n  right: {:?}",
                self.rule.id,
                self.notation,
                shown(&of_right)
            )
        })
    }
}

/// A correct definition in a notation.
fn correct(base: Base, notation: &str) -> Value {
    let json: Value = serde_json::from_str(base.json()).unwrap();
    match notation {
        "yaml" => template(&json),
        "hcl" => block::value_of("main.tf", &Spelling::literal().resource(&json).unwrap()),
        _ => json,
    }
}

#[test]
fn what_is_wrong_has_one_finding_and_what_is_right_has_none() {
    let mismatches: Vec<String> = examples().filter_map(|example| example.mismatch()).collect();
    assert!(mismatches.is_empty(), "{} unexpected:\n{}", mismatches.len(), mismatches.join("\n"));
}

#[test]
fn every_rule_has_an_example_and_frequent_ones_have_three() {
    let without: Vec<&str> = rules().filter(|rule| rule.texts().example.is_empty()).map(|rule| rule.id).collect();
    assert_eq!(without, WITHOUT_EXAMPLE);
    let mut notations: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for example in examples() {
        notations.entry(example.rule.id).or_default().insert(example.notation);
    }
    let with_all = notations.values().filter(|notations| notations.len() == 3).count();
    assert!(with_all >= 30, "{with_all} rules have examples in JSON, CloudFormation and Terraform");
}

#[test]
fn each_page_is_a_rule_s() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/rules");
    let files = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let pages = rules().map(|rule| rule.page.path().split('#').next().unwrap().to_owned());
    let expected: BTreeSet<String> = pages.chain(["README.md".to_owned()]).collect();
    assert_eq!(files.collect::<BTreeSet<_>>(), expected);
}
