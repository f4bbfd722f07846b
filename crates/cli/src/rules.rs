//! `ecs-mesh rules`

use std::{fmt::Write, fs, path::PathBuf};

use clap::{Args, ValueEnum};
use serde_json::json;

use crate::{
    exit::{Exit, Failure},
    rule_page,
    streams::Streams,
    streams::write,
};
use audit::{report::page, rules::rules};

/// List the rules
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  ecs-mesh rules\n  ecs-mesh rules --output json\n  ecs-mesh rules --output markdown --output-dir docs/rules"
)]
pub(super) struct Arguments {
    /// The format of the list
    #[arg(long, short, value_name = "FORMAT", value_enum, default_value_t = Listing::Text)]
    output: Listing,
    /// Write a page for each rule, and the list of them, to this directory
    #[arg(long, value_name = "DIR")]
    output_dir: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Listing {
    Text,
    Json,
    Markdown,
}

pub(super) fn run(arguments: &Arguments, streams: &mut Streams<'_>) -> Result<Exit, Failure> {
    match (arguments.output, &arguments.output_dir) {
        (Listing::Markdown, Some(directory)) => {
            fs::create_dir_all(directory)?;
            for rule in rules() {
                write(&directory.join(format!("{}.md", rule.id)), &rule_page::markdown(rule))?;
            }
            write(&directory.join("README.md"), &rule_page::markdown_index())?;
        }
        (_, Some(_)) => return Err(Failure::Message("--output-dir requires --output markdown".to_owned())),
        (Listing::Markdown, None) => streams.print(&rule_page::markdown_index())?,
        (Listing::Text, None) => streams.print(&text())?,
        (Listing::Json, None) => streams.print(&json()?)?,
    }
    Ok(Exit::Clean)
}

fn text() -> String {
    let width = rules().map(|rule| rule.id.len()).max().unwrap_or_default();
    let mut out = String::new();
    for rule in rules() {
        // Writing to a `String` cannot fail.
        let _ = writeln!(out, "{:<width$}  {:<7}  {}", rule.id, rule.severity.as_str(), rule.summary);
    }
    out
}

fn json() -> Result<String, Failure> {
    let rules: Vec<_> = rules()
        .map(|rule| {
            json!({
                "id": rule.id,
                "severity": rule.severity,
                "summary": rule.summary,
                "applies": rule.applies.as_str(),
                "effect": rule.effect,
                "explanation": rule.explanation,
                "sources": rule.sources,
                "page": page(rule),
            })
        })
        .collect();
    serde_json::to_string_pretty(&rules).map(|json| json + "\n").map_err(|error| Failure::Message(error.to_string()))
}
