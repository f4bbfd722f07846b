//! `ecs-mesh check`

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
    fs,
    io::{ErrorKind, Read},
    mem::ManuallyDrop,
    path::{Path, PathBuf},
};

use audit::{
    audit_with_mesh,
    finding::Finding,
    ignore::{self, Baseline, Config, Origin, Sorted},
    report::{Format, Report, Reported, counted, plain},
    rule::Rule,
    rules::rules as all_rules,
    severity::Threshold,
};
use audit_read::{
    definition::TaskDefinition,
    input::{CHECK_THE_PLAN, Gathered, gather_except},
};
use clap::{
    Args,
    builder::{PossibleValuesParser, TypedValueParser},
};
use document::{InputProblem, SourceFile};

use crate::{
    config::{self, ConfigurationArguments, NAME, RuleArguments},
    live::LiveArguments,
    live_mesh::{self, ReadMesh},
    output::Progress,
    rules::tone,
    sheet::{Cell, Medium, NOTHING_TO_SAY, Sheet, Tone},
    streams::{Exit, Failure, Streams, write},
};

/// Check task definitions for errors that break the mesh
#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: 0 no findings at or above the threshold, 1 findings, 2 bad input or usage, 3 no task \
                  definition found.\nWith --output sarif, findings do not fail the run unless you pass --fail-on, so \
                  the pipeline can upload them.\n\n\
                  To ignore a finding, write a comment on its line or above it:\n  \
                  # ecs-mesh: ignore[consul-network-mode] the lab runs without a mesh\n\
                  or an entry in ecs-mesh.toml:\n  \
                  [[ignore]]\n  rule = \"consul-network-mode\"\n  path = \"lab/**\"\n  reason = \"the lab runs without a mesh\"\n\n\
                  Examples:\n  ecs-mesh check\n  ecs-mesh check template.yaml services/\n  \
                  ecs-mesh check --select consul --ignore consul-health-sync-needless\n  \
                  ecs-mesh check --fail-on warning --output github .\n  \
                  terraform show -json plan.out | ecs-mesh check --output html --output-file audit.html -\n  \
                  ecs-mesh check --mesh services/\n  \
                  ecs-mesh check --cluster prod --service web\n  ecs-mesh check --all --output markdown"
)]
pub(super) struct Arguments {
    /// Files, directories and globs; - is standard input [default: the current directory]
    #[arg(value_name = "PATHS")]
    paths: Vec<String>,
    /// Accept every finding: write comments where the file allows them, otherwise entries in ecs-mesh.toml
    #[arg(long, value_name = "REASON", num_args = 0..=1, require_equals = true, default_missing_value = REASON,
          value_parser = reason, conflicts_with_all = ["statistics", "output", "output_file", "exit_zero", "fail_on", "quiet"])]
    add_ignore: Option<String>,
    #[command(flatten)]
    configuration: ConfigurationArguments,
    #[command(flatten)]
    report: ReportArguments,
    #[command(flatten)]
    live: LiveArguments,
}

/// The report
#[derive(Debug, Args)]
#[command(next_help_heading = "Report")]
struct ReportArguments {
    /// Set the format of the report
    #[arg(long, short, value_name = "FORMAT", value_parser = format_parser(), default_value = "text")]
    output: Format,
    /// Write the report to this file
    #[arg(long, value_name = "FILE")]
    output_file: Option<PathBuf>,
    /// Exit with 0 even if there are findings
    #[arg(long, conflicts_with = "fail_on")]
    exit_zero: bool,
    /// Print the number of findings for each rule instead of the findings
    #[arg(long, conflicts_with = "output")]
    statistics: bool,
    /// Print only findings and errors: no summary and no notes on unused exceptions
    #[arg(long, short)]
    quiet: bool,
}

fn format_parser() -> impl TypedValueParser<Value = Format> {
    let names = PossibleValuesParser::new(Format::ALL.map(Format::as_str));
    names.try_map(|name| Format::named(&name).ok_or("no such format"))
}

pub(super) fn run(arguments: &Arguments, streams: &mut Streams<'_>) -> Result<Exit, Failure> {
    let rules = &arguments.configuration.rules;
    // Not freed: the process ends after this command, and freeing takes a tenth of a run.
    let checked = ManuallyDrop::new(Checked::new(&arguments.paths, Some(&arguments.live), rules, streams.input)?);
    match &arguments.add_ignore {
        Some(reason) if !checked.is_empty() => add_ignore(&checked, rules, reason, streams),
        _ => show(arguments, &checked, streams),
    }
}

