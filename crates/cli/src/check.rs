//! `ecs-mesh check`

use std::path::PathBuf;

use clap::{
    Args,
    builder::{PossibleValuesParser, TypedValueParser},
};

use crate::{
    configuration,
    exit::{Exit, Failure},
    live::LiveArguments,
    streams::Streams,
};
use audit::{
    audit,
    ignore::{self, Config},
    input::{Gathered, gather},
    report::{Format, Report, Threshold},
};

/// Without this warning, a run without input would always succeed.
const NOTHING_FOUND: &str = "warning: no task definition found; the supported formats are ECS's JSON, CloudFormation, SAM, Terraform's \
                             sources and the output of `terraform show -json`, and exports of App Mesh";

/// Check task definitions for errors that break the mesh
#[derive(Debug, Args)]
#[command(after_help = "Exit codes: 0 no findings at or above the threshold, 1 findings, 2 bad input or usage.\n\n\
                  Findings are ignored by a comment on their line or above it:\n  \
                  # ecs-mesh: ignore[consul-network-mode] the lab runs without a mesh\n\
                  or by an entry in ecs-mesh.toml:\n  \
                  [[ignore]]\n  rule = \"consul-network-mode\"\n  path = \"lab/**\"\n  reason = \"the lab runs without a mesh\"\n\n\
                  Examples:\n  ecs-mesh check\n  ecs-mesh check template.yaml services/\n  \
                  ecs-mesh check --fail-on warning --output github .\n  \
                  terraform show -json plan.out | ecs-mesh check --output html --output-file audit.html -\n  \
                  ecs-mesh check --cluster prod --service web\n  ecs-mesh check --all --output markdown")]
pub(super) struct Arguments {
    /// Files, directories and globs; - is standard input [default: the current directory]
    #[arg(value_name = "PATHS")]
    paths: Vec<String>,
    #[command(flatten)]
    live: LiveArguments,
    #[command(flatten)]
    report: ReportArguments,
}

/// The threshold, and the format of the report.
#[derive(Debug, Args)]
struct ReportArguments {
    /// The format of the report
    #[arg(long, short, value_name = "FORMAT", value_parser = format_parser(), default_value = "text")]
    output: Format,
    /// Write the report to this file
    #[arg(long, value_name = "FILE")]
    output_file: Option<PathBuf>,
    /// The lowest severity that fails the run [default: error]
    #[arg(long, value_name = "SEVERITY", value_parser = Threshold::NAMES)]
    fail_on: Option<String>,
    /// The configuration file [default: the nearest ecs-mesh.toml, upwards from here]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

/// Parses a format.
fn format_parser() -> impl TypedValueParser<Value = Format> {
    let names = PossibleValuesParser::new(Format::ALL.map(Format::as_str));
    names.try_map(|name| Format::named(&name).ok_or("no such format"))
}

pub(super) fn run(arguments: &Arguments, streams: &mut Streams<'_>) -> Result<Exit, Failure> {
    let directory = configuration::working_directory()?;
    let config = configuration::read(arguments.report.config.as_deref(), &directory)?;
    let gathered = material(arguments, streams)?;
    let sorted = ignore::sort(audit(&gathered.material), &gathered.material, &config, &directory);
    let threshold = threshold(&arguments.report, &config);
    let report = Report::new(&gathered.material, &sorted, &gathered.problems, gathered.files_read, threshold);
    for problem in &report.problems {
        streams.diagnostic(&format!("error: {problem}"));
    }
    for note in &gathered.notes {
        streams.diagnostic(&format!("info: {note}"));
    }
    if report.definitions.is_empty() && gathered.material.resources.all.is_empty() && report.problems.is_empty() {
        streams.diagnostic(NOTHING_FOUND);
    }
    for unused in &sorted.unused {
        streams.diagnostic(&format!("info: {unused}"));
    }
    let ReportArguments { output: format, output_file, .. } = &arguments.report;
    let in_colour = streams.in_colour && output_file.is_none();
    let rendered = report.render(*format, in_colour).map_err(|error| Failure::Message(error.to_string()))?;
    let exit = exit(&report);
    match streams.print_to(output_file.as_deref(), &rendered) {
        // The exit code does not depend on whether the report was read to its end.
        Ok(()) | Err(Failure::Closed) => Ok(exit),
        Err(failure) => Err(failure),
    }
}

fn exit(report: &Report) -> Exit {
    if !report.problems.is_empty() {
        Exit::Unusable
    } else if report.fails() {
        Exit::Findings
    } else {
        Exit::Clean
    }
}

/// The input that the arguments name.
fn material(arguments: &Arguments, streams: &mut Streams<'_>) -> Result<Gathered, Failure> {
    let here = [".".to_owned()];
    let is_live = arguments.live.is_requested();
    let paths = if arguments.paths.is_empty() && !is_live { here.as_slice() } else { &arguments.paths };
    let mut gathered = gather(paths, streams.input);
    if is_live {
        gathered.add(arguments.live.gather()?);
    }
    Ok(gathered)
}

/// The command line takes precedence over the configuration.
fn threshold(arguments: &ReportArguments, config: &Config) -> Threshold {
    Threshold::wanted(arguments.fail_on.as_deref().or(config.fail_on.as_deref()))
}
