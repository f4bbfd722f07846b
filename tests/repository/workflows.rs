//! The workflows of GitHub run what the Makefile has, and what they package is made of the template.

use std::{fs, path::PathBuf, process::Command};

const REPOSITORY: &str = env!("CARGO_MANIFEST_DIR");
const MAKEFILE: &str = include_str!("../../Makefile");
/// What prepares a runner for `make`.
const PREPARATIONS: [&str; 2] = ["mkdir -p target", "rustup target add \"$TARGET\""];

/// The lines of all workflows, without indentation and hyphens, with the name of their file.
fn lines() -> Vec<(PathBuf, String)> {
    let files = fs::read_dir(format!("{REPOSITORY}/.github/workflows")).unwrap();
    let lines = files.flat_map(|file| {
        let path = file.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        text.lines().map(|line| (path.clone(), line.trim_start_matches([' ', '-']).to_owned())).collect::<Vec<_>>()
    });
    lines.collect()
}

#[test]
fn each_command_of_a_workflow_is_a_target_of_make() {
    let lines = lines();
    let commands: Vec<&str> = lines.iter().filter_map(|(_, line)| line.strip_prefix("run: ")).collect();
    assert!(commands.len() > 8, "{commands:?}");
    for command in commands.into_iter().filter(|command| !PREPARATIONS.contains(command)) {
        let target = command.strip_prefix("make ").and_then(|rest| rest.split(' ').next()).unwrap_or_default();
        assert!(MAKEFILE.contains(&format!("\n.PHONY: {target}\n")), "{command}");
    }
}

#[test]
fn each_action_is_pinned_to_a_commit() {
    let lines = lines();
    let actions: Vec<_> = lines.iter().filter_map(|(file, line)| Some((file, line.strip_prefix("uses: ")?))).collect();
    assert!(actions.len() > 8, "{actions:?}");
    for (file, action) in actions {
        let pinned = action.split_once('@').and_then(|(_, version)| version.split_once(" # v"));
        let commit = pinned.map(|(commit, _)| commit).unwrap_or_default();
        assert!(commit.len() == 40 && commit.chars().all(|c| c.is_ascii_hexdigit()), "{}: {action}", file.display());
    }
}

#[test]
fn a_release_is_newer_than_the_table_by_its_line() {
    let newer = |rows: &str, references: &str| {
        let script = format!(
            "import sys, tomllib; sys.path.insert(0, 'scripts'); import newer_releases as n; \
             table = tomllib.loads(n.TABLE.read_text()); print(n.newer({rows}, n.releases({references:?})))"
        );
        let output = Command::new("python3").args(["-B", "-c", &script]).current_dir(REPOSITORY).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let with_newest =
        |newest: &str| format!("[{{'line': '1.8'}}, {{'line': '1.9', 'newest': '1.9.9'}}, {{'line': '2.0'{newest}}}]");
    let references = "a\trefs/tags/v1.8.1\nb\trefs/tags/v1.9.9\nc\trefs/tags/v2.0.10\nd\trefs/tags/v2.1.0-rc1\n\
                      e\trefs/tags/ent-v3.0.0\n";
    assert_eq!(newer(&with_newest(", 'newest': '2.0.9'"), references), "['2.0.10; the table has 2.0.9']\n");
    assert_eq!(newer(&with_newest(", 'newest': '2.0.10'"), references), "[]\n");
    assert_eq!(newer(&with_newest(""), references), "['2.0.10, of a line of which the table has no release']\n");
    let with_line = format!("{references}f\trefs/tags/v2.1.0\n");
    let unknown = "['2.1.0, of a line that the table does not have']\n";
    assert_eq!(newer(&with_newest(", 'newest': '2.0.10'"), &with_line), unknown);
    // The first release of the last line, and the next one of the line before it
    let consul = "table['consul']";
    let known = newer(consul, "a\trefs/tags/v2.0.4\nb\trefs/tags/v1.22.9\n");
    assert_eq!(known, "[]\n");
    assert_ne!(newer(consul, "a\trefs/tags/v2.1.0\n"), known);
    assert_ne!(newer(consul, "a\trefs/tags/v2.0.999\n"), known);
}

/// What Python prints that imports `scripts/dist.py`.
fn dist(expression: &str) -> String {
    let script = format!("import sys; sys.path.insert(0, 'scripts'); import dist; print({expression})");
    let output = Command::new("python3").args(["-B", "-c", &script]).current_dir(REPOSITORY).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_packaged_template_takes_the_zips_next_to_it() {
    let template = dist("dist.packaged(open('template.yaml').read(), 'x86_64')");
    let code: Vec<&str> = template.lines().filter_map(|line| line.trim_start().strip_prefix("CodeUri: ")).collect();
    assert_eq!(code, ["task-events.zip", "reconcile.zip", "audit.zip"]);
    assert!(template.contains("  Architecture:\n    Type: String\n    Default: x86_64\n"));
    assert!(!template.contains("BuildMethod"));
}

#[test]
fn the_plain_template_has_the_architecture_of_its_archive() {
    for architecture in ["arm64", "x86_64"] {
        let template = dist(&format!("dist.stackset(open('template.yaml').read(), '{architecture}')"));
        assert!(template.contains(&format!("  Architecture:\n    Type: String\n    Default: {architecture}\n")));
        assert_eq!(template.matches("${CodeBucketPrefix}-${AWS::Region}").count(), 3);
        assert_eq!(template.matches("/${Architecture}/").count(), 3);
    }
}

#[test]
fn the_release_notes_are_the_section_of_the_version() {
    let version = env!("CARGO_PKG_VERSION");
    let changelog = format!(
        "'# Changelog\\n\\n## Unreleased\\n\\nnext\\n\\n## {version} - 2026-12-01\\n\\nthis\\n\\n## 0.0.9\\n\\nlast\\n'"
    );
    assert_eq!(dist(&format!("dist.release_notes({changelog})")), "this\n\n");
    assert_eq!(dist("dist.release_notes('## Unreleased\\n\\nnext\\n')"), "next\n\n");
}
