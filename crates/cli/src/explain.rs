//! `ecs-mesh explain`

use std::fmt::Write;

use audit::{ignore::unknown_rule, report::plain, rule::Rule, rules::rule};
use clap::Args;

use crate::{
    sheet::{Cell, Medium, NOTHING_TO_SAY, wrapped},
    streams::{Exit, Failure, Streams},
};

/// Explain a rule
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  ecs-mesh explain consul-network-mode\n  ecs-mesh explain ecs-dependency-unknown | less"
)]
pub(super) struct Arguments {
    /// The rule's ID, as findings show it
    #[arg(value_name = "RULE")]
    rule: String,
}

pub(super) fn run(arguments: &Arguments, streams: &mut Streams<'_>) -> Result<Exit, Failure> {
    let rule = rule(&arguments.rule).ok_or_else(|| Failure::Message(unknown_rule(&arguments.rule)))?;
    streams.print(&text(rule, streams.medium()))?;
    Ok(Exit::Clean)
}

const INTRODUCTION: &str = "\
# Rules

Each rule detects one mistake that breaks a task, now or after an upgrade. `ecs-mesh rules WORDS` searches the rules, and
`ecs-mesh explain RULE` prints a rule's page. The column *Fix* says whether [`ecs-mesh fix`](../commands/fix.md) can fix
findings of the rule, at least in some definitions.

To accept a finding, write a comment on its line, or alone above it (`# ecs-mesh: ignore[rule-id] why`, in JSON with
`//`), or an entry in `ecs-mesh.toml`:

```toml
[[ignore]]
rule = \"consul-network-mode\"
path = \"lab/**\"
reason = \"the lab runs without a mesh\"
```
";

const GROUPS: [(&str, &str); 3] = [("consul-", "Consul"), ("ecs-", "ECS"), ("appmesh-", "App Mesh")];

/// The page of a rule for a terminal.
fn text(rule: &'static Rule, medium: Medium) -> String {
    let texts = rule.texts();
    let prose = |markdown: &str| prose(markdown, medium);
    let mut out = wrapped(&Cell::plain(format!("{}: {}", rule.id, plain(texts.title))), medium);
    let (severity, fix) = (texts.severity.as_str(), if texts.is_fixable { "ecs-mesh fix" } else { "by hand" });
    // Writing to a `String` cannot fail.
    let _ = write!(out, "\nseverity    {severity}\nfix         {fix}\napplies to  {}\n\n", rule.applies);
    let _ = write!(out, "{}\n{}", prose(texts.explanation), prose(&format!("At run time: {}.", texts.effect)));
    let _ = write!(out, "\nWhat to do:\n\n{}", prose(texts.advice));
    if !texts.example.is_empty() {
        let _ = write!(out, "\n{}", prose(&format!("Example{}", texts.example)));
    }
    let _ = writeln!(out, "\nSources:");
    for source in &texts.sources {
        let _ = writeln!(out, "  {source}");
    }
    out
}

/// Markdown as lines that fit the terminal: code is indented, and nothing else has marks.
fn prose(markdown: &str, medium: Medium) -> String {
    let mut out = String::new();
    let mut is_code = false;
    for line in markdown.lines() {
        match line {
            _ if line.starts_with("```") => is_code = !is_code,
            "" => out.push('\n'),
            _ if is_code => {
                let _ = writeln!(out, "    {line}");
            }
            _ => out.push_str(&wrapped(&Cell::plain(plain(line)), medium)),
        }
    }
    out
}

/// The list of all pages.
pub(super) fn markdown_index(found: &[&'static Rule]) -> String {
    let mut out = INTRODUCTION.to_owned();
    for (prefix, group) in GROUPS {
        let _ = writeln!(out, "\n## {group}\n\n| Rule | Severity | Fix | What is wrong |\n|---|---|---|---|");
        for rule in found.iter().filter(|rule| rule.id.starts_with(prefix)) {
            let (texts, page) = (rule.texts(), rule.page.path());
            let (severity, fix) = (texts.severity.as_str(), fix(rule));
            let _ =
                writeln!(out, "| [{}]({page}) | {severity} | {fix} | {} |", rule.id, texts.title.replace('|', "\\|"));
        }
    }
    out
}

/// Whether `ecs-mesh fix` can do something about findings of the rule.
pub(super) fn fix(rule: &'static Rule) -> &'static str {
    if rule.texts().is_fixable { "yes" } else { NOTHING_TO_SAY }
}
