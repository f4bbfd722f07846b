//! Any file, under any name: reading it, asking every rule about it, and sorting the findings never panics.

#![no_main]

use std::{path::Path, sync::Arc};

use ecs_mesh_controller::audit::{
    Material, audit,
    ignore::{Config, sort},
    input::read_source,
    source::SourceFile,
    timeline::Timeline,
};
use libfuzzer_sys::fuzz_target;

const NAMES: [&str; 5] = ["task.json", "template.yaml", "stack.template", "plan.tfplan.json", "<stdin>"];

fuzz_target!(|data: &[u8]| {
    let Some((first, rest)) = data.split_first() else { return };
    let Ok(text) = std::str::from_utf8(rest) else { return };
    let name = NAMES[usize::from(*first) % NAMES.len()];
    let mut material = Material::default();
    // A problem is an answer: what could be read is checked all the same.
    let _ = read_source(Arc::new(SourceFile::new(name, text)), true, &mut material);
    let findings = audit(&material);
    for finding in &findings {
        assert!(finding.file.text.get(finding.span.start..finding.span.end).is_some(), "{}", finding.rule.id);
    }
    for definition in &material.definitions {
        let timeline = Timeline::of(definition);
        let _ = (timeline.text(), timeline.mermaid(), timeline.svg());
    }
    let _ = sort(findings, &material, &Config::default(), Path::new("."));
});
