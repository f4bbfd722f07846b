//! One HTML page without scripts and external resources.

use std::ops::Range;

use askama::Template;

use super::{
    excerpt::Excerpt,
    inline::pieces,
    model::{Definition, Report, Reported},
    summary::counted,
};
use crate::{finding::Severity, timeline};

#[derive(Template)]
#[template(path = "report.html")]
struct Page<'r> {
    report: &'r Report,
    summary: String,
    groups: Vec<Group<'r>>,
    clean: Vec<Group<'r>>,
    timeline_style: &'static str,
}

/// A definition or resource and its findings.
struct Group<'r> {
    label: &'r str,
    file: &'r str,
    definition: Option<&'r Definition>,
    findings: Vec<&'r Reported>,
    picture: String,
}

/// A line of an excerpt: its number, and pieces of text of which some are marked.
struct Line {
    number: usize,
    pieces: Vec<(bool, String)>,
}

pub(super) fn render(report: &Report) -> Result<String, askama::Error> {
    let (groups, clean) = groups(report).into_iter().partition(|group| !group.findings.is_empty());
    let page = Page { report, summary: report.summary(), groups, clean, timeline_style: timeline::STYLE };
    page.render()
}

fn groups(report: &Report) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    let mut index = std::collections::BTreeMap::new();
    for definition in &report.definitions {
        index.entry((definition.file.as_str(), definition.label.as_str())).or_insert(groups.len());
        groups.push(Group {
            label: &definition.label,
            file: &definition.file,
            definition: Some(definition),
            findings: Vec::new(),
            picture: definition.timeline.inline_svg(),
        });
    }
    for finding in &report.findings {
        let (file, label) = (finding.file.as_str(), finding.subject.as_str());
        let at = *index.entry((file, label)).or_insert_with(|| {
            groups.push(Group { label, file, definition: None, findings: Vec::new(), picture: String::new() });
            groups.len() - 1
        });
        if let Some(group) = groups.get_mut(at) {
            group.findings.push(finding);
        }
    }
    for group in &mut groups {
        group.findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    }
    groups
}

impl Group<'_> {
    fn worst(&self) -> Option<Severity> {
        self.findings.iter().map(|finding| finding.severity).max()
    }

    fn has(&self, severity: &str) -> bool {
        self.findings.iter().any(|finding| finding.severity.as_str() == severity)
    }
}

impl Page<'_> {
    fn counts(&self) -> [(&'static str, String, usize); 3] {
        let counts = self.report.counts;
        [("error", counts.errors), ("warning", counts.warnings), ("info", counts.infos)]
            .map(|(severity, number)| (severity, counted(number, severity), number))
    }
}

impl Excerpt {
    /// The lines with a marked part, without their common indentation.
    fn lines(&self) -> Vec<Line> {
        let blank = |text: &str| text.len() - text.trim_start().len();
        let shown: Vec<(usize, Range<usize>, &str)> = self.shown().collect();
        let indentation = shown.iter().map(|(_, _, text)| blank(text)).min().unwrap_or_default();
        let line = |(number, span, text): (usize, Range<usize>, &str)| {
            let within = |byte: usize| text.floor_char_boundary(byte.clamp(span.start, span.end) - span.start);
            let (from, to) = if touches(&self.main, &span) {
                (within(self.main.start).max(blank(text)), within(self.main.end).max(blank(text)))
            } else {
                (text.len(), text.len())
            };
            let pieces = [(false, indentation..from), (true, from..to), (false, to..text.len())];
            let pieces =
                pieces.into_iter().map(|(marked, range)| (marked, text.get(range).unwrap_or_default().to_owned()));
            Line { number, pieces: pieces.filter(|(_, text)| !text.is_empty()).collect() }
        };
        shown.into_iter().map(line).collect()
    }

    /// Number, bytes and text of the lines with a marked part.
    fn shown(&self) -> impl Iterator<Item = (usize, Range<usize>, &str)> {
        let mut at = 0;
        self.text.split('\n').enumerate().filter_map(move |(index, text)| {
            let span = at..at + text.len();
            at = span.end + 1;
            let is_marked =
                std::iter::once(&self.main).chain(self.notes.iter().flatten()).any(|part| touches(part, &span));
            is_marked.then_some((self.first_line + index, span, text))
        })
    }
}

fn touches(part: &Range<usize>, line: &Range<usize>) -> bool {
    part.start <= line.end && part.end >= line.start
}
