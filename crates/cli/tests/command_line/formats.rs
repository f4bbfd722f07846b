//! What a check prints: one line for each finding, statistics.

use crate::workspace::{CLEAN, Workspace, bridged, out, two_mistakes};

#[test]
fn a_concise_report_is_what_editors_parse() {
    let workspace = Workspace::new("concise", &[("web.json", &bridged())]);
    let output = workspace.run(&["check", "--output", "concise"]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        out(&output),
        "web.json:3:18: error consul-network-mode web: the network mode is bridge\n\
         1 error in 1 of 1 task definition (1 file)\n"
    );
    let coloured = out(&workspace.run(&["check", "--output", "concise", "--color", "always"]));
    assert!(coloured.starts_with("\u{1b}[1mweb.json\u{1b}[0m:3:18: "), "{coloured:?}");
}

#[test]
fn a_report_for_gitlab_has_an_issue_for_each_finding() {
    let workspace = Workspace::new("gitlab", &[("web.json", &bridged())]);
    let report: serde_json::Value =
        serde_json::from_str(&out(&workspace.run(&["check", "--output", "gitlab"]))).unwrap();
    assert_eq!(report[0]["check_name"], "consul-network-mode");
    assert_eq!(report[0]["severity"], "major");
    assert_eq!(report[0]["location"], serde_json::json!({ "path": "web.json", "lines": { "begin": 3 } }));
}

#[test]
fn statistics_count_the_findings_of_each_rule() {
    let workspace = Workspace::new("statistics", &[("a.json", &two_mistakes()), ("b.json", &bridged())]);
    let output = workspace.run(&["check", "--statistics"]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        out(&output),
        "rule                    count  severity  fix  what a correct definition has\n\
         consul-network-mode     2      error     all  the network mode is awsvpc\n\
         ecs-dependency-unknown  1      error     –    containers wait only for containers of the same definition\n\
         \n3 errors in 2 of 2 task definitions (2 files)\n"
    );
    let narrow = workspace.command(&["check", "--statistics", "--quiet"]).env("COLUMNS", "50").output().unwrap();
    let text = out(&narrow);
    assert!(
        text.starts_with("consul-network-mode\n  the network mode is awsvpc\n  count 2, severity error,"),
        "{text}"
    );
    assert!(text.lines().all(|line| line.chars().count() <= 50), "{text}");
    assert_eq!(workspace.run(&["check", "--statistics", "--output", "json"]).status.code(), Some(2));
}

#[test]
fn statistics_of_a_clean_run_are_the_summary() {
    let workspace = Workspace::new("statistics-clean", &[("web.json", CLEAN)]);
    assert_eq!(out(&workspace.run(&["check", "--statistics"])), "no findings in 1 task definition (1 file)\n");
}
