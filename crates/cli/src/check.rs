//! `ecs-mesh check`

use std::path::PathBuf;

use clap::{
    Args,
    builder::{PossibleValuesParser, TypedValueParser},
};

use crate::{
    add_ignore,
    checked::Checked,
    configuration::ConfigurationArguments,
    exit::{Exit, Failure},
    live::LiveArguments,
    sheet::Medium,
    statistics,
    streams::Streams,
};
use audit::report::{Format, Report};

/// Check task definitions for errors that break the mesh
#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: 0 no findings at or above the threshold, 1 findings, 2 bad input or usage, 3 no task definition \
                  found.\nWith --output sarif, findings do not fail the run, so that a pipeline goes on to upload them, unless \
                  --fail-on is given.\n\n\
                  Findings are ignored by a comment on their line or above it:\n  \
                  # ecs-mesh: ignore[consul-network-mode] the lab runs without a mesh\n\
                  or by an entry in ecs-mesh.toml:\n  \
                  [[ignore]]\n  rule = \"consul-network-mode\"\n  path = \"lab/**\"\n  reason = \"the lab runs without a mesh\"\n\n\
                  Examples:\n  ecs-mesh check\n  ecs-mesh check template.yaml services/\n  \
                  ecs-mesh check --select consul --ignore consul-health-sync-needless\n  \
                  ecs-mesh check --fail-on warning --output github .\n  \
                  terraform show -json plan.out | ecs-mesh check --output html --output-file audit.html -\n  \
                  ecs-mesh check --cluster prod --service web\n  ecs-mesh check --all --output markdown"
)]
pub(super) struct Arguments {
    /// Files, directories and globs; - is standard input [default: the current directory]
    #[arg(value_name = "PATHS")]
    paths: Vec<String>,
    /// Write an exception for every finding: comments where the file can have them, elsewhere entries in ecs-mesh.toml
    #[arg(long, value_name = "REASON", num_args = 0..=1, require_equals = true, default_missing_value = add_ignore::REASON,
          value_parser = add_ignore::reason, conflicts_with_all = ["statistics", "output", "output_file", "exit_zero", "fail_on", "quiet"])]
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
    /// The format of the report
    #[arg(long, short, value_name = "FORMAT", value_parser = format_parser(), default_value = "text")]
    output: Format,
    /// Write the report to this file
    #[arg(long, value_name = "FILE")]
    output_file: Option<PathBuf>,
    /// Exit with 0 even if there are findings
    #[arg(long, conflicts_with = "fail_on")]
    exit_zero: bool,
    /// Show how many findings each rule has, instead of the findings
    #[arg(long, conflicts_with = "output")]
    statistics: bool,
    /// Print findings and errors only: no summary, and nothing about exceptions without a finding
    #[arg(long, short)]
    quiet: bool,
}

/// Parses a format.
fn format_parser() -> impl TypedValueParser<Value = Format> {
    let names = PossibleValuesParser::new(Format::ALL.map(Format::as_str));
    names.try_map(|name| Format::named(&name).ok_or("no such format"))
}

pub(super) fn run(arguments: &Arguments, streams: &mut Streams<'_>) -> Result<Exit, Failure> {
    let rules = &arguments.configuration.rules;
    let checked = Checked::new(&arguments.paths, Some(&arguments.live), rules, streams.input)?;
    match &arguments.add_ignore {
        Some(reason) if !checked.is_empty() => add_ignore::run(&checked, rules, reason, streams),
        _ => show(arguments, &checked, streams),
    }
}

/// Prints the report of what was checked.
fn show(arguments: &Arguments, checked: &Checked, streams: &mut Streams<'_>) -> Result<Exit, Failure> {
    let ReportArguments { output_file, quiet, .. } = &arguments.report;
    let mut report = checked.report(arguments.configuration.threshold(&checked.config));
    report.has_summary = !quiet && !checked.is_empty();
    streams.problems(&report.problems);
    for problem in &checked.gathered.unchecked {
        streams.diagnostic(&format!("info: {problem}"));
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

fn rendered(arguments: &ReportArguments, report: &Report, streams: &Streams<'_>) -> Result<String, Failure> {
    let mut medium = streams.medium();
    if arguments.output_file.is_some() {
        medium = Medium::default();
    }
    if arguments.statistics {
        let counts = statistics::text(report, medium);
        let gap = if counts.is_empty() || !report.has_summary { "" } else { "\n" };
        return Ok(format!("{counts}{gap}{}", report.summary_line()));
    }
    report.render(arguments.output, medium).map_err(|error| Failure::Message(error.to_string()))
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
