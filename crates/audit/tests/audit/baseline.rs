//! Exceptions for all findings: afterwards there is none.

use std::{path::Path, sync::Arc};

use audit::{
    audit,
    finding::Finding,
    ignore::{Baseline, Config, Origin, Sorted, sort},
};
use audit_read::{Material, input::read_source};
use document::SourceFile;

use crate::{
    mutations::pairs,
    rule_pages::{Example, examples},
};

fn config(text: &str) -> Config {
    Config::read(SourceFile::new("ecs-mesh.toml", text), Path::new("/run")).unwrap()
}

fn checked(files: &[SourceFile], config: &Config) -> Sorted {
    let mut material = Material::default();
    for file in files {
        read_source(Arc::new(file.clone()), true, &mut material).unwrap();
    }
    sort(audit(&material), &material, config, Path::new("/run"))
}

fn baseline(files: &[SourceFile]) -> Baseline {
    let found = checked(files, &Config::default()).findings;
    let found: Vec<&Finding> = found.iter().collect();
    Baseline::new(&found, "a lab", Path::new("/run"), Path::new("/run"), &|file| match file.name.as_str() {
        "<stdin>" => Origin::Elsewhere,
        "cdk.out/web.yaml" => Origin::Generated,
        _ => Origin::Edited,
    })
}

/// Writes the baseline: the files afterwards, and the configuration.
fn written(files: &[SourceFile], baseline: &Baseline) -> (Vec<SourceFile>, Config) {
    let after = |file: &SourceFile| {
        let changed = baseline.files.iter().find(|changed| changed.before.name == file.name);
        changed.map_or_else(|| file.clone(), |changed| SourceFile::new(file.name.as_str(), changed.after.as_str()))
    };
    (files.iter().map(after).collect(), config(&baseline.entries_as_toml("a lab")))
}

#[test]
fn every_finding_of_every_example_can_be_accepted() {
    // Exceptions are written the same way with and without a running mesh.
    let is_json = |example: &Example| example.base.is_some() && example.notation == "json" && example.mesh.is_none();
    let examples = examples().filter(is_json).map(|example| example.wrong);
    let of_pairs =
        pairs().filter(|(_, mutation)| !mutation.finds().is_empty()).map(|(base, mutation)| mutation.broken(base));
    let mut comments = 0;
    for (number, broken) in examples.chain(of_pairs).enumerate() {
        let json = serde_json::to_string_pretty(&broken).unwrap();
        for file in [
            SourceFile::new(format!("plain [{number}].json"), json.as_str()),
            SourceFile::new("commented.json", format!("// for the lab\n{json}")),
            SourceFile::new("web.yaml", yaml_serde::to_string(&broken).unwrap()),
        ] {
            // Given a file with findings, and the exceptions for them.
            let is_plain = file.name.starts_with("plain");
            let baseline = baseline(std::slice::from_ref(&file));
            assert_eq!(baseline.files.is_empty(), is_plain, "{}", file.text);
            assert_eq!(baseline.entries.is_empty(), !is_plain, "{}", file.text);
            comments += baseline.files.len();
            // When they are written, then nothing is found, and no exception is superfluous.
            let (files, config) = written(&[file], &baseline);
            let sorted = checked(&files, &config);
            let left: Vec<&str> = sorted.findings.iter().map(|finding| finding.rule.id).collect();
            assert_eq!((left, &sorted.unused), (Vec::new(), &Vec::new()), "{}", files[0].text);
            assert!(!sorted.ignored.is_empty() && sorted.problems.is_empty());
        }
    }
    assert!(comments > 100, "{comments}");
}

const TEMPLATE: &str = include_str!("baseline/template.yaml");

#[test]
fn comments_stand_above_their_lines_and_change_no_text() {
    // Given a template with Windows' line ends. One of its findings is on a line that begins within a quoted text, and one
    // within the configuration.
    let template = SourceFile::new("template.yaml", TEMPLATE.replace('\n', "\r\n"));
    let baseline = baseline(std::slice::from_ref(&template));
    // Then comments stand above the lines, but not within the text: an entry ignores that finding.
    let after = &baseline.files[0].after;
    assert!(
        after.contains("\r\n      # ecs-mesh: ignore[consul-network-mode] a lab\r\n      NetworkMode: bridge\r\n"),
        "{after}"
    );
    let above = "# ecs-mesh: ignore[consul-config-schema, consul-proxy-section] a lab\r\n              Value: |\r\n";
    assert!(after.contains(above), "{after}");
    assert!(!after.replace("\r\n", "").contains('\n'), "{after}");
    let entries = baseline.entries_as_toml("a lab");
    assert!(
        entries.contains("rule = \"ecs-dependency-unknown\"\npath = \"template.yaml\"\nfamily = \"web\"\n"),
        "{entries}"
    );
    assert_eq!(entries.matches("[[ignore]]").count(), 1, "{entries}");
    let (files, config) = written(&[template], &baseline);
    assert!(checked(&files, &config).findings.is_empty());
}

#[test]
fn what_is_no_file_gets_entries_without_a_path() {
    let broken = include_str!("../../src/bases/dataplane.json").replace("awsvpc", "bridge");
    let entries = baseline(&[SourceFile::new("<stdin>", format!("// piped\n{broken}"))]).entries_as_toml("a \"lab\"");
    assert_eq!(entries, "\n[[ignore]]\nrule = \"consul-network-mode\"\nfamily = \"web\"\nreason = \"a \\\"lab\\\"\"\n");
}

#[test]
fn each_of_several_documents_gets_its_comments() {
    let yaml = TEMPLATE.replace("web\n", "orders\n");
    let file = SourceFile::new("all.yaml", format!("{TEMPLATE}---\n{yaml}"));
    let baseline = baseline(std::slice::from_ref(&file));
    assert_eq!(baseline.files[0].after.matches("# ecs-mesh: ignore[consul-network-mode] a lab\n").count(), 2);
    let (files, config) = written(&[file], &baseline);
    assert!(checked(&files, &config).findings.is_empty());
}

#[test]
fn what_a_program_writes_anew_gets_entries_with_its_path() {
    let file = SourceFile::new("cdk.out/web.yaml", TEMPLATE);
    let baseline = baseline(std::slice::from_ref(&file));
    assert!(baseline.files.is_empty());
    assert!(baseline.entries_as_toml("a lab").contains("path = \"cdk.out/web.yaml\""));
    let (files, config) = written(&[file], &baseline);
    assert!(checked(&files, &config).findings.is_empty());
}
