//! Readable text: the defect is marked in the lines of its file.

use std::fmt::Write;

use annotate_snippets::{
    Annotation, AnnotationKind, Element, Group, Level, Origin, Padding, Renderer, Snippet,
    renderer::{AnsiColor, Effects, Style},
};

use super::{
    Medium,
    model::{Report, Reported},
};
use crate::severity::Severity;

/// Wider than the lines of excerpts, which are cut already.
const UNCUT: usize = 400;

pub(super) fn render(report: &Report, medium: Medium) -> String {
    let renderer = if medium.in_colour { Renderer::styled() } else { Renderer::plain() };
    let mut out = String::new();
    for finding in &report.findings {
        let width = medium.width.map_or(UNCUT, |width| usize::from(width).saturating_sub(uncounted(finding)));
        out.push_str(&draw(finding, &renderer.clone().term_width(width)));
        out.push_str("\n\n");
    }
    out.push_str(&report.summary_line());
    out
}

/// The columns by which a line of an excerpt may become too long: the renderer cuts by characters what it measures in bytes.
fn uncounted(finding: &Reported) -> usize {
    let lines = finding.excerpt.text.lines().map(|line| line.len() - line.chars().count());
    lines.max().unwrap_or_default()
}

fn draw(finding: &Reported, renderer: &Renderer) -> String {
    let title = level_of(finding.severity).primary_title(finding.message.as_str()).id(finding.rule.id);
    let origin = Origin::path(finding.file.as_str()).line(finding.start.line).char_column(finding.start.column);
    let fix = finding.is_fixable.then(|| labelled(Level::HELP, "fix", "ecs-mesh fix can do this".to_owned()));
    // The excerpt has no path, because the columns of a cut line differ from the file's.
    let excerpt = Group::with_level(level_of(finding.severity))
        .element(snippet(finding))
        .element(Padding)
        .elements(far_notes(finding))
        .element(labelled(Level::NOTE, "in", finding.subject_and_container()))
        .elements(finding.called_as().map(|calls| labelled(Level::NOTE, "called as", calls)))
        .element(labelled(Level::NOTE, "at run time", finding.effect.clone()))
        .element(labelled(Level::HELP, "fix", finding.help.clone()))
        .elements(fix)
        .element(labelled(Level::NOTE, "more", finding.more()));
    let drawn = renderer.render(&[title.element(origin), excerpt]);
    // The renderer draws a rule below the title and another below the place: one of them is removed.
    let lines = drawn.lines().enumerate().filter(|(index, _)| *index != 2);
    lines.map(|(_, line)| line).collect::<Vec<_>>().join("\n")
}

fn level_of(severity: Severity) -> Level<'static> {
    severity.pick([Level::ERROR, Level::WARNING, Level::INFO])
}

fn snippet(finding: &Reported) -> Snippet<'_, Annotation<'_>> {
    let excerpt = &finding.excerpt;
    let notes = finding.notes.iter().zip(&excerpt.notes).filter_map(|(note, place)| {
        let place = place.clone()?;
        Some(AnnotationKind::Context.span(place).label(note.text.as_str()))
    });
    Snippet::source(excerpt.text.as_str())
        .line_start(excerpt.first_line)
        .annotation(AnnotationKind::Primary.span(excerpt.main.clone()))
        .annotations(notes)
}

/// Notes about places outside of the excerpt.
fn far_notes(finding: &Reported) -> impl Iterator<Item = Element<'_>> {
    let far = finding.notes.iter().zip(&finding.excerpt.notes).filter(|(_, place)| place.is_none());
    far.map(|(note, _)| labelled(Level::NOTE, "note", format!("{} (line {})", note.text, note.start.line)))
}

fn labelled<'a>(level: Level<'a>, name: &'a str, text: String) -> Element<'a> {
    level.with_name(name).message(text).into()
}

/// One line for each finding: `web.json:3:18: error consul-network-mode web: the network mode is bridge`.
pub(super) fn render_concise(report: &Report, in_colour: bool) -> String {
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
    let calls = finding.called_as().map(|calls| format!(" (called as {calls})")).unwrap_or_default();
    format!("{strong}{file}{strong:#}:{line}:{column}: {colour}{severity}{colour:#} {rule} {subject}: {message}{calls}")
}

fn colour(severity: Severity) -> Style {
    let colour = severity.pick([AnsiColor::BrightRed, AnsiColor::Yellow, AnsiColor::BrightBlue]);
    Style::new().effects(Effects::BOLD).fg_color(Some(colour.into()))
}
