//! One page that needs nothing else: no script, no network.

use askama::Template;

use super::{Definition, Report, Reported, excerpt::Excerpt, page, summary::counted};
use crate::audit::{finding::Severity, rule::Rule, timeline};

#[derive(Template)]
#[template(path = "report.html")]
struct Page<'r> {
    report: &'r Report,
    summary: String,
    groups: Vec<Group<'r>>,
    clean: Vec<Group<'r>>,
    timeline_style: &'static str,
}

/// A definition, or a resource, and what was found about it.
struct Group<'r> {
    label: &'r str,
    file: &'r str,
    definition: Option<&'r Definition>,
    findings: Vec<&'r Reported>,
    picture: String,
}

/// A line of an excerpt: number, and pieces of text of which some are marked.
struct Line {
    number: usize,
    pieces: Vec<(bool, String)>,
}

pub(super) fn render(report: &Report) -> Result<String, String> {
    let (groups, clean) = groups(report).into_iter().partition(|group| !group.findings.is_empty());
    let page = Page { report, summary: report.summary(), groups, clean, timeline_style: timeline::STYLE };
    page.render().map_err(|error| error.to_string())
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
    fn page_of(&self, rule: &Rule) -> String {
        page(rule)
    }

    fn counts(&self) -> [(&'static str, String, usize); 3] {
        let counts = self.report.counts;
        [("error", counts.errors), ("warning", counts.warnings), ("info", counts.infos)]
            .map(|(severity, number)| (severity, counted(number, severity), number))
    }
}

impl Excerpt {
    /// The excerpt's lines that matter, with the offending part marked.
    fn lines(&self) -> Vec<Line> {
        let mut at = 0;
        let mut lines = Vec::new();
        for (index, text) in self.text.split('\n').enumerate() {
            let span = at..at + text.len();
            at = span.end + 1;
            let touches = |part: &std::ops::Range<usize>| part.start <= span.end && part.end >= span.start;
            if !touches(&self.main) && !self.notes.iter().flatten().any(touches) {
                continue;
            }
            let blank = text.len() - text.trim_start().len();
            let within = |byte: usize| text.floor_char_boundary(byte.clamp(span.start, span.end) - span.start);
            let (from, to) = if touches(&self.main) {
                (within(self.main.start).max(blank), within(self.main.end).max(blank))
            } else {
                (text.len(), text.len())
            };
            let piece =
                |is_marked, range: std::ops::Range<usize>| (is_marked, text.get(range).unwrap_or_default().to_owned());
            let pieces = vec![piece(false, 0..from), piece(true, from..to), piece(false, to..text.len())];
            let pieces = pieces.into_iter().filter(|(_, text)| !text.is_empty()).collect();
            lines.push(Line { number: self.first_line + index, pieces });
        }
        lines
    }
}
