//! What a terminal shows while a check takes long.

use std::process::Stdio;

use crate::workspace::{CLEAN, Workspace, out};

/// Runs a line of shell on a terminal, and returns everything that it shows.
fn on_terminal(workspace: &Workspace, line: &str) -> String {
    let mut script = std::process::Command::new("script");
    let line = line.replace("ecs-mesh", env!("CARGO_BIN_EXE_ecs-mesh"));
    script.args(["-qec", &line, "/dev/null"]).current_dir(&workspace.0).env("TERM", "xterm").stdin(Stdio::null());
    out(&script.output().unwrap())
}

#[test]
fn reading_that_takes_longer_than_two_seconds_is_shown() {
    // Given a definition that comes late.
    let workspace = Workspace::new("progress", &[("web.json", CLEAN)]);
    let slow = on_terminal(&workspace, "(sleep 3; cat web.json) | ecs-mesh check -");
    // Then the terminal shows what is being done, clears the line, and shows the report.
    let (before, after) = slow.split_once("reading files").unwrap();
    assert!(!before.contains("no findings"), "{slow:?}");
    assert!(after.contains("\u{1b}[2K") && after.contains("no findings in 1 task definition (1 file)"), "{slow:?}");
    let quick = on_terminal(&workspace, "ecs-mesh check web.json");
    assert!(!quick.contains("reading files"), "{quick:?}");
}

#[test]
fn a_pipe_shows_no_progress() {
    let workspace = Workspace::new("progress-pipe", &[("web.json", CLEAN)]);
    on_terminal(&workspace, "(sleep 3; cat web.json) | ecs-mesh check - > out.txt 2> errors.txt");
    let errors = workspace.read("errors.txt");
    assert_eq!(errors, "");
}