/// Prints the report of what was checked.
fn show(arguments: &Arguments, checked: &Checked, streams: &mut Streams<'_>) -> Result<Exit, Failure> {
    let ReportArguments { output_file, quiet, .. } = &arguments.report;
    let mut report = checked.report(arguments.configuration.threshold(&checked.config));
    report.has_summary = !quiet && !checked.is_empty();
    streams.problems(&report.problems);
    for note in checked.gathered.unchecked.iter().chain(&checked.notes) {
        streams.diagnostic(&format!("info: {note}"));
    }
    if let Some(left_out) = left_out(&checked.gathered.generated) {
        streams.diagnostic(&format!("info: {left_out}"));
    }
    for unused in checked.sorted.unused.iter().filter(|_| !quiet) {
        streams.diagnostic(&format!("info: {unused}"));
    }
    let rendered = rendered(&arguments.report, &report, streams)?;
    let exit = exit(arguments, checked, &report);
    match streams.print_to(output_file.as_deref(), &rendered) {
        // The exit code does not depend on whether the report was read to its end.
        Ok(()) | Err(Failure::Closed) => Ok(exit),
        Err(failure) => Err(failure),
    }
}

/// How many definitions are not checked, and why.
fn left_out(generated: &BTreeSet<String>) -> Option<String> {
    let names: Vec<&str> = generated.iter().map(String::as_str).collect();
    (!names.is_empty()).then(|| {
        let number = counted(names.len(), "task definition");
        format!("{number} not checked, because Express Mode generates what it runs: {}", names.join(", "))
    })
}

fn rendered(arguments: &ReportArguments, report: &Report, streams: &Streams<'_>) -> Result<String, Failure> {
    let mut medium = streams.medium();
    if arguments.output_file.is_some() {
        medium = Medium::default();
    }
    if arguments.statistics {
        let counts = statistics(report, medium);
        let gap = if counts.is_empty() || !report.has_summary { "" } else { "\n" };
        return Ok(format!("{counts}{gap}{}", report.summary_line()));
    }
    report.render(arguments.output, medium).map_err(Failure::new)
}

fn exit(arguments: &Arguments, checked: &Checked, report: &Report) -> Exit {
    // As zizmor does: https://docs.zizmor.sh/usage/#exit-codes
    let is_upload = arguments.report.output == Format::Sarif && arguments.configuration.fail_on.is_none();
    if checked.is_empty() {
        Exit::Nothing
    } else if !report.problems.is_empty() {
        Exit::Unusable
    } else if report.fails() && !arguments.report.exit_zero && !is_upload {
        Exit::Findings
    } else {
        Exit::Clean
    }
}

const LIVE: &str = "AWS";
const NOTHING_FOUND: &str = "no task definition found. Supported formats: ECS's JSON, CloudFormation, SAM, \
                             Terraform's sources and the output of `terraform show -json`, and exports of App Mesh";
const NOTHING_KNOWN: &str =
    "no task definition could be checked: the content of the Terraform sources is known only with a plan";

const UNKNOWN_CONTAINERS: &str = "no task definition could be checked: the containers are known only at deployment";
const NOT_SYNTHESISED: &str =
    "no task definition found: this AWS CDK project has no cdk.out. Run `cdk synth`, then check cdk.out";

pub(super) struct Checked {
    /// What was read, for messages.
    input: String,
    /// Whether it is a project of the AWS CDK without templates.
    is_unsynthesised: bool,
    /// The directory that relative file names start from.
    pub(super) directory: PathBuf,
    pub(super) config: Config,
    pub(super) gathered: Gathered,
    pub(super) sorted: Sorted,
    /// What `--mesh` did not compare.
    notes: Vec<InputProblem>,
}

