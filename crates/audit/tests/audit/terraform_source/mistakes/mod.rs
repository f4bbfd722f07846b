//! Mistakes in the inputs of `HashiCorp`'s modules: each that an input can express is found, at the input. What the modules
//! prevent is listed. With `precondition` and `validation`, they also refuse some of these mistakes before a plan.

mod controllers;
mod gateway_task;
mod mesh_task;

use std::{collections::BTreeSet, fmt::Write as _, fs, sync::Arc};

use audit::{audit, finding::Finding, rule::Applies, rules::rules};
use audit_read::{Material, input::read_source, source::SourceFile};

use crate::reading::{findings_in, shown};

/// A module of a release.
struct Module {
    name: &'static str,
    /// The rules that are about other tasks.
    foreign: &'static [Applies],
    planted: &'static [Planted],
    /// The rules that no input violates. Containers with names of the module's own, which ECS refuses, are no input here.
    prevented: &'static [&'static [&'static str]],
}

/// A correct call of a module, and the mistakes that are planted into it.
struct Planted {
    call: &'static str,
    mistakes: &'static [Mistake],
}

/// A change of the call, the rules that have findings then, and a text in the line that the first one's points at.
struct Mistake {
    rules: &'static str,
    at: &'static str,
    text: &'static str,
    is_added: bool,
    line: &'static str,
}

/// Replaces a text of the call. `rules` are separated by spaces.
const fn replaced(rules: &'static str, at: &'static str, text: &'static str, line: &'static str) -> Mistake {
    Mistake { rules, at, text, is_added: false, line }
}

/// Adds a text before another one. The finding points at what is added.
const fn added(rules: &'static str, at: &'static str, text: &'static str) -> Mistake {
    Mistake { rules, at, text, is_added: true, line: text.trim_ascii() }
}

impl Mistake {
    /// Where the finding points instead.
    const fn at(self, line: &'static str) -> Self {
        Self { line, ..self }
    }

    /// The call with the mistake.
    fn planted(&self, call: &str) -> String {
        assert!(call.contains(self.at), "the call lacks {}", self.at);
        let text = if self.is_added { format!("{}{}", self.text, self.at) } else { self.text.to_owned() };
        let planted = call.replacen(self.at, &text, 1);
        assert_ne!(planted, call, "{} changes nothing", self.text);
        planted
    }

