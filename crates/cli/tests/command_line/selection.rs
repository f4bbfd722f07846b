//! Which rules are applied: `--select`, `--ignore`, and `off` in the configuration file.

use crate::workspace::{Workspace, errors, out, two_mistakes};

/// The rules with findings.
fn found(workspace: &Workspace, arguments: &[&str]) -> Vec<String> {
    let output = workspace.run(&[&["check", "--output", "concise", "--quiet"], arguments].concat());
    assert!(errors(&output).is_empty(), "{}", errors(&output));
    out(&output).lines().map(|line| line.split(' ').nth(2).unwrap().to_owned()).collect()
}

#[test]
fn rules_are_selected_by_id_and_group() {
    let workspace = Workspace::new("select", &[("web.json", &two_mistakes())]);
    let (network, unknown) = ("consul-network-mode", "ecs-dependency-unknown");
    for (arguments, rules) in [
        (&[][..], &[network, unknown][..]),
        (&["--select", "consul"], &[network]),
        (&["--only", unknown], &[unknown]),
        (&["--select", "consul-network-mode,ecs"], &[network, unknown]),
        (&["--select", "consul", "--select", "ecs", "--ignore", "ecs-dependency"], &[network]),
        (&["--ignore", "consul"], &[unknown]),
        (&["--ignore", "consul,ecs"], &[]),
        (&["--select", network, "--ignore", "consul"], &[network]),
    ] {
        assert_eq!(found(&workspace, arguments), rules, "{arguments:?}");
    }
}

#[test]
fn findings_of_other_rules_do_not_fail_the_run() {
    let workspace = Workspace::new("select-exit", &[("web.json", &two_mistakes())]);
    assert_eq!(workspace.run(&["check", "--select", "appmesh"]).status.code(), Some(0));
    assert_eq!(workspace.run(&["check", "--select", "ecs"]).status.code(), Some(1));
}

#[test]
fn an_unknown_rule_is_an_error_with_a_suggestion() {
    let workspace = Workspace::new("select-unknown", &[("web.json", &two_mistakes())]);
    for option in ["--select", "--ignore", "--only"] {
        let output = workspace.run(&["check", option, "consul-netwrk-mode"]);
        assert_eq!(output.status.code(), Some(2));
        let message = "there is no rule or group of rules \"consul-netwrk-mode\"; did you mean consul-network-mode?";
        assert!(errors(&output).contains(message), "{}", errors(&output));
    }
}

#[test]
fn the_configuration_turns_rules_off_and_the_command_line_on() {
    let config = "[severity]\nconsul = 'off'\necs-dependency-unknown = 'info'\n";
    let workspace = Workspace::new("off", &[("web.json", &two_mistakes()), ("ecs-mesh.toml", config)]);
    let off = workspace.run(&["check", "--output", "concise"]);
    assert_eq!(off.status.code(), Some(0), "{}", out(&off));
    assert!(out(&off).contains(": info ecs-dependency-unknown ") && !out(&off).contains("consul-network-mode"));
    assert_eq!(found(&workspace, &["--select", "consul-network-mode"]), ["consul-network-mode"]);
}

#[test]
fn an_exception_of_a_rule_that_is_off_is_not_reported_as_superfluous() {
    let commented =
        two_mistakes().replace("\"networkMode\"", "// ecs-mesh: ignore[consul-network-mode] a lab\n  \"networkMode\"");
    let workspace = Workspace::new("off-comment", &[("web.json", &commented)]);
    assert_eq!(errors(&workspace.run(&["check", "--ignore", "consul"])), "");
}