impl Checked {
    /// Reads what the arguments name, and applies the rules. Without arguments, it reads the working directory.
    pub(super) fn new(
        paths: &[String],
        live: Option<&LiveArguments>,
        rules: &RuleArguments,
        input: &mut dyn Read,
    ) -> Result<Self, Failure> {
        let directory = config::working_directory()?;
        let config = rules.read(&directory)?;
        if all_rules().all(|rule| config.severity_of(rule).is_none()) {
            let reason =
                "no rule applies: --select, --ignore and [severity] exclude all rules. See `ecs-mesh config show`";
            return Err(Failure::new(reason));
        }
        let here = [".".to_owned()];
        let is_beside_mesh = live.is_some_and(|live| live.mesh);
        let live = live.filter(|live| live.is_requested());
        let paths = if paths.is_empty() && live.is_none() { here.as_slice() } else { paths };
        let progress = Progress::new()?;
        progress.say("reading files");
        let excluded = |name: &str| config.excludes(name, &directory);
        let mut gathered = progress.during_blocking(|| gather_except(paths, input, excluded));
        if let Some(live) = live {
            gathered.add(live.gather()?);
        }
        let mut reading = ReadMesh::default();
        if is_beside_mesh {
            let is_applied = |rule: &Rule| config.severity_of(rule).is_some();
            reading = live_mesh::read(&gathered.material, is_applied, &progress)?;
        }
        let ReadMesh { mesh, problems, notes } = reading;
        gathered.problems.extend(problems);
        progress.say("applying the rules");
        let sorted = progress.during_blocking(|| {
            let findings = audit_with_mesh(&gathered.material, mesh.as_ref());
            ignore::sort(findings, &gathered.material, &config, &directory)
        });
        let input = if live.is_some() { LIVE.to_owned() } else { paths.join(", ") };
        let is_unsynthesised = |path: &String| {
            let is_there = |name: &str| Path::new(path).join(name).exists();
            is_there("cdk.json") && !is_there("cdk.out")
        };
        let is_unsynthesised = live.is_none() && paths.iter().any(is_unsynthesised);
        Ok(Self { input, is_unsynthesised, directory, config, gathered, sorted, notes })
    }

    /// The report of the findings. If there was nothing to check, it is a problem: without it, a run without input
    /// would look like success.
    pub(super) fn report(&self, threshold: Threshold) -> Report {
        let mut report = Report::new(&self.gathered, &self.sorted, threshold);
        if self.is_empty() {
            let is_open = |note: &InputProblem| note.reason.ends_with(CHECK_THE_PLAN);
            let reason = if self.gathered.unchecked.iter().any(is_open) {
                NOTHING_KNOWN
            } else if !self.gathered.material.definitions.is_empty() {
                UNKNOWN_CONTAINERS
            } else if self.is_unsynthesised {
                NOT_SYNTHESISED
            } else {
                NOTHING_FOUND
            };
            report.add_problem(&InputProblem { file: self.input.clone(), position: None, reason: reason.to_owned() });
        }
        report
    }

    /// What could not be read: input, and comments and entries that are no valid exceptions.
    pub(super) fn problems(&self) -> impl Iterator<Item = &InputProblem> {
        self.gathered.problems.iter().chain(&self.sorted.problems)
    }

    /// Whether there was nothing to check, and nothing that could not be read.
    pub(super) fn is_empty(&self) -> bool {
        let Gathered { material, problems, .. } = &self.gathered;
        let is_known = |one: &TaskDefinition| !one.containers.items.is_empty() || one.containers.is_complete;
        let has_nothing = !material.definitions.iter().any(is_known) && material.resources.all().is_empty();
        has_nothing && problems.is_empty() && self.sorted.findings.is_empty()
    }
}

/// The reason that is written without another one.
const REASON: &str = "accepted when ecs-mesh was introduced";

/// Parses a reason: one line of text.
fn reason(text: &str) -> Result<String, String> {
    if text.trim().is_empty() || text.contains(char::is_control) {
        return Err("a reason is one line of text".to_owned());
    }
    Ok(text.trim().to_owned())
}

