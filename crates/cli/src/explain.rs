//! `ecs-mesh explain`

use std::fmt::Write;

use audit::{
    example::{Base, Example},
    ignore::unknown_rule,
    rule::Rule,
    rules::rule,
};
use clap::Args;
use serde_json::Value;

use crate::{
    sheet::NOTHING_TO_SAY,
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
    streams.print(&text(rule))?;
    Ok(Exit::Clean)
}

const INTRODUCTION: &str = "\
# Rules

Each rule looks for one thing that breaks a task definition, or will. `ecs-mesh rules WORDS` searches the rules. The
column *Fix* says whether [`ecs-mesh fix`](../commands/fix.md) can fix findings of the rule, at least in some definitions.

`ecs-mesh rules --output markdown --output-dir docs/reference/rules` writes these pages from the rules.

To accept a finding, write a comment on its line, or alone above it (`# ecs-mesh: ignore[rule-id] why`, in JSON with
`//`), or an entry in `ecs-mesh.toml`:

```toml
[[ignore]]
rule = \"consul-network-mode\"
path = \"lab/**\"
reason = \"the lab runs without a mesh\"
```
";

const GROUPS: [(&str, &str); 3] = [("consul-", "Consul"), ("appmesh-", "App Mesh"), ("ecs-", "ECS")];

/// For `explain`.
fn text(rule: &'static Rule) -> String {
    let mut out = format!("{}: {}\n\n", rule.id, rule.summary);
    // Writing to a `String` cannot fail.
    let _ = writeln!(out, "severity     {}", rule.severity.as_str());
    let _ = writeln!(out, "applies to   {}", rule.applies);
    let _ = writeln!(out, "fix          {}", fix(rule));
    let _ = writeln!(out, "at run time  {}\n\n{}", rule.effect, rule.explanation);
    if let Some(example) = &rule.example {
        let _ = writeln!(out, "\n{}\n", heading(example));
        let _ = writeln!(out, "  fails:\n{}", indented(&fragment(example, example.wrong_value())));
        let _ = writeln!(out, "  repaired:\n{}", indented(&fragment(example, example.correct_value())));
    }
    let _ = writeln!(out, "\nSources:");
    for source in rule.sources {
        let _ = writeln!(out, "  {source}");
    }
    out
}

/// For the documentation.
pub(super) fn markdown(rule: &'static Rule) -> String {
    let mut out = format!("# {}\n\n{}.\n\n", rule.id, capitalised(rule.summary));
    let _ = writeln!(out, "| | |\n|---|---|\n| Severity | {} |", rule.severity.as_str());
    let _ = writeln!(out, "| Applies to | {} |", rule.applies);
    let _ = writeln!(out, "| Fix | {} |", fix(rule));
    let _ = writeln!(out, "\n## At run time\n\n{}.\n\n## Why\n\n{}", capitalised(rule.effect), rule.explanation);
    if let Some(example) = &rule.example {
        out.push_str("\n## Example\n");
        let _ = writeln!(out, "\n### {}\n", heading(example));
        let _ = writeln!(out, "Fails:\n\n```json\n{}\n```\n", fragment(example, example.wrong_value()));
        let _ = writeln!(out, "Repaired:\n\n```json\n{}\n```", fragment(example, example.correct_value()));
    }
    out.push_str("\n## Sources\n\n");
    for source in rule.sources {
        let _ = writeln!(out, "- <{source}>");
    }
    out
}

/// The list of all pages.
pub(super) fn markdown_index(found: &[&'static Rule]) -> String {
    let mut out = INTRODUCTION.to_owned();
    for (prefix, group) in GROUPS {
        let _ = writeln!(out, "\n## {group}\n");
        let _ = writeln!(out, "| Rule | Severity | Fix | What a correct definition has |\n|---|---|---|---|");
        for rule in found.iter().filter(|rule| rule.id.starts_with(prefix)) {
            let (severity, fix) = (rule.severity.as_str(), fix(rule));
            let summary = rule.summary.replace('|', "\\|");
            let _ = writeln!(out, "| [{0}]({0}.md) | {severity} | {fix} | {summary} |", rule.id);
        }
    }
    out
}

/// Whether `ecs-mesh fix` can do something about findings of the rule.
pub(super) fn fix(rule: &'static Rule) -> &'static str {
    if rule.is_fixable { "yes" } else { NOTHING_TO_SAY }
}

fn heading(example: &Example) -> String {
    let base = match example.base {
        Base::Client => "a service of the client generation",
        Base::ClientGateway => "a mesh gateway of the client generation",
        Base::ControlPlane => "a service of consul-ecs 0.7",
        Base::Dataplane => "a service of the dataplane generation",
        Base::MeshGateway => "a mesh gateway",
        Base::ApiGateway => "an API gateway",
        Base::TerminatingGateway => "a terminating gateway",
        Base::Controller => "the controller of consul-ecs",
        Base::AppMesh => "a service of App Mesh",
        Base::AppMeshGateway => "a virtual gateway of App Mesh",
        Base::AppMeshResources => "resources of App Mesh",
        Base::Plain => "a task in no mesh",
    };
    let place = match example.at.strip_prefix("config") {
        Some(path) if path.is_empty() || path.starts_with(['.', '@', '[']) => {
            format!("`CONSUL_ECS_CONFIG_JSON{path}`")
        }
        _ => format!("`{}`", example.at),
    };
    format!("{place} of {base}")
}

/// The key and value of an example.
fn fragment(example: &Example, value: Option<Value>) -> String {
    let Some(value) = value else { return "// left out".to_owned() };
    let pretty = format!("{value:#}");
    let key = example.at.rsplit('.').next().unwrap_or(example.at);
    if key.contains(['[', ']', '@']) { pretty } else { format!("\"{key}\": {pretty}") }
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("    {line}")).collect::<Vec<_>>().join("\n")
}

fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}
