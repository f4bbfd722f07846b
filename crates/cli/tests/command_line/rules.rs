//! `ecs-mesh rules` and `man`.

use std::{
    collections::BTreeSet,
    fs,
    process::{Command, Stdio},
};

use crate::workspace::{Workspace, errors, out};

#[test]
fn rules_are_searched_by_words() {
    let workspace = Workspace::new("rules-search", &[]);
    let all = out(&workspace.run(&["rules"]));
    let found = out(&workspace.run(&["rules", "Network", "mode"]));
    assert!(found.lines().count() < all.lines().count() / 3, "{found}");
    let row = "consul-network-mode ";
    let line = found.lines().find(|line| line.starts_with(row)).unwrap();
    let cells: Vec<&str> = line.split_whitespace().collect();
    assert_eq!(cells[..3], ["consul-network-mode", "error", "yes"]);
    let none = workspace.run(&["rules", "xyzzy"]);
    assert_eq!(none.status.code(), Some(2));
    assert_eq!(errors(&none), "error: no rule is about \"xyzzy\"\n");
}

#[test]
fn programs_read_whether_a_rule_has_a_fix() {
    let workspace = Workspace::new("rules-json", &[]);
    let rules: serde_json::Value =
        serde_json::from_str(&out(&workspace.run(&["rules", "--output", "json", "consul-network-mode"]))).unwrap();
    let rule = rules.as_array().unwrap().iter().find(|rule| rule["id"] == "consul-network-mode").unwrap();
    assert_eq!(rule["fixable"], true);
}

#[test]
fn rules_fit_a_terminal() {
    let workspace = Workspace::new("rules-width", &[]);
    for width in ["80", "160"] {
        let text = out(&workspace.command(&["rules"]).env("COLUMNS", width).output().unwrap());
        let columns: usize = width.parse().unwrap();
        assert!(text.lines().all(|line| line.chars().count() <= columns), "{text}");
    }
}

#[test]
fn every_command_has_a_manual_page() {
    let workspace = Workspace::new("man", &[]);
    let help = out(&workspace.run(&["--help"]));
    let commands = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    // What is indented further is the rest of a description.
    let commands = commands.filter(|line| !line.starts_with("   "));
    let mut pages: BTreeSet<String> =
        commands.map(|line| format!("ecs-mesh-{}.1", line.split_whitespace().next().unwrap())).collect();
    pages.extend(["ecs-mesh.1", "ecs-mesh-config-show.1", "ecs-mesh-config-schema.1"].map(str::to_owned));
    assert_eq!(workspace.run(&["man", "--output-dir", "man1"]).status.code(), Some(0));
    let files = fs::read_dir(workspace.0.join("man1")).unwrap();
    let written: BTreeSet<String> = files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    assert_eq!(written, pages);
    let check = workspace.read("man1/ecs-mesh-check.1");
    assert!(check.contains("\\-\\-add\\-ignore"), "{check}");
    assert_eq!(out(&workspace.run(&["man"])), workspace.read("man1/ecs-mesh.1"));
}

/// What bash completes after these words, of which the last one is incomplete.
fn completed(words: &[&str]) -> Vec<String> {
    let workspace = Workspace::new("completions-bash", &[]);
    fs::write(workspace.0.join("ecs-mesh.bash"), out(&workspace.run(&["completions", "bash"]))).unwrap();
    let [.., previous, current] = words else { panic!("{words:?}") };
    let script = format!(
        "source ./ecs-mesh.bash && COMP_WORDS=(ecs-mesh {}) COMP_CWORD={} && _ecs__mesh ecs-mesh {current} {previous} \
         && echo \"${{COMPREPLY[@]}}\"",
        words.join(" "),
        words.len()
    );
    let mut bash = Command::new("bash");
    let output = bash.args(["-c", &script]).current_dir(&workspace.0).stdin(Stdio::null()).output().unwrap();
    assert_eq!(errors(&output), "", "{script}");
    out(&output).split_whitespace().map(str::to_owned).collect()
}

#[test]
fn bash_completes_options_rules_and_groups() {
    assert_eq!(completed(&["check", "--add"]), ["--add-ignore"]);
    for option in ["--select", "--only", "--ignore"] {
        for command in [&["check"][..], &["fix"], &["config", "show"]] {
            let words = [command, &[option, "consul-health"]].concat();
            let found = completed(&words);
            assert!(found.contains(&"consul-health-sync".to_owned()), "a group of {words:?}: {found:?}");
            assert!(found.contains(&"consul-health-sync-needless".to_owned()), "a rule of {words:?}: {found:?}");
            assert!(found.iter().all(|name| name.starts_with("consul-health")), "{found:?}");
        }
    }
    assert_eq!(completed(&["explain", "consul-network-m"]), ["consul-network-mode"]);
    assert_eq!(completed(&["explain", "consul-client"]).iter().find(|name| *name == "consul-client"), None, "a group");
}
