//! `ecs-mesh rules`

use std::{fs, io, path::PathBuf};

use audit::{report::page, rule::Rule, rules::rules, severity::Severity};
use clap::Args;
use serde_json::json;

use crate::{
    explain,
    output::Listing,
    sheet::{Cell, Medium, Sheet, Tone},
    streams::{Exit, Failure, Streams, write},
};

/// List the rules, or search them
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  ecs-mesh rules\n  ecs-mesh rules health-sync\n  ecs-mesh rules --output json\n  ecs-mesh rules --output markdown --output-dir docs/reference/rules"
)]
pub(super) struct Arguments {
    /// Words that the rule's ID or text must contain
    #[arg(value_name = "WORDS", conflicts_with = "output_dir")]
    words: Vec<String>,
    /// Set the format of the list
    #[arg(long, short, value_name = "FORMAT", value_enum, default_value_t = Listing::Text)]
    output: Listing,
    /// Write a page for each rule and a list of all rules to this directory
    #[arg(long, value_name = "DIR")]
    output_dir: Option<PathBuf>,
}

pub(super) fn run(arguments: &Arguments, streams: &mut Streams<'_>) -> Result<Exit, Failure> {
    let words: Vec<String> = arguments.words.iter().map(|word| word.to_lowercase()).collect();
    let found: Vec<&'static Rule> = rules().filter(|rule| has_words(rule, &words)).collect();
    if found.is_empty() {
        return Err(Failure::Message(format!("no rule is about {:?}", arguments.words.join(" "))));
    }
    match (arguments.output, &arguments.output_dir) {
        (Listing::Markdown, Some(directory)) => {
            let failed = |error: io::Error| Failure::of(directory, error);
            fs::create_dir_all(directory).map_err(failed)?;
            for rule in &found {
                write(&directory.join(format!("{}.md", rule.id)), &explain::markdown(rule))?;
            }
            write(&directory.join("README.md"), &explain::markdown_index(&found))?;
        }
        (_, Some(_)) => return Err(Failure::new("--output-dir requires --output markdown")),
        (Listing::Markdown, None) => streams.print(&explain::markdown_index(&found))?,
        (Listing::Text, None) => streams.print(&text(&found, streams.medium()))?,
        (Listing::Json, None) => streams.print(&json(&found)?)?,
    }
    Ok(Exit::Clean)
}

/// Whether the ID or the texts of a rule contain all of the words, which are lower-case.
fn has_words(rule: &Rule, words: &[String]) -> bool {
    let texts = [rule.id, rule.summary, rule.effect, rule.explanation].map(str::to_lowercase);
    words.iter().all(|word| texts.iter().any(|text| text.contains(word.as_str())))
}

fn text(rules: &[&'static Rule], medium: Medium) -> String {
    let mut sheet = Sheet::new(&["rule", "severity", "fix", "what a correct definition has"]);
    for rule in rules {
        sheet.add(vec![
            Cell::new(rule.id, Tone::Strong),
            Cell::new(rule.severity.as_str(), tone(rule.severity)),
            Cell::plain(explain::fix(rule)),
            Cell::plain(rule.summary),
        ]);
    }
    sheet.text(medium)
}

/// The colour of a severity.
pub(super) fn tone(severity: Severity) -> Tone {
    match severity {
        Severity::Error => Tone::Bad,
        Severity::Warning => Tone::Pending,
        Severity::Info => Tone::Plain,
    }
}

fn json(rules: &[&'static Rule]) -> Result<String, Failure> {
    let rules: Vec<_> = rules
        .iter()
        .map(|rule| {
            json!({
                "id": rule.id,
                "severity": rule.severity,
                "fixable": rule.is_fixable,
                "summary": rule.summary,
                "applies": rule.applies.to_string(),
                "effect": rule.effect,
                "explanation": rule.explanation,
                "sources": rule.sources,
                "page": page(rule),
            })
        })
        .collect();
    serde_json::to_string_pretty(&rules).map(|json| json + "\n").map_err(Failure::new)
}
