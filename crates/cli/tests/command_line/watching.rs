//! `ecs-mesh check --watch`: a report after each change, until Ctrl-C.

use std::{
    fs,
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
    sync::mpsc::{Receiver, channel},
    thread,
    time::Duration,
};

use crate::workspace::{CLEAN, Workspace, bridged, errors};

/// No line comes later than this, even on a busy machine.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// A running `check --watch`, and the lines that it prints.
struct Watch {
    child: Child,
    lines: Receiver<String>,
}

impl Watch {
    fn start(workspace: &Workspace, arguments: &[&str]) -> Self {
        let arguments = [&["check", "--watch", "--output", "concise"], arguments].concat();
        let mut command = workspace.command(&arguments);
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let (sender, lines) = channel();
        let output = BufReader::new(child.stdout.take().unwrap());
        thread::spawn(move || output.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
        Self { child, lines }
    }

    /// The lines up to the next summary.
    fn report(&self) -> Vec<String> {
        let mut report = Vec::new();
        loop {
            let line = self.lines.recv_timeout(LONGEST_WAIT).unwrap();
            report.push(line);
            if report.last().unwrap().contains(" task definition") {
                return report;
            }
        }
    }

    /// Presses Ctrl-C, and returns the exit code and what was printed in the end.
    fn interrupt(mut self) -> (Option<i32>, Vec<String>) {
        let kill = Command::new("kill").args(["-INT", &self.child.id().to_string()]).status().unwrap();
        assert!(kill.success());
        let code = self.child.wait().unwrap().code();
        (code, self.lines.iter().collect())
    }
}

#[test]
fn a_change_is_checked_and_ctrl_c_ends_it() {
    // Given a check that watches a directory.
    let workspace = Workspace::new("watch", &[("web.json", CLEAN)]);
    let watch = Watch::start(&workspace, &[]);
    assert_eq!(watch.report(), ["no findings in 1 task definition (1 file)"]);
    // When a file changes, a configuration appears, and a file in a new directory is added, then each is seen.
    fs::write(workspace.0.join("web.json"), bridged()).unwrap();
    assert_eq!(
        watch.report().first().unwrap(),
        "web.json:3:18: error consul-network-mode web: the network mode is bridge"
    );
    fs::write(workspace.0.join("ecs-mesh.toml"), "[severity]\nconsul-network-mode = 'off'\n").unwrap();
    assert_eq!(watch.report(), ["no findings in 1 task definition (1 file)"]);
    fs::create_dir(workspace.0.join("services")).unwrap();
    fs::write(workspace.0.join("services/orders.json"), CLEAN).unwrap();
    assert_eq!(watch.report(), ["no findings in 2 task definitions (2 files)"]);
    // A change that does not matter is not printed: what comes next is about the one after it. Ctrl-C ends it.
    fs::write(workspace.0.join("notes.txt"), "x").unwrap();
    fs::remove_file(workspace.0.join("ecs-mesh.toml")).unwrap();
    assert_eq!(watch.report().len(), 2);
    assert_eq!(watch.interrupt(), (Some(0), Vec::new()));
}

#[test]
fn a_file_that_is_replaced_is_watched_further() {
    let workspace = Workspace::new("watch-file", &[("web.json", CLEAN), ("new.json", &bridged())]);
    let watch = Watch::start(&workspace, &["web.json"]);
    assert_eq!(watch.report().len(), 1);
    // As editors do: the new text replaces the file.
    fs::rename(workspace.0.join("new.json"), workspace.0.join("web.json")).unwrap();
    assert_eq!(watch.report().len(), 2);
    fs::write(workspace.0.join("web.json"), CLEAN).unwrap();
    assert_eq!(watch.report().len(), 1);
    assert_eq!(watch.interrupt(), (Some(0), Vec::new()));
}

#[test]
fn a_new_configuration_is_seen_beside_a_named_directory() {
    let workspace = Workspace::new("watch-config", &[]);
    fs::create_dir(workspace.0.join("services")).unwrap();
    fs::write(workspace.0.join("services/web.json"), bridged()).unwrap();
    let watch = Watch::start(&workspace, &["services"]);
    assert_eq!(watch.report().len(), 2);
    fs::write(workspace.0.join("ecs-mesh.toml"), "[severity]\nconsul-network-mode = 'off'\n").unwrap();
    assert_eq!(watch.report(), ["no findings in 1 task definition (1 file)"]);
    assert_eq!(watch.interrupt(), (Some(0), Vec::new()));
}

#[test]
fn the_files_of_a_glob_outside_the_working_directory_are_watched() {
    let elsewhere = Workspace::new("watch-glob-files", &[("web.json", CLEAN)]);
    let workspace = Workspace::new("watch-glob", &[]);
    let watch = Watch::start(&workspace, &[&format!("{}/*.json", elsewhere.0.display())]);
    assert_eq!(watch.report().len(), 1);
    fs::write(elsewhere.0.join("web.json"), bridged()).unwrap();
    assert_eq!(watch.report().len(), 2);
    assert_eq!(watch.interrupt(), (Some(0), Vec::new()));
}

#[test]
fn ctrl_c_ends_it_during_a_check() {
    // Given a check that waits for the content of a pipe.
    let workspace = Workspace::new("watch-pipe", &[]);
    let pipe = workspace.0.join("web.json");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let watch = Watch::start(&workspace, &["web.json"]);
    // It returns when the check has opened the pipe.
    let writer = fs::OpenOptions::new().write(true).open(&pipe).unwrap();
    assert_eq!(watch.interrupt(), (Some(0), Vec::new()));
    drop(writer);
}

#[test]
fn only_files_can_be_watched() {
    let workspace = Workspace::new("watch-stdin", &[("web.json", CLEAN)]);
    let output = workspace.run(&["check", "--watch", "-"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(errors(&output).contains("--watch cannot read standard input"), "{}", errors(&output));
    for other in ["--all", "--cluster=prod", "--output-file=x.json"] {
        assert_eq!(workspace.run(&["check", "--watch", other]).status.code(), Some(2), "{other}");
    }
}
