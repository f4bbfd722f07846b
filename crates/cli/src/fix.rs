//! `ecs-mesh fix`

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    path::Path,
    sync::Arc,
};

use anstyle::{AnsiColor, Style};
use audit::{
    finding::{Finding, Identity},
    fix::{Left, Repair, repair_all},
    report::reported,
};
use clap::Args;
use document::{SourceFile, hcl};
use similar::TextDiff;

use crate::{
    check::Checked,
    config::RuleArguments,
    streams::{self, Exit, Failure, Streams},
};

const STANDARD_INPUT: &str = "<stdin>";

/// Fix findings whose fix is unambiguous
#[derive(Debug, Args)]
#[command(after_help = "Everything else keeps its formatting and comments. Ignored findings stay.\n\n\
                  Exit codes: 0 nothing to fix, or all fixes written; 1 fixes remain, or a fix failed; 2 bad input or \
                  usage.\n\n\
                  Examples:\n  ecs-mesh fix template.yaml\n  ecs-mesh fix --write services/\n  \
                  ecs-mesh fix --write --select consul-network-mode .\n  ecs-mesh fix --write - < task.json > fixed.json")]
pub(super) struct Arguments {
    /// Files, directories and globs; - is standard input [default: the current directory]
    #[arg(value_name = "PATHS")]
    paths: Vec<String>,
    /// Print the changes as a diff [default]
    #[arg(long, conflicts_with = "write")]
    diff: bool,
    /// Change the files; for standard input, print the result
    #[arg(long)]
    write: bool,
    #[command(flatten)]
    rules: RuleArguments,
}

pub(super) fn run(arguments: &Arguments, streams: &mut Streams<'_>) -> Result<Exit, Failure> {
    let mut input = String::new();
    let is_piped = arguments.paths.iter().any(|path| path == "-");
    if is_piped {
        streams.input.read_to_string(&mut input)?;
    }
    let checked = Checked::new(&arguments.paths, None, &arguments.rules, &mut input.as_bytes())?;
    streams.problems(checked.problems());
    let findings = &checked.sorted.findings;
    let files: BTreeSet<&str> = findings.iter().map(|finding| finding.file.name.as_str()).collect();
    for file in files.iter().filter(|file| checked.gathered.material.is_synthesised(file)) {
        streams.diagnostic(&format!(
            "info: {file}: not edited, because the next `cdk synth` would overwrite it. Fix the constructs that \
             `ecs-mesh check` names"
        ));
    }
    // A comment with an error may be about a finding that is not to be fixed.
    let unclear: BTreeSet<&str> = checked.sorted.problems.iter().map(|problem| problem.file.as_str()).collect();
    let mut wanted: BTreeMap<&Path, Vec<&Finding>> = BTreeMap::new();
    for finding in findings.iter().filter(|finding| finding.fix.is_some()) {
        let name = finding.file.name.as_str();
        if !unclear.contains(name) {
            wanted.entry(group(&finding.file)).or_default().push(finding);
        }
    }
    if is_piped && arguments.write && !wanted.contains_key(Path::new(STANDARD_INPUT)) {
        // Standard input is written to standard output even without changes.
        streams.print(&input)?;
    }
    say_without_fix(&checked, streams);
    let mut is_open = false;
    for findings in wanted.into_values() {
        let identities: HashSet<Identity<'_>> = findings.iter().map(|finding| finding.identity()).collect();
        let files: BTreeMap<&str, Arc<SourceFile>> =
            findings.iter().map(|finding| (finding.file.name.as_str(), Arc::clone(&finding.file))).collect();
        let is_wanted = |found: &Finding| identities.contains(&found.identity());
        for outcome in repair_all(files.into_values().collect(), &checked.gathered.tree, is_wanted) {
            is_open |= finish(arguments, &outcome, streams)?;
        }
    }
    Ok(match (checked.problems().next(), is_open) {
        (Some(_), _) => Exit::Unusable,
        (None, true) => Exit::Findings,
        (None, false) => Exit::Clean,
    })
}

