//! The same definition has the same findings in every notation, however its values are spelled.

use audit::finding::Finding;
use proptest::prelude::*;
use serde_json::Value;

use super::written::{Spelling, heredoc, json_source, plan};
use crate::{mutations::mutations, reading::findings_in};

/// What is the same in every notation. Lists of ECS are maps in Terraform, so that the order of findings differs.
fn reported(findings: &[Finding]) -> Vec<String> {
    let shown = |finding: &Finding| format!("{} {:?} {}", finding.rule.id, finding.container, finding.message);
    let mut reported: Vec<String> = findings.iter().map(shown).collect();
    reported.sort();
    reported
}

fn of_ecs(definition: &Value) -> Vec<String> {
    reported(&findings_in("task.json", &serde_json::to_string_pretty(definition).unwrap()))
}

#[test]
fn every_mutation_has_the_same_findings_in_every_notation() {
    let (mut count, mut differences) = (0, Vec::new());
    for (base, mutation) in mutations() {
        let definition = mutation.broken(base);
        let notations = [
            ("main.tf", Spelling::literal().resource(&definition)),
            ("main.tf", heredoc(&definition)),
            ("main.tf.json", json_source(&definition)),
            ("plan.json", plan(&definition)),
        ];
        let expected = of_ecs(&definition);
        for (name, text) in notations {
            let Some(text) = text else { continue };
            count += 1;
            let found = reported(&findings_in(name, &text));
            if found != expected {
                differences
                    .push(format!("{base:?} {} in {name}: {found:#?} instead of {expected:#?}", mutation.label()));
            }
        }
    }
    assert!(differences.is_empty(), "{} differ:\n{}", differences.len(), differences.join("\n"));
    assert!(count > 1500, "{count}");
}

#[test]
fn findings_of_sources_point_at_the_value_in_the_file() {
    for (base, mutation) in mutations() {
        for text in [Spelling::literal().resource(&mutation.broken(base)), heredoc(&mutation.broken(base))] {
            let Some(text) = text else { continue };
            for finding in findings_in("main.tf", &text) {
                let pointed = &finding.file.text[finding.span.start..finding.span.end];
                assert!(!pointed.is_empty(), "{base:?} {}: {}", mutation.label(), finding.rule.id);
                assert!(pointed.len() < 4000, "{base:?} {}: {}: {pointed}", mutation.label(), finding.rule.id);
            }
        }
    }
}

#[test]
fn windows_line_ends_change_no_place_in_a_heredoc() {
    let pointed = |text: &str| -> Vec<String> {
        let of = |finding: &Finding| finding.file.text[finding.span.start..finding.span.end].replace("\r\n", "\n");
        findings_in("main.tf", text).iter().map(of).collect()
    };
    for (base, mutation) in mutations() {
        let Some(text) = heredoc(&mutation.broken(base)) else { continue };
        let with_returns = text.replace('\n', "\r\n");
        assert_eq!(pointed(&with_returns), pointed(&text), "{base:?} {}", mutation.label());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn the_spelling_of_values_has_no_influence(
        at in any::<prop::sample::Index>(),
        choices in prop::collection::vec(0_u8..24, 1..40),
    ) {
        let all: Vec<_> = mutations().collect();
        let (base, mutation) = at.get(&all);
        let definition = mutation.broken(*base);
        if let Some(text) = Spelling::of(choices).resource(&definition) {
            prop_assert_eq!(reported(&findings_in("main.tf", &text)), of_ecs(&definition), "{}", text);
        }
    }
}
