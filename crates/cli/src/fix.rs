//! `ecs-mesh fix`

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    sync::Arc,
};

use clap::Args;

use crate::{
    changes::Change,
    configuration,
    exit::{Exit, Failure},
    streams::Streams,
    streams::{self},
};
use audit::{
    Material, audit,
    finding::Finding,
    fix::{Left, repair},
    ignore::{self, Selector},
    input::gather,
    source::SourceFile,
};

/// The name of standard input in reports.
const STANDARD_INPUT: &str = "<stdin>";

/// Fix findings whose fix is unambiguous
#[derive(Debug, Args)]
#[command(after_help = "Everything else keeps its formatting and comments. Ignored findings are not fixed.\n\n\
                  Exit codes: 0 nothing to fix, or all fixes written; 1 there are fixes to write, or a fix could not be made;\n\
                  2 bad input or usage.\n\n\
                  Examples:\n  ecs-mesh fix template.yaml\n  ecs-mesh fix --write services/\n  \
                  ecs-mesh fix --write --rule consul-network-mode .\n  ecs-mesh fix --write - < task.json > fixed.json")]
pub(super) struct Arguments {
    /// Files, directories and globs; - is standard input [default: the current directory]
    #[arg(value_name = "PATHS")]
    paths: Vec<String>,
    /// Show what would change [default]
    #[arg(long, conflicts_with = "write")]
    diff: bool,
    /// Change the files; standard input is written to standard output
    #[arg(long)]
    write: bool,
    /// Only findings of these rules: IDs, or groups by how IDs begin, separated by commas
    #[arg(long, visible_aliases = ["select", "only"], value_name = "RULES", value_delimiter = ',')]
    rule: Vec<Selector>,
    /// The configuration file [default: the nearest ecs-mesh.toml, upwards from here]
    #[arg(long, value_name = "FILE")]
    config: Option<std::path::PathBuf>,
}

pub(super) fn run(arguments: &Arguments, streams: &mut Streams<'_>) -> Result<Exit, Failure> {
    let directory = configuration::working_directory()?;
    let mut config = configuration::read(arguments.config.as_deref(), &directory)?;
    config.selection.select.clone_from(&arguments.rule);
    let here = [".".to_owned()];
    let paths = if arguments.paths.is_empty() { here.as_slice() } else { &arguments.paths };
    let mut input = String::new();
    let is_piped = paths.iter().any(|path| path == "-");
    if is_piped {
        streams.input.read_to_string(&mut input)?;
    }
    let gathered = gather(paths, &mut input.as_bytes());
    let sorted = ignore::sort(audit(&gathered.material), &gathered.material, &config, &directory);
    for problem in gathered.problems.iter().chain(&sorted.problems) {
        streams.diagnostic(&format!("error: {problem}"));
    }
    // A comment with an error may be about a finding that is not to be fixed.
    let unclear: BTreeSet<&str> = sorted.problems.iter().map(|problem| problem.file.as_str()).collect();
    for file in synthesised(&gathered.material, &sorted.findings) {
        streams.diagnostic(&format!(
            "info: {file}: not edited, because the next `cdk synth` would overwrite it; correct the constructs that \
             `ecs-mesh check` names"
        ));
    }
    let mut wanted: BTreeMap<&str, Vec<&Finding>> = BTreeMap::new();
    for finding in sorted.findings.iter().filter(|finding| finding.fix.is_some()) {
        if unclear.contains(finding.file.name.as_str()) {
            continue;
        }
        wanted.entry(&finding.file.name).or_default().push(finding);
    }
    if is_piped && arguments.write && !wanted.contains_key(STANDARD_INPUT) {
        // Standard input is written to standard output even without changes.
        streams.print(&input)?;
    }
    let mut is_open = false;
    for findings in wanted.into_values() {
        is_open |= fix_file(arguments, &findings, streams)?;
    }
    Ok(match (gathered.problems.is_empty() && sorted.problems.is_empty(), is_open) {
        (false, _) => Exit::Unusable,
        (true, true) => Exit::Findings,
        (true, false) => Exit::Clean,
    })
}

/// The files with findings that the AWS CDK has written.
pub(super) fn synthesised<'f>(material: &Material, findings: &'f [Finding]) -> BTreeSet<&'f str> {
    let is_synthesised = |file: &&str| {
        material.definitions.iter().any(|definition| definition.is_synthesised && definition.file.name == **file)
    };
    findings.iter().map(|finding| finding.file.name.as_str()).filter(is_synthesised).collect()
}

/// Fixes one file. Returns whether findings are left.
fn fix_file(arguments: &Arguments, wanted: &[&Finding], streams: &mut Streams<'_>) -> Result<bool, Failure> {
    let Some(file) = wanted.first().map(|finding| Arc::clone(&finding.file)) else { return Ok(false) };
    let outcome = repair(file, |found| wanted.iter().any(|finding| finding.is_same_as(found)));
    for left in &outcome.left {
        streams.diagnostic(&format!("warning: {}", why(left)));
    }
    let change = Change { before: &outcome.before, after: &outcome.after.text };
    if arguments.write {
        // Standard input is written to standard output even without changes.
        if !outcome.fixed.is_empty() || outcome.after.name == "<stdin>" {
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
    format!("{}:{}: {} has to be fixed by hand: {reason}", finding.file.name, position.line, finding.rule.id)
}
