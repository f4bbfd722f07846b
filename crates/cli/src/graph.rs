//! `ecs-mesh graph`

use std::path::PathBuf;

use audit::{report::clean, timeline::Timeline};
use audit_read::{definition::TaskDefinition, input::gather};
use clap::{Args, ValueEnum};

use crate::streams::{Exit, Failure, Streams};

/// Show the order in which containers start and stop
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  ecs-mesh graph web.json\n  ecs-mesh graph template.yaml --family web --output svg --output-file web.svg\n  \
                  ecs-mesh graph web.json --output mermaid"
)]
pub(super) struct Arguments {
    /// The file; - is standard input
    file: String,
    /// Set the format of the drawing
    #[arg(long, short, value_name = "FORMAT", value_enum, default_value_t = Drawing::Text)]
    output: Drawing,
    /// Choose a task definition of the file: its family, logical ID or address
    #[arg(long)]
    family: Option<String>,
    /// Write the drawing to this file
    #[arg(long, value_name = "FILE")]
    output_file: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Drawing {
    Text,
    Mermaid,
    Svg,
}

pub(super) fn run(arguments: &Arguments, streams: &mut Streams<'_>) -> Result<Exit, Failure> {
    let gathered = gather(std::slice::from_ref(&arguments.file), streams.input);
    streams.problems(&gathered.problems);
    let definitions = gathered.material.chosen(arguments.family.as_deref());
    if definitions.is_empty() {
        return nothing(arguments, gathered.problems.is_empty(), &gathered.material.definitions);
    }
    if arguments.output == Drawing::Svg && definitions.len() > 1 {
        let labels = labels(definitions.iter().copied());
        return Err(Failure::Message(format!("an SVG shows one task definition. Choose one with --family: {labels}")));
    }
    let drawn: Vec<String> = definitions
        .iter()
        .map(|definition| {
            let mut timeline = Timeline::of(definition);
            timeline.reword(clean);
            timeline
        })
        .map(|timeline| match arguments.output {
            Drawing::Text => timeline.text(),
            Drawing::Mermaid => timeline.mermaid(),
            Drawing::Svg => timeline.svg(),
        })
        .collect();
    streams.print_to(arguments.output_file.as_deref(), &drawn.join("\n"))?;
    Ok(if gathered.problems.is_empty() { Exit::Clean } else { Exit::Unusable })
}

fn nothing(arguments: &Arguments, was_readable: bool, all: &[TaskDefinition]) -> Result<Exit, Failure> {
    match &arguments.family {
        Some(family) if !all.is_empty() => {
            Err(Failure::Message(format!("no task definition {family:?} found; the file has {}", labels(all))))
        }
        _ if was_readable => Err(Failure::Message(format!("{}: no task definition found", arguments.file))),
        _ => Ok(Exit::Unusable),
    }
}

fn labels<'d>(definitions: impl IntoIterator<Item = &'d TaskDefinition>) -> String {
    definitions.into_iter().map(TaskDefinition::label).collect::<Vec<_>>().join(", ")
}
