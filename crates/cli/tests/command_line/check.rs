//! `ecs-mesh` as its users run it: exit codes, streams, colours, help.

use std::{
    fs,
    io::Read,
    process::{Command, Stdio},
};

use crate::workspace::{CLEAN, Workspace, bridged, errors, out};
use serde_json::Value;

#[test]
fn the_exit_code_shows_the_result() {
    let workspace = Workspace::new("exit", &[("good.json", CLEAN), ("wrong.json", &bridged()), ("broken.json", "{")]);
    for (arguments, code) in [
        (&["check", "good.json"][..], 0),
        (&["check", "wrong.json"], 1),
        (&["check", "good.json", "wrong.json"], 1),
        (&["check", "--fail-on", "never", "wrong.json"], 0),
        (&["check", "wrong.json", "broken.json"], 2),
        (&["check", "--fail-on", "never", "broken.json"], 2),
        (&["check", "absent.json"], 2),
        (&["check", "--fail-on", "sometimes", "good.json"], 2),
        (&["check", "--output", "pdf", "good.json"], 2),
        (&["chekc"], 2),
        (&[], 2),
        (&["--help"], 0),
        (&["--version"], 0),
    ] {
        let output = workspace.run(arguments);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", errors(&output));
    }
}

#[test]
fn a_closed_pipe_is_no_error() {
    let workspace = Workspace::new("pipe", &[("wrong.json", &bridged())]);
    let mut child = workspace
        .command(&["check", "--output", "html", "wrong.json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let status = child.wait().unwrap();
    let mut stderr = String::new();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    assert_eq!((status.code(), stderr.as_str()), (Some(1), ""));
}

#[test]
fn a_pipe_gets_colours_on_request() {
    let workspace = Workspace::new("colour", &[("wrong.json", &bridged())]);
    let has_colours = |arguments: &[&str]| out(&workspace.run(arguments)).contains('\u{1b}');
    assert!(!has_colours(&["check", "wrong.json"]));
    assert!(has_colours(&["check", "wrong.json", "--color", "always"]));
    assert!(!has_colours(&["check", "wrong.json", "--color", "never"]));
    let asked = workspace.command(&["check", "wrong.json", "--color", "always"]).env("NO_COLOR", "1").output().unwrap();
    assert!(out(&asked).contains('\u{1b}'), "a flag takes precedence over the environment");
}

#[test]
fn a_terminal_gets_colours_by_default() {
    let workspace = Workspace::new("terminal", &[("wrong.json", &bridged())]);
    let on_terminal = |environment: &str| {
        let line = format!("{environment} {} check wrong.json", env!("CARGO_BIN_EXE_ecs-mesh"));
        let output = Command::new("script")
            .args(["-qec", &line, "/dev/null"])
            .current_dir(&workspace.0)
            .env_remove("NO_COLOR")
            .stdin(Stdio::null())
            .output()
            .unwrap();
        out(&output)
    };
    assert!(on_terminal("TERM=xterm").contains("\u{1b}[1m"));
    for plain in ["TERM=xterm NO_COLOR=1", "TERM=dumb"] {
        let text = on_terminal(plain);
        assert!(text.contains("consul-network-mode") && !text.contains('\u{1b}'), "{plain}: {text}");
    }
}

#[test]
fn every_command_has_help_with_examples() {
    let workspace = Workspace::new("help", &[]);
    for command in ["check", "rules", "explain", "graph", "config", "man", "completions"] {
        let output = workspace.run(&[command, "--help"]);
        assert_eq!(output.status.code(), Some(0), "{command}");
        assert!(out(&output).contains(&format!("ecs-mesh {command}")), "{command}: {}", out(&output));
        assert!(out(&output).contains("Examples:"), "{command}: {}", out(&output));
    }
    assert!(out(&workspace.run(&["--help"])).contains("Examples:"));
}

#[test]
fn the_configuration_is_found_upwards() {
    let ignore =
        "fail-on = 'warning'\n[[ignore]]\nrule = 'consul-network-mode'\npath = 'sub/*.json'\nreason = 'a lab'\n";
    let workspace = Workspace::new("config", &[("ecs-mesh.toml", ignore), ("wrong.json", &bridged())]);
    fs::create_dir(workspace.0.join("sub")).unwrap();
    fs::write(workspace.0.join("sub/wrong.json"), bridged()).unwrap();
    let below = Workspace(workspace.0.join("sub"));
    let output = below.run(&["check", "wrong.json"]);
    assert_eq!(output.status.code(), Some(0), "{}{}", out(&output), errors(&output));
    assert!(out(&output).contains("1 finding ignored"), "{}", out(&output));

    let output = workspace.run(&["check", "wrong.json"]);
    assert_eq!(output.status.code(), Some(1), "{}", out(&output));
    let unused = "info: ecs-mesh.toml:2:1: this entry ignores no finding of consul-network-mode";
    assert_eq!(errors(&output), "", "sub/ was not read");
    fs::write(workspace.0.join("sub/wrong.json"), CLEAN).unwrap();
    let all = workspace.run(&["check"]);
    assert!(errors(&all).contains(unused), "{}", errors(&all));

    fs::write(workspace.0.join("other.toml"), "[severity]\nconsul-netwrk-mode = 'info'\n").unwrap();
    workspace.assert_refused(
        &["check", "wrong.json", "--config", "other.toml"],
        "other.toml:2:1: there is no rule or group of rules \"consul-netwrk-mode\"; did you mean consul-network-mode?",
    );
    fs::write(workspace.0.join("other.toml"), "[severity]\nconsul-network-mode = 'info'\n").unwrap();
    assert_eq!(workspace.run(&["check", "wrong.json", "--config", "other.toml"]).status.code(), Some(0));
}

#[test]
fn explain_suggests_misspelled_rules() {
    let workspace = Workspace::new("explain", &[]);
    let text = out(&workspace.run(&["explain", "consul-network-mode"]));
    for part in ["At run time: ", "Wrong:", "\"networkMode\": \"bridge\"", "Right:", "\"networkMode\": \"awsvpc\""] {
        assert!(text.contains(part), "{part}: {text}");
    }
    workspace.assert_refused(&["explain", "consul-netwrk-mode"], "did you mean consul-network-mode?");
    let rules: serde_json::Value = serde_json::from_str(&out(&workspace.run(&["rules", "--output", "json"]))).unwrap();
    assert!(rules.as_array().unwrap().iter().any(|rule| rule["id"] == "consul-network-mode"));
}

#[test]
fn a_graph_shows_the_chosen_definition() {
    let workspace = Workspace::new("graph", &[("web.json", CLEAN)]);
    assert!(out(&workspace.run(&["graph", "web.json"])).contains("T2   web starts, after consul-dataplane HEALTHY"));
    assert!(
        out(&workspace.run(&["graph", "web.json", "--family", "web", "--output", "mermaid"]))
            .starts_with("flowchart LR")
    );
    assert!(out(&workspace.run(&["graph", "web.json", "--output", "svg"])).starts_with("<svg "));
    workspace.assert_refused(&["graph", "web.json", "--family", "wbe"], "the file has web");
}

#[test]
fn definitions_of_one_family_are_distinguished() {
    let list = format!("[{CLEAN}, {}]", bridged());
    let exception = "[[ignore]]\nrule = \"consul-network-mode\"\nfamily = \"web\"\nreason = \"a lab\"\n";
    let workspace = Workspace::new("one-family", &[("web.json", &list)]);

    let report: Value = serde_json::from_str(&out(&workspace.run(&["check", "--output", "json"]))).unwrap();
    assert_eq!(report["summary"]["definitionsWithFindings"], 1, "{report:#}");
    assert_eq!(report["findings"][0]["definition"], "web ([1])");
    let page = out(&workspace.run(&["check", "--output", "html"]));
    assert!(page.contains("web ([0])") && page.contains("web ([1])"), "both are on the page");

    let ambiguous = workspace.run(&["graph", "web.json", "--family", "web", "--output", "svg"]);
    assert!(errors(&ambiguous).contains("Choose one with --family: web ([0]), web ([1])"), "{}", errors(&ambiguous));
    for choice in ["[1]", "web ([1])"] {
        assert!(
            out(&workspace.run(&["graph", "web.json", "--family", choice, "--output", "svg"])).starts_with("<svg ")
        );
    }
    fs::write(workspace.0.join("ecs-mesh.toml"), exception).unwrap();
    assert_eq!(workspace.run(&["check"]).status.code(), Some(0), "an exception names only the family");
}

#[test]
fn a_graph_contains_no_terminal_escapes() {
    let hostile = CLEAN.replace("\"name\": \"web\"", "\"name\": \"w\\u001b[31m\\nweb\"");
    assert_ne!(hostile, CLEAN);
    let workspace = Workspace::new("hostile-graph", &[("web.json", &hostile)]);
    let text = out(&workspace.run(&["graph", "web.json"]));
    assert!(text.contains("[31m web") && !text.contains('\u{1b}'), "{text}");
    let picture = out(&workspace.run(&["graph", "web.json", "--output", "svg"]));
    for variable in ["fill: var(", "stroke: var("] {
        let (property, _) = variable.split_once(' ').unwrap();
        for (before, _) in picture.match_indices(variable).map(|(at, _)| picture.split_at(at)) {
            assert!(
                before.trim_end().rsplit_once(property).is_some_and(|(_, colour)| colour.starts_with(" #")),
                "{before}"
            );
        }
    }
}
