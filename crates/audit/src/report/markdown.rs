//! Markdown for comments on pull requests.

use std::fmt::Write;

use super::model::{Report, Reported, counted};
use crate::ignore::Exception;
use document::InputProblem;

pub(super) fn render(report: &Report) -> String {
    let verdict = if report.fails() || report.counts.problems > 0 { "❌" } else { "✅" };
    let mut out = format!("## {verdict} ecs-mesh: {}\n", escape(&report.summary()));
    let mut groups: Vec<((&str, &str), Vec<&Reported>)> = Vec::new();
    for finding in &report.findings {
        match groups.iter_mut().rev().find(|(group, _)| *group == finding.group()) {
            Some((_, findings)) => findings.push(finding),
            None => groups.push((finding.group(), vec![finding])),
        }
    }
    for ((file, subject), findings) in groups {
        let _ = writeln!(out, "\n### {} <sub>{}</sub>\n", escape(subject), escape(file));
        out.push_str("| | Finding | At run time | Fix |\n|---|---|---|---|\n");
        for finding in findings {
            row(&mut out, finding);
        }
    }
    problems(&mut out, "Could not be read", &report.problems);
    problems(&mut out, "Not checked", &report.unchecked);
    ignored(&mut out, report);
    clean(&mut out, report);
    out
}

fn row(out: &mut String, finding: &Reported) {
    let fix = if finding.is_fixable { " *(`ecs-mesh fix` can do this)*" } else { "" };
    let id = finding.rule.id;
    let rule = finding.link().map_or_else(|| format!("`{id}`"), |page| format!("[`{id}`]({page})"));
    let calls = finding.called_as().map(|calls| format!("<br>called as {}", escape(&calls))).unwrap_or_default();
    // Writing to a string cannot fail.
    let _ = writeln!(
        out,
        "| {} | {}<br>{rule}, line {}{calls} | {} | {}{fix} |",
        finding.severity.as_str(),
        escape(&finding.message),
        finding.start.line,
        escape(&finding.effect),
        escape(&finding.help)
    );
}

fn problems(out: &mut String, title: &str, problems: &[InputProblem]) {
    if problems.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n### {title}\n");
    for problem in problems {
        let _ = writeln!(out, "- {}", escape(&problem.to_string()));
    }
}

fn ignored(out: &mut String, report: &Report) {
    if report.ignored.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n<details><summary>{} ignored</summary>\n", counted(report.ignored.len(), "finding"));
    out.push_str("| Finding | Where | Why |\n|---|---|---|\n");
    for finding in &report.ignored {
        let Some(Exception { by, reason }) = &finding.ignored else { continue };
        let place = escape(&finding.place());
        let _ = writeln!(
            out,
            "| `{}` {} | {place} | {} ({}) |",
            finding.rule.id,
            escape(&finding.message),
            escape(reason),
            by.as_str()
        );
    }
    out.push_str("\n</details>\n");
}

fn clean(out: &mut String, report: &Report) {
    let clean: Vec<String> = report.clean_definitions().map(|definition| escape(&definition.label)).collect();
    if !clean.is_empty() {
        let _ = writeln!(out, "\nWithout findings: {}.", clean.join(", "));
    }
}

/// Escapes markup, HTML, mentions of people and issues, and the ends of table cells.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '@' => out.push_str("&#64;"),
            '#' => out.push_str("&#35;"),
            '\\' | '`' | '*' | '_' | '{' | '}' | '[' | ']' | '|' | '~' | '!' => {
                out.push('\\');
                out.push(c);
            }
            '\n' | '\r' => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_in_names_stays_text() {
        assert_eq!(escape("a|b"), "a\\|b");
        assert_eq!(escape("<script>"), "&lt;script&gt;");
        assert_eq!(escape("@team #1 [x](y)"), "&#64;team &#35;1 \\[x\\](y)");
    }
}