/// Writes an exception for every finding. Nothing is written if the configuration file would be invalid; a file that
/// cannot be written does not prevent the others.
fn add_ignore(
    checked: &Checked,
    arguments: &RuleArguments,
    reason: &str,
    streams: &mut Streams<'_>,
) -> Result<Exit, Failure> {
    let directory = &checked.directory;
    let path = config::file(arguments.config.as_deref(), directory).unwrap_or_else(|| directory.join(NAME));
    let whole = directory.join(&path);
    let root = whole.parent().unwrap_or(directory);
    let origin = |file: &SourceFile| match Path::new(&file.name).is_file() {
        true if checked.gathered.material.is_synthesised(&file.name) => Origin::Generated,
        true => Origin::Edited,
        false => Origin::Elsewhere,
    };
    // A name that is not UTF-8 cannot be written: an entry would concern all files.
    let has_name = |finding: &&Finding| !finding.file.name.contains(char::REPLACEMENT_CHARACTER);
    let (findings, others): (Vec<&Finding>, Vec<&Finding>) = checked.sorted.findings.iter().partition(has_name);
    let baseline = Baseline::new(&findings, reason, directory, root, &origin);
    let before = match fs::read_to_string(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
        read => read.map_err(|error| Failure::of(&path, error))?,
    };
    let configuration = with_entries(&before, &baseline.entries_as_toml(reason));
    config::parse(&path, configuration.clone(), root, directory)?;

    let others: BTreeSet<&str> = others.iter().map(|finding| finding.file.name.as_str()).collect();
    let mut problems: Vec<String> = checked.problems().map(ToString::to_string).collect();
    problems.extend(others.iter().map(|name| format!("{name}: skipped, because its name is not UTF-8")));
    let mut save = |file: &Path, text: &str, number: usize, how: &str| match write(file, text) {
        Ok(()) => {
            let name = file.strip_prefix(directory).unwrap_or(file).display();
            streams.diagnostic(&format!("{name}: ignored {} by {how}", counted(number, "finding")));
            Ok(())
        }
        Err(Failure::Message(problem)) => {
            problems.push(problem);
            Ok(())
        }
        Err(closed) => Err(closed),
    };
    if baseline.findings_of_entries > 0 {
        save(&path, &configuration, baseline.findings_of_entries, "entries")?;
    }
    for file in &baseline.files {
        save(Path::new(&file.before.name), &file.after, file.findings, "comments")?;
    }
    streams.problems(&problems);
    Ok(if problems.is_empty() { Exit::Clean } else { Exit::Unusable })
}

/// The text of the configuration file, with more entries at its end.
pub(super) fn with_entries(before: &str, entries: &str) -> String {
    let end = if before.is_empty() || before.ends_with('\n') { "" } else { "\n" };
    // The line ends of the file are kept.
    let entries = if before.contains("\r\n") { entries.replace('\n', "\r\n") } else { entries.to_owned() };
    let text = format!("{before}{end}{entries}");
    if before.is_empty() { text.trim_start().to_owned() } else { text }
}

/// A row for each rule with findings, the most frequent one first.
fn statistics(report: &Report, medium: Medium) -> String {
    let mut by_rule: BTreeMap<&str, Vec<&Reported>> = BTreeMap::new();
    for finding in &report.findings {
        by_rule.entry(finding.rule.id).or_default().push(finding);
    }
    if by_rule.is_empty() {
        return String::new();
    }
    let mut counted: Vec<Vec<&Reported>> = by_rule.into_values().collect();
    counted.sort_by_key(|findings| Reverse(findings.len()));
    let mut sheet = Sheet::new(&["rule", "count", "severity", "fix", "what is wrong"]);
    counted.iter().filter_map(|findings| row(findings)).for_each(|row| sheet.add(row));
    sheet.text(medium)
}

fn row(findings: &[&Reported]) -> Option<Vec<Cell>> {
    let first = findings.first()?;
    let fixed = match findings.iter().filter(|finding| finding.is_fixable).count() {
        0 => NOTHING_TO_SAY.to_owned(),
        all if all == findings.len() => "all".to_owned(),
        some => some.to_string(),
    };
    Some(vec![
        Cell::new(first.rule.id, Tone::Strong),
        Cell::plain(findings.len().to_string()),
        Cell::new(first.severity.as_str(), tone(first.severity)),
        Cell::plain(fixed),
        Cell::plain(plain(first.rule.texts().title)),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_express_mode_generates_is_counted_and_named() {
        let said = |names: &[&str]| left_out(&names.iter().map(|name| (*name).to_owned()).collect());
        let expected = "2 task definitions not checked, because Express Mode generates what it runs: hello:1, shop:4";
        assert_eq!(said(&["shop:4", "hello:1"]).as_deref(), Some(expected));
        assert_eq!(said(&[]), None);
    }
}
