//! One HTML page without scripts and external resources.

use std::{collections::BTreeSet, ops::Range};

use askama::Template;

use super::{
    Excerpt,
    model::{Definition, Report, Reported, counted},
};
use crate::{severity::Severity, timeline};

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

/// A line of an excerpt: its number, and pieces of text, some of them marked.
struct Line {
    number: usize,
    pieces: Vec<(bool, String)>,
}

pub(super) fn render(report: &Report) -> Result<String, askama::Error> {
    let clean: BTreeSet<(&str, &str)> = report.clean_definitions().map(Definition::group).collect();
    let (groups, mut others): (_, Vec<_>) = groups(report).into_iter().partition(|group| !group.findings.is_empty());
    // A definition that only repeats the mistakes of another one is not shown on its own.
    others.retain(|group| clean.contains(&(group.file, group.label)));
    let page = Page { report, summary: report.summary(), groups, clean: others, timeline_style: timeline::STYLE };
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

/// The inline markup of the rules' explanations, which are Markdown, and its elements in HTML.
const MARKS: [(&str, &str); 3] = [("`", "code"), ("**", "strong"), ("*", "em")];

/// A piece of an explanation, without its marks.
#[derive(Debug, PartialEq, Eq)]
struct Piece<'t> {
    /// The element in HTML; none of ordinary text.
    element: Option<&'static str>,
    text: &'t str,
}

/// The pieces of an explanation.
fn pieces(mut markdown: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    while let Some((before, marked, after)) = first_marked(markdown) {
        pieces.extend([Piece { element: None, text: before }, marked]);
        markdown = after;
    }
    pieces.push(Piece { element: None, text: markdown });
    pieces
}

/// A text of a rule's page without its marks.
pub fn plain(markdown: &str) -> String {
    pieces(markdown).iter().map(|piece| piece.text).collect()
}

fn first_marked(markdown: &str) -> Option<(&str, Piece<'_>, &str)> {
    let (before, marked) = markdown.split_at(markdown.find(['`', '*'])?);
    MARKS.iter().find_map(|&(mark, element)| {
        let (text, after) = marked.strip_prefix(mark)?.split_once(mark)?;
        Some((before, Piece { element: Some(element), text }, after))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::rules;

    #[test]
    fn marks_become_elements() {
        let found = pieces("the *task* role of `a * b`, **not** it");
        let found: Vec<(Option<&str>, &str)> = found.iter().map(|piece| (piece.element, piece.text)).collect();
        let expected = [
            (None, "the "),
            (Some("em"), "task"),
            (None, " role of "),
            (Some("code"), "a * b"),
            (None, ", "),
            (Some("strong"), "not"),
            (None, " it"),
        ];
        assert_eq!(found, expected);
        assert_eq!(plain("the *task* role of `a * b`, **not** it"), "the task role of a * b, not it");
    }

    #[test]
    fn no_explanation_has_other_markup() {
        for rule in rules() {
            for piece in pieces(rule.texts().explanation).iter().filter(|piece| piece.element.is_none()) {
                let markup = ["`", "*", "](", "__", "<", "\n#", "\n|", "\n>"];
                assert!(!markup.iter().any(|mark| piece.text.contains(mark)), "{}: {}", rule.id, piece.text);
            }
        }
    }
}