    /// What is wrong with what is found in the planted call, beyond what is found in the intact one.
    fn misjudged(&self, intact: &str) -> Option<String> {
        let known: Vec<String> = shown(&all_findings(intact));
        let text = self.planted(intact);
        let found = all_findings(&text);
        let new: Vec<&Finding> = found.iter().filter(|one| !known.contains(&message(one))).collect();
        let pointed = |finding: &Finding| text.lines().nth(finding.file.position(finding.span.start).line - 1);
        let first = self.rules.split(' ').next();
        let is_there = new
            .iter()
            .any(|one| Some(one.rule.id) == first && pointed(one).is_some_and(|line| line.contains(self.line)));
        let expected: BTreeSet<&str> = self.rules.split(' ').collect();
        let rules: BTreeSet<&str> = new.iter().map(|one| one.rule.id).collect();
        let lines: Vec<_> = new.iter().map(|one| (one.rule.id, pointed(one))).collect();
        (!is_there || rules != expected)
            .then(|| format!("{expected:?} at {}\n{}\nfound {lines:#?}", self.line, self.text))
    }
}

fn message(finding: &Finding) -> String {
    shown(std::slice::from_ref(finding)).concat()
}

/// The modules for tasks of the mesh make the network mode, the volumes, the tags of the mesh, the configuration, the
/// mesh's containers with their commands, mounts, limits, secrets and order, and the app's dependency on the proxy.
const MADE: &[&str] = &[
    "consul-app-order",
    "consul-config-missing",
    "consul-family-name",
    "consul-health-sync-command",
    "consul-health-sync-configuration",
    "consul-health-sync-containers",
    "consul-health-sync-missing",
    "consul-health-sync-order",
    "consul-image-versions",
    "consul-mesh-init-command",
    "consul-mesh-init-essential",
    "consul-mesh-init-missing",
    "consul-mesh-init-mounts",
    "consul-mesh-tag-alone",
    "consul-mesh-tag-missing",
    "consul-mesh-tag-value",
    "consul-network-mode",
    "consul-proxy-mount",
    "consul-proxy-mount-read-only",
    "consul-proxy-open-files",
    "consul-proxy-open-files-default",
    "consul-proxy-order",
    "consul-restart-policy",
    "consul-service-name-case",
    "consul-service-name-tag",
    "consul-service-or-gateway",
    "consul-token-secret-managed",
    "consul-token-secret-version",
    "consul-volumes",
];

/// Those with Consul Dataplane also make its checks, users and privileges, and a section `proxy`.
const MADE_WITH_DATAPLANE: &[&str] = &[
    "consul-control-plane-command",
    "consul-control-plane-health-check",
    "consul-dataplane-command",
    "consul-dataplane-entry-point",
    "consul-dataplane-health-check",
    "consul-dataplane-missing",
    "consul-dataplane-users",
    "consul-dataplane-waits-for-control-plane",
    "consul-login-off",
    "consul-proxy-section",
    "consul-transparent-proxy-privileges",
];

const MODULES: [&Module; 5] = [
    &mesh_task::WITH_DATAPLANE,
    &mesh_task::WITH_CLIENT,
    &gateway_task::TODAY,
    &controllers::CONTROLLER,
    &controllers::ACL_CONTROLLER,
];

#[test]
fn mistakes_in_inputs_are_found_at_the_input() {
    let mut missed = Vec::new();
    for Planted { call, mistakes } in MODULES.iter().flat_map(|module| module.planted) {
        let path = format!("{}/tests/audit/terraform_source/modules/{call}.tf", env!("CARGO_MANIFEST_DIR"));
        let intact = fs::read_to_string(path).unwrap();
        assert_eq!(shown(&findings_in("main.tf", &intact)), Vec::<String>::new(), "{call}");
        let misjudged = mistakes.iter().filter_map(|mistake| mistake.misjudged(&intact));
        missed.extend(misjudged.map(|what| format!("{call}: {what}")));
    }
    assert!(missed.is_empty(), "{} misjudged:\n{}", missed.len(), missed.join("\n"));
}

#[test]
fn every_rule_has_a_mistake_or_is_prevented_by_the_module() {
    for module in MODULES {
        let of_app_mesh = [Applies::AppMesh, Applies::AppMeshResources];
        let applies = |applies: &Applies| !module.foreign.contains(applies) && !of_app_mesh.contains(applies);
        let known: BTreeSet<&str> = rules().map(|rule| rule.id).collect();
        let all: BTreeSet<&str> = rules().filter(|rule| applies(&rule.applies)).map(|rule| rule.id).collect();
        let planted: BTreeSet<&str> = module
            .planted
            .iter()
            .flat_map(|planted| planted.mistakes)
            .flat_map(|mistake| mistake.rules.split(' '))
            .collect();
        let prevented: BTreeSet<&str> = module.prevented.concat().into_iter().collect();
        let name = module.name;
        assert_eq!(prevented.difference(&known).collect::<Vec<_>>(), Vec::<&&str>::new(), "{name}: no rules");
        assert_eq!(prevented.intersection(&planted).collect::<Vec<_>>(), Vec::<&&str>::new(), "{name}: not prevented");
        let listed: BTreeSet<&str> = planted.union(&prevented).copied().collect();
        assert_eq!(all.difference(&listed).collect::<Vec<_>>(), Vec::<&&str>::new(), "{name}: neither");
    }
}

/// With those about old releases.
fn all_findings(text: &str) -> Vec<Finding> {
    let mut material = Material::default();
    read_source(Arc::new(SourceFile::new("main.tf", text)), true, &mut material).unwrap();
    audit(&material)
}

/// What is known only at deployment causes no findings.
#[test]
fn unknown_inputs_cause_no_findings() {
    for (name, call, _) in super::modules::calls() {
        let names: Vec<&str> = call
            .lines()
            .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
            .filter_map(|line| line.trim_start().split_once(" = ").map(|(name, _)| name.trim()))
            .filter(|name| !["source", "version", "task_definition", "log_config"].contains(name))
            .collect();
        for input in names {
            let is_start =
                |line: &str| line.trim_start().split_once(" = ").is_some_and(|(name, _)| name.trim() == input);
            let mut out = String::new();
            let mut depth = 0_i32;
            for line in call.lines() {
                let brackets =
                    |open: [char; 2]| i32::try_from(line.chars().filter(|c| open.contains(c)).count()).unwrap();
                let change = brackets(['[', '{']) - brackets([']', '}']);
                if depth > 0 {
                    depth += change;
                } else if is_start(line) && line.starts_with("  ") && !line.starts_with("   ") {
                    let _ = writeln!(out, "  {input} = data.example.values.{input}");
                    depth = change;
                } else {
                    out.push_str(line);
                    out.push('\n');
                }
            }
            let found = shown(&findings_in("main.tf", &out));
            assert_eq!(found, Vec::<String>::new(), "{name}: {input} unknown\n{out}");
        }
    }
}
