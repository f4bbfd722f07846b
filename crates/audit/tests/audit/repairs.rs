//! Fixes: they fix their findings, cause no others, and a second run changes nothing.

use std::collections::BTreeSet;

use audit::{finding::Finding, fix::Repair, rules::rules};

use crate::{
    example::Base,
    mutations::mutations,
    reading::{findings, findings_in, ids, repaired, shown},
    rule_pages::examples,
    template::yaml_template,
    terraform_source::written::{Spelling, json_source},
};

/// Fixes a text, and returns the number of fixed findings or what went wrong.
fn fix(name: &str, text: &str) -> Result<usize, String> {
    let before = findings_in(name, text);
    let with_fix: Vec<&Finding> = before.iter().filter(|finding| finding.fix.is_some()).collect();
    if with_fix.is_empty() {
        return Ok(0);
    }
    let Repair { after, left, fixed, .. } = repaired(name, text);
    if !left.is_empty() {
        let errors: Vec<_> = left.iter().map(|left| (left.finding.rule.id, &left.error)).collect();
        return Err(format!("cannot be fixed: {errors:?}\n{text}"));
    }
    let remaining = findings_in(name, &after.text);
    let is_known = |finding: &Finding| before.iter().any(|old| old.message == finding.message && old.fix.is_none());
    if !remaining.iter().all(is_known) {
        return Err(format!("{:#?} before, {:#?} after:\n{}", shown(&before), shown(&remaining), after.text));
    }
    let again = repaired(name, &after.text);
    if again.after.text != after.text || !again.fixed.is_empty() {
        return Err(format!("not complete after the first run: {}", again.after.text));
    }
    Ok(fixed.len())
}

/// Fixes every mutation in a notation, and returns the number of fixed findings.
fn fix_all_mutations(name: &str, written: impl Fn(Base, &serde_json::Value) -> Option<String>) -> usize {
    let (mut count, mut unexpected) = (0, Vec::new());
    for (base, mutation) in mutations() {
        let Some(text) = written(base, &mutation.broken(base)) else { continue };
        match fix(name, &text) {
            Ok(fixed) => count += fixed,
            Err(error) => unexpected.push(format!("{base:?} {}: {error}", mutation.label())),
        }
    }
    assert!(unexpected.is_empty(), "{} unexpected:\n{}", unexpected.len(), unexpected.join("\n"));
    count
}

#[test]
fn rules_say_whether_their_findings_have_a_fix() {
    let of_examples = examples().flat_map(|example| example.findings_of_wrong());
    let of_mutations = mutations().flat_map(|(base, mutation)| findings(&mutation.broken(base)));
    let with_fix: BTreeSet<&str> = of_examples
        .chain(of_mutations)
        .filter(|finding| finding.fix.is_some())
        .map(|finding| finding.rule.id)
        .collect();
    let said: BTreeSet<&str> = rules().filter(|rule| rule.texts().is_fixable).map(|rule| rule.id).collect();
    assert_eq!(said, with_fix);
}

#[test]
fn the_fixes_of_examples_are_complete() {
    let with_fix = examples().filter(|example| example.findings_of_wrong().iter().any(|finding| finding.fix.is_some()));
    let wrong: Vec<String> = with_fix
        .filter_map(|example| {
            Some(format!("{}: {}", example.rule.id, fix(&example.name(), &example.wrong_text()).err()?))
        })
        .collect();
    assert_eq!(wrong, [""; 0]);
}

#[test]
fn ambiguous_findings_have_no_fix() {
    for id in ["consul-login-off", "consul-helper-essential"] {
        let found = examples().find(|example| example.rule.id == id).unwrap().findings_of_wrong();
        assert!(found.iter().all(|finding| finding.fix.is_none()), "{id}");
    }
}

#[test]
fn every_fix_is_complete_in_json() {
    let count = fix_all_mutations("task.json", |_, json| Some(serde_json::to_string_pretty(json).unwrap()));
    assert!(count > 200, "{count}");
}

#[test]
fn every_fix_is_complete_in_yaml() {
    let count =
        fix_all_mutations("template.yaml", |base, json| (base != Base::AppMeshResources).then(|| yaml_template(json)));
    assert!(count > 200, "{count}");
}

#[test]
fn every_fix_is_complete_in_terraform_sources() {
    let count = fix_all_mutations("main.tf", |_, json| Spelling::literal().resource(json));
    assert!(count > 200, "{count}");
}

#[test]
fn every_fix_is_complete_in_terraform_json() {
    let count = fix_all_mutations("main.tf.json", |_, json| json_source(json));
    assert!(count > 200, "{count}");
}

#[test]
fn every_fix_is_complete_in_terraform_sources_with_windows_line_ends() {
    let count = fix_all_mutations("main.tf", |_, json| Some(Spelling::literal().resource(json)?.replace('\n', "\r\n")));
    assert!(count > 200, "{count}");
}

#[test]
fn a_template_in_yaml_has_the_findings_of_the_definition_in_json() {
    let mut unexpected = Vec::new();
    for (base, mutation) in mutations().filter(|(base, _)| *base != Base::AppMeshResources) {
        let found = findings_in("template.yaml", &yaml_template(&mutation.broken(base)));
        if ids(&found) != mutation.finds() {
            unexpected.push(format!("{base:?} {}: {:#?}", mutation.label(), shown(&found)));
        }
    }
    assert!(unexpected.is_empty(), "{} unexpected:\n{}", unexpected.len(), unexpected.join("\n"));
}
