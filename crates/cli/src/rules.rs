//! `ecs-mesh rules`

use audit::{
    report::{page, plain},
    rule::Rule,
    rules::rules,
    severity::Severity,
};
use clap::Args;
use serde_json::json;

use crate::{
    explain,
    output::Listing,
    sheet::{Cell, Medium, Sheet, Tone},
    streams::{Exit, Failure, Streams},
};

/// List the rules, or search them
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  ecs-mesh rules\n  ecs-mesh rules health-sync\n  ecs-mesh rules --output json")]
pub(super) struct Arguments {
    /// Words that the rule's ID or text must contain
    #[arg(value_name = "WORDS")]
    words: Vec<String>,
    /// Set the format of the list
    #[arg(long, short, value_name = "FORMAT", value_enum, default_value_t = Listing::Text)]
    output: Listing,
}

pub(super) fn run(arguments: &Arguments, streams: &mut Streams<'_>) -> Result<Exit, Failure> {
    let words: Vec<String> = arguments.words.iter().map(|word| word.to_lowercase()).collect();
    let found: Vec<&'static Rule> = rules().filter(|rule| has_words(rule, &words)).collect();
    if found.is_empty() {
        return Err(Failure::Message(format!("no rule is about {:?}", arguments.words.join(" "))));
    }
    let list = match arguments.output {
        Listing::Markdown => explain::markdown_index(&found),
        Listing::Text => text(&found, streams.medium()),
        Listing::Json => json(&found)?,
    };
    streams.print(&list)?;
    Ok(Exit::Clean)
}

/// Whether the ID or the texts of a rule contain all of the words, which are lower-case.
fn has_words(rule: &Rule, words: &[String]) -> bool {
    let texts = rule.texts();
    let texts = [rule.id, texts.title, texts.effect, texts.explanation].map(str::to_lowercase);
    words.iter().all(|word| texts.iter().any(|text| text.contains(word.as_str())))
}

fn text(rules: &[&'static Rule], medium: Medium) -> String {
    let mut sheet = Sheet::new(&["rule", "severity", "fix", "what is wrong"]);
    for rule in rules {
        sheet.add(vec![
            Cell::new(rule.id, Tone::Strong),
            Cell::new(rule.texts().severity.as_str(), tone(rule.texts().severity)),
            Cell::plain(explain::fix(rule)),
            Cell::plain(plain(rule.texts().title)),
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
            let texts = rule.texts();
            json!({
                "id": rule.id,
                "severity": texts.severity,
                "fixable": texts.is_fixable,
                "summary": plain(texts.title),
                "applies": rule.applies.to_string(),
                "effect": texts.effect,
                "explanation": texts.explanation,
                "advice": texts.advice,
                "sources": texts.sources,
                "page": page(rule),
            })
        })
        .collect();
    serde_json::to_string_pretty(&rules).map(|json| json + "\n").map_err(Failure::new)
}
