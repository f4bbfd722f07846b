//! What a check prints: one line for each finding, statistics.

use crate::workspace::{CLEAN, Workspace, bridged, errors, out, two_mistakes};

#[test]
fn a_report_is_written_to_what_is_there() {
    use std::os::unix::fs::PermissionsExt as _;
    let workspace = Workspace::new("output-file", &[("web.json", &bridged())]);
    let run = |script: &str| {
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", script, env!("CARGO_BIN_EXE_ecs-mesh")]).current_dir(&workspace.0).output().unwrap()
    };
    // A pipe is written to, and not replaced.
    let piped =
        run("mkfifo pipe; cat pipe & \"$0\" check --output json --output-file pipe web.json; wait; test -p pipe");
    assert_eq!(piped.status.code(), Some(0), "{}", errors(&piped));
    assert!(out(&piped).contains("consul-network-mode"), "{}", errors(&piped));
    // A new file has the mode that the umask allows.
    let written = run("umask 077; exec \"$0\" check --output json --output-file report.json web.json");
    assert_eq!(written.status.code(), Some(1), "{}", errors(&written));
    let mode = std::fs::metadata(workspace.0.join("report.json")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    workspace.assert_refused(&["check", "--output-file", "none/report.txt"], "none/report.txt: no directory none");
}

#[test]
fn a_file_has_one_name_however_it_is_spelt() {
    let workspace = Workspace::new("names", &[("web.json", &bridged())]);
    std::os::unix::fs::symlink("web.json", workspace.0.join("a-link.json")).unwrap();
    let plain = out(&workspace.run(&["check", "--output", "gitlab", "web.json"]));
    for spelling in ["./web.json", ".//web.json", "."] {
        assert_eq!(out(&workspace.run(&["check", "--output", "gitlab", spelling])), plain, "{spelling}");
    }
}

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
        "rule                    count  severity  fix  what is wrong\n\
         consul-network-mode     2      error     all  The network mode is not awsvpc\n\
         ecs-dependency-unknown  1      error     –    A container refers to a container that does not exist\n\
         \n3 errors in 2 of 2 task definitions (2 files)\n"
    );
    let narrow = workspace.command(&["check", "--statistics", "--quiet"]).env("COLUMNS", "50").output().unwrap();
    let text = out(&narrow);
    assert!(
        text.starts_with("consul-network-mode\n  The network mode is not awsvpc\n  count 2, severity error,"),
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

#[test]
fn excerpts_are_cut_to_the_terminal() {
    // Given a line with characters of several bytes, whose excerpt begins in its middle.
    let line = serde_json::from_str::<serde_json::Value>(&bridged()).unwrap().to_string();
    let line = line.replace("\"networkMode\"", "\"note\":\"ééééé\",\"networkMode\"");
    let workspace = Workspace::new("excerpt-width", &[("web.json", &line)]);
    for width in [30, 40, 50, 60, 80, 100, 120, 140] {
        let shown = workspace.command(&["check", "web.json"]).env("COLUMNS", width.to_string()).output().unwrap();
        let shown = out(&shown);
        let excerpts: Vec<&str> = shown.lines().filter(|line| line.starts_with("1 | ")).collect();
        assert!(!excerpts.is_empty(), "{shown}");
        for excerpt in excerpts {
            assert!(excerpt.chars().count() <= width, "{width}: {excerpt}");
            assert!(excerpt.contains("bridge"), "{width}: {excerpt}");
        }
    }
}