/// Says how many findings have no fix; those in synthesised templates are mentioned already.
fn say_without_fix(checked: &Checked, streams: &mut Streams<'_>) {
    let material = &checked.gathered.material;
    let found = reported(material, &checked.sorted.findings);
    let without = found.iter().filter(|(_, one)| !one.is_fixable && !material.is_synthesised(&one.file));
    let count = match without.count() {
        0 => return,
        1 => "1 finding has".to_owned(),
        count => format!("{count} findings have"),
    };
    streams.diagnostic(&format!("info: {count} no fix: `ecs-mesh check` shows what to do"));
}

/// The files that are fixed together: the Terraform sources of a directory, else a single one.
fn group(file: &SourceFile) -> &Path {
    let path = Path::new(&file.name);
    path.parent().filter(|_| hcl::is_hcl(file)).unwrap_or(path)
}

/// Shows or writes the result for one file. Returns whether findings are left.
fn finish(arguments: &Arguments, outcome: &Repair, streams: &mut Streams<'_>) -> Result<bool, Failure> {
    for left in &outcome.left {
        streams.diagnostic(&format!("warning: {}", why(left)));
    }
    if outcome.fixed.is_empty() && outcome.left.is_empty() {
        let name = &outcome.after.name;
        streams
            .diagnostic(&format!("warning: {name}: nothing fixed, because its content depends on other directories"));
        return Ok(true);
    }
    let elsewhere: BTreeSet<(usize, &str)> = outcome.fixed.iter().filter_map(elsewhere).collect();
    for (line, what) in elsewhere {
        streams.diagnostic(&format!("info: {}:{line}: {what}", outcome.before.name));
    }
    let change = Change { before: &outcome.before, after: &outcome.after.text };
    if arguments.write {
        // Standard input is written to standard output even without changes.
        if !outcome.fixed.is_empty() || outcome.after.name == STANDARD_INPUT {
            write(&outcome.after, streams)?;
        }
        if !outcome.fixed.is_empty() {
            let rules: Vec<&str> = outcome.fixed.iter().map(|finding| finding.rule.id).collect();
            streams.diagnostic(&format!("{}: fixed {}", outcome.after.name, rules.join(", ")));
        }
        return Ok(!outcome.left.is_empty());
    }
    let diff = change.diff(streams.in_colour);
    streams.print(&diff)?;
    Ok(true)
}

/// What else must change after a fix, and the line of its finding.
fn elsewhere(finding: &Finding) -> Option<(usize, &'static str)> {
    let what = finding.fix.as_ref()?.elsewhere?;
    Some((finding.file.position(finding.span.start).line, what))
}

fn write(file: &SourceFile, streams: &mut Streams<'_>) -> Result<(), Failure> {
    if file.name == STANDARD_INPUT {
        streams.print(&file.text)
    } else {
        streams::write(Path::new(&file.name), &file.text)
    }
}

fn why(left: &Left) -> String {
    let finding = &left.finding;
    let position = finding.file.position(finding.span.start);
    let reason = left.error.as_ref().map_or_else(|| "the edit does not fix it".to_owned(), ToString::to_string);
    format!("{}:{}: fix {} by hand: {reason}", finding.file.name, position.line, finding.rule.id)
}

/// A text before and after.
pub(super) struct Change<'c> {
    pub(super) before: &'c SourceFile,
    pub(super) after: &'c str,
}

impl Change<'_> {
    /// A unified diff for `patch` and `git apply`; empty without changes.
    pub(super) fn diff(&self, in_colour: bool) -> String {
        let diff = TextDiff::from_lines(self.before.text.as_str(), self.after);
        let name = &self.before.name;
        let unified =
            diff.unified_diff().context_radius(3).header(&format!("a/{name}"), &format!("b/{name}")).to_string();
        if !in_colour {
            return unified;
        }
        unified.split_inclusive('\n').map(coloured).collect()
    }
}

fn coloured(line: &str) -> String {
    let colour = match line.chars().next() {
        Some('+') => AnsiColor::Green,
        Some('-') => AnsiColor::Red,
        Some('@') => AnsiColor::Cyan,
        _ => return line.to_owned(),
    };
    let style = Style::new().fg_color(Some(colour.into()));
    let text = line.trim_end_matches('\n');
    format!("{style}{text}{style:#}{}", &line.get(text.len()..).unwrap_or_default())
}
