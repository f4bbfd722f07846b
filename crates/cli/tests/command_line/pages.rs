//! The list of the rules is generated from their pages, and the options of a command from its help. `UPDATE_DOCS=1` writes
//! them.

use std::{collections::BTreeMap, env, fs, path::Path, process::Command};

use test_harness::terminal::{IN_COLOUR, WIDTH, assert_recorded};

use crate::workspace::{CLEAN, Workspace, out};

const REPOSITORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

fn pages(directory: &Path) -> BTreeMap<String, String> {
    let files = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    files
        .map(|file| (file.file_name().unwrap().to_string_lossy().into_owned(), fs::read_to_string(&file).unwrap()))
        .collect()
}

#[test]
fn the_index_lists_the_rules() {
    let printed =
        Command::new(env!("CARGO_BIN_EXE_ecs-mesh")).args(["rules", "--output", "markdown"]).output().unwrap();
    let index = Path::new(REPOSITORY).join("docs/reference/rules/README.md");
    if env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&index, &printed.stdout).unwrap();
    }
    let (published, printed) = (fs::read_to_string(index).unwrap(), String::from_utf8(printed.stdout).unwrap());
    assert!(published == printed, "docs/reference/rules/README.md is stale: run make pages");
}

#[test]
fn the_published_schema_is_current() {
    let printed = Command::new(env!("CARGO_BIN_EXE_ecs-mesh")).args(["config", "schema"]).output().unwrap();
    let schema = Path::new(REPOSITORY).join("docs/reference/schema/config.schema.json");
    if env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&schema, &printed.stdout).unwrap();
    }
    let (published, printed) = (fs::read_to_string(schema).unwrap(), String::from_utf8(printed.stdout).unwrap());
    assert!(published == printed, "docs/reference/schema/config.schema.json is stale: run make pages");
}

#[test]
fn the_published_timeline_is_current() {
    let root = Path::new(REPOSITORY);
    let drawn = Command::new(env!("CARGO_BIN_EXE_ecs-mesh"))
        .args(["graph", "--output", "svg"])
        .arg(root.join("crates/audit/src/bases/dataplane.json"))
        .output()
        .unwrap();
    let picture = root.join("docs/images/timeline.svg");
    if env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&picture, &drawn.stdout).unwrap();
    }
    let (published, drawn) = (fs::read_to_string(picture).unwrap(), String::from_utf8(drawn.stdout).unwrap());
    assert!(published == drawn, "docs/images/timeline.svg is stale: run make pages");
}

#[test]
fn the_recording_of_check_is_current() {
    // Given a definition whose app starts too early, and that lacks the tag of the mesh
    let broken = CLEAN.replacen("\"HEALTHY\"", "\"START\"", 1).replace("hashicorp.com/mesh\"", "hashicorp.com/mesch\"");
    let workspace = Workspace::new("recording", &[("services/web.json", &broken)]);
    let command = ["check", "services/"];
    // When a person checks it, then the answer is the picture's
    let said = workspace.command(&[&command, &IN_COLOUR[..]].concat()).env(WIDTH.0, WIDTH.1).output().unwrap();
    assert_eq!(said.status.code(), Some(1));
    assert_recorded("check.svg", &format!("ecs-mesh {}", command.join(" ")), &out(&said), str::to_owned);
}

/// The usage, arguments and options in the help of a command, and of its subcommands.
fn options_of(command: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_ecs-mesh")).args(command).arg("--help").output().unwrap();
    let help = String::from_utf8(output.stdout).unwrap();
    let from_usage = help.lines().skip_while(|line| !line.starts_with("Usage: "));
    // What follows the options is prose and examples, which the page has itself.
    let is_option =
        |line: &&str| line.is_empty() || line.starts_with([' ', 'U']) || line.ends_with(':') && *line != "Examples:";
    let lines: Vec<&str> = from_usage.map(str::trim_end).take_while(is_option).collect();
    let subcommands = lines.iter().skip_while(|line| **line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let subcommands = subcommands.filter_map(|line| line.split_whitespace().next());
    let of_each: String = subcommands.map(|name| options_of(&[command, &[name]].concat())).collect();
    if of_each.is_empty() { format!("```text\n{}\n```\n", own(&lines).trim_end()) } else { of_each }
}

/// Options that docs/reference/commands/README.md describes for all commands.
const COMMON: [&str; 6] = ["--color ", "--help", "--profile ", "--region ", "--stack ", "--secret-name-prefix "];

/// The help of a command without [`COMMON`] options, without a choice of text and JSON alone, and without headings that have
/// nothing left.
fn own(lines: &[&str]) -> String {
    let mut kept: Vec<String> = Vec::new();
    for part in parts(lines) {
        let Some(first) = part.first() else { continue };
        let is_heading = first.ends_with(':') && !first.starts_with(' ');
        let is_empty_section = kept.last().is_some_and(|last| last.ends_with(':') && !last.contains('\n'));
        if is_heading && is_empty_section {
            kept.pop();
        }
        if !is_common(&part) {
            kept.push(part.join("\n"));
        }
    }
    if kept.last().is_some_and(|last| last.ends_with(':') && !last.starts_with(' ')) {
        kept.pop();
    }
    kept.join("\n\n").replace(":\n\n  ", ":\n  ")
}

/// Headings, and options with what is said of each.
fn parts<'l>(lines: &[&'l str]) -> Vec<Vec<&'l str>> {
    let mut parts: Vec<Vec<&str>> = vec![Vec::new()];
    for line in lines {
        let indent = line.len() - line.trim_start().len();
        match parts.last_mut() {
            Some(part) if line.is_empty() || indent > 6 => part.push(line),
            _ => parts.push(vec![line]),
        }
    }
    for part in &mut parts {
        while part.last().is_some_and(|line| line.is_empty()) {
            part.pop();
        }
    }
    parts
}

fn is_common(part: &[&str]) -> bool {
    let option = part.first().map_or("", |first| first.trim_start());
    let values: Vec<&str> = part.iter().filter_map(|line| line.trim_start().strip_prefix("- ")).collect();
    let is_text_or_json = values.len() == 2 && values[0].starts_with("text:") && values[1].starts_with("json:");
    let is_common = |common: &&str| option.contains(*common);
    option.starts_with('-') && (is_text_or_json || COMMON.iter().any(is_common))
}

#[test]
fn the_pages_of_commands_have_their_options() {
    const START: &str = "<!-- flags -->\n";
    const END: &str = "<!-- /flags -->\n";
    let directory = Path::new(REPOSITORY).join("docs/reference/commands");
    for (file, page) in pages(&directory) {
        let command = file.trim_end_matches(".md");
        if command == "README" {
            continue;
        }
        let (before, rest) = page.split_once(START).unwrap_or_else(|| panic!("{file} has no {START}"));
        let (_, after) = rest.split_once(END).unwrap();
        let fresh = [before, START, "\n", &options_of(&[command]), "\n", END, after].concat();
        if env::var_os("UPDATE_DOCS").is_some() {
            fs::write(directory.join(&file), &fresh).unwrap();
        } else {
            assert_eq!(page, fresh, "docs/reference/commands/{file} is stale: run make pages");
        }
    }
}
