//! One line for each finding: `web.json:3:18: error consul-network-mode web: the network mode is bridge`.

use std::fmt::Write;

use annotate_snippets::renderer::{AnsiColor, Effects, Style};

use super::model::{Report, Reported};
use crate::finding::Severity;

pub(super) fn render(report: &Report, in_colour: bool) -> String {
    let mut out = String::new();
    for finding in &report.findings {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{}", line(finding, in_colour));
    }
    out.push_str(&report.summary_line());
    out
}

fn line(finding: &Reported, in_colour: bool) -> String {
    let Reported { file, start, severity, rule, message, .. } = finding;
    let [strong, colour] =
        if in_colour { [Style::new().effects(Effects::BOLD), colour(*severity)] } else { [Style::new(); 2] };
    let subject = finding.subject_and_container();
    let (line, column, severity, rule) = (start.line, start.column, severity.as_str(), rule.id);
    format!("{strong}{file}{strong:#}:{line}:{column}: {colour}{severity}{colour:#} {rule} {subject}: {message}")
}

fn colour(severity: Severity) -> Style {
    let colour = match severity {
        Severity::Error => AnsiColor::BrightRed,
        Severity::Warning => AnsiColor::Yellow,
        Severity::Info => AnsiColor::BrightBlue,
    };
    Style::new().effects(Effects::BOLD).fg_color(Some(colour.into()))
}
