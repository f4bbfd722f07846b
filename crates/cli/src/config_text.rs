//! The configuration of a check as TOML, with comments that say where each value comes from.

use std::fmt::Write;

use audit::{
    ignore::{Config, IgnoreEntry, PathPattern, Selector, quoted},
    rules::rules,
};
use audit_read::document::Position;

use crate::configuration::ConfigurationArguments;

const DEFAULT_FAIL_ON: &str = "error";

pub(super) fn text(config: &Config, arguments: &ConfigurationArguments) -> String {
    let mut out = match config.name.as_str() {
        "" => "# no configuration file\n".to_owned(),
        name => format!("# configuration file: {name}\n"),
    };
    for (option, selectors) in [("--select", &config.selection.select), ("--ignore", &config.selection.ignore)] {
        if !selectors.is_empty() {
            let names: Vec<&str> = selectors.iter().map(Selector::as_str).collect();
            // Writing to a string cannot fail.
            let _ = writeln!(out, "# {option} {}", names.join(","));
        }
    }
    let applied = rules().filter(|rule| config.severity_of(rule).is_some()).count();
    let _ = writeln!(out, "# {applied} of {} rules are applied", rules().count());
    let (fail_on, source) = fail_on(config, arguments);
    let _ = writeln!(out, "\nfail-on = {}  # {source}", quoted(fail_on));
    if !config.severities.is_empty() {
        out.push_str("\n[severity]\n");
    }
    for entry in &config.severities {
        let (rules, level) = (entry.rules.as_str(), quoted(entry.level.as_str()));
        let _ = writeln!(out, "{rules} = {level}  # {}", place(config, entry.position));
    }
    config.ignores.iter().for_each(|entry| ignore(&mut out, entry, config));
    out
}

/// The threshold, and where it comes from.
fn fail_on<'c>(config: &'c Config, arguments: &'c ConfigurationArguments) -> (&'c str, String) {
    match (&arguments.fail_on, &config.fail_on, config.fail_on_position) {
        (Some(fail_on), ..) => (fail_on, "--fail-on".to_owned()),
        (None, Some(fail_on), Some(position)) => (fail_on, place(config, position)),
        _ => (DEFAULT_FAIL_ON, "default".to_owned()),
    }
}

fn ignore(out: &mut String, entry: &IgnoreEntry, config: &Config) {
    let _ = writeln!(out, "\n[[ignore]]  # {}\nrule = {}", place(config, entry.position), quoted(entry.rule));
    let path = entry.path.as_ref().map(PathPattern::as_str);
    let family = entry.family.as_ref().map(|family| family.glob().glob());
    for (key, pattern) in [("path", path), ("family", family)] {
        if let Some(pattern) = pattern {
            let _ = writeln!(out, "{key} = {}", quoted(pattern));
        }
    }
    let _ = writeln!(out, "reason = {}", quoted(&entry.reason));
}

fn place(config: &Config, Position { line, column }: Position) -> String {
    format!("{}:{line}:{column}", config.name)
}
