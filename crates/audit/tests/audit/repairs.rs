//! Fixes: what they mend is mended, nothing else comes of it, and there is nothing left to mend afterwards.

use std::sync::Arc;

use audit::{
    example::Base,
    finding::Finding,
    fix::{Repair, repair},
    source::SourceFile,
};

use crate::{
    mutations::mutations,
    reading::{findings_in, ids, shown},
    template::yaml_template,
};

fn repaired(name: &str, text: &str) -> Repair {
    repair(Arc::new(SourceFile::new(name, text)), |_| true)
}

/// What is wrong with mending a text; and how many findings it mends.
fn mend(name: &str, text: &str) -> Result<usize, String> {
    let before = findings_in(name, text);
    let with_fix: Vec<&Finding> = before.iter().filter(|finding| finding.fix.is_some()).collect();
    if with_fix.is_empty() {
        return Ok(0);
    }
    let Repair { after, left, mended, .. } = repaired(name, text);
    if !left.is_empty() {
        let errors: Vec<_> = left.iter().map(|left| (left.finding.rule.id, &left.error)).collect();
        return Err(format!("cannot be mended: {errors:?}\n{text}"));
    }
    let remaining = findings_in(name, &after.text);
    let is_known = |finding: &Finding| before.iter().any(|old| old.message == finding.message && old.fix.is_none());
    if !remaining.iter().all(is_known) {
        return Err(format!("{:#?} before, {:#?} after:\n{}", shown(&before), shown(&remaining), after.text));
    }
    let again = repaired(name, &after.text);
    if again.after.text != after.text || !again.mended.is_empty() {
        return Err(format!("not done after the first time: {}", again.after.text));
    }
    Ok(mended.len())
}

/// Mends every mutation in a notation, and answers how many findings that mended.
fn mend_all(name: &str, written: impl Fn(Base, &serde_json::Value) -> Option<String>) -> usize {
    let (mut count, mut surprises) = (0, Vec::new());
    for (base, mutation) in mutations() {
        let Some(text) = written(base, &mutation.broken(base)) else { continue };
        match mend(name, &text) {
            Ok(mended) => count += mended,
            Err(surprise) => surprises.push(format!("{base:?} {}: {surprise}", mutation.label())),
        }
    }
    assert!(surprises.is_empty(), "{} surprises:\n{}", surprises.len(), surprises.join("\n"));
    count
}

#[test]
fn in_json_every_fix_mends_its_finding_once_and_for_all() {
    let count = mend_all("task.json", |_, json| Some(serde_json::to_string_pretty(json).unwrap()));
    assert!(count > 200, "{count}");
}

#[test]
fn in_yaml_every_fix_mends_its_finding_once_and_for_all() {
    let count = mend_all("template.yaml", |base, json| (base != Base::AppMeshResources).then(|| yaml_template(json)));
    assert!(count > 200, "{count}");
}

#[test]
fn a_template_in_yaml_has_the_findings_of_the_definition_in_json() {
    let mut surprises = Vec::new();
    for (base, mutation) in mutations().filter(|(base, _)| *base != Base::AppMeshResources) {
        let found = findings_in("template.yaml", &yaml_template(&mutation.broken(base)));
        if ids(&found) != mutation.finds() {
            surprises.push(format!("{base:?} {}: {:#?}", mutation.label(), shown(&found)));
        }
    }
    assert!(surprises.is_empty(), "{} surprises:\n{}", surprises.len(), surprises.join("\n"));
}
