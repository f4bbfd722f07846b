//! The lines of a file that a finding concerns, cut to a readable width and without secrets.

use std::{collections::BTreeMap, ops::Range};

use super::secrets::Secrets;
use document::{SourceFile, Span};

/// Longer lines are cut around the marked part.
const MAX_LINE_WIDTH: usize = 120;
/// The characters of a cut line before the marked part, and after its beginning.
const SHOWN_BEFORE: usize = 30;
const SHOWN_AFTER: usize = 80;
/// Of a marked part with more lines, only the first line is marked.
const MAX_MARKED_LINES: usize = 6;
/// Lines that are further away are not shown with their notes.
const MAX_NOTE_DISTANCE: usize = 200;

/// An excerpt of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Excerpt {
    /// The number of its first line.
    pub first_line: usize,
    /// The lines. Those without a marked part are empty.
    pub text: String,
    /// The marked part: the defect.
    pub main: Range<usize>,
    /// The marked part of each note, if it is near enough to be shown.
    pub notes: Vec<Option<Range<usize>>>,
}

impl Excerpt {
    /// The lines around `main` and `notes`.
    pub(super) fn of(file: &SourceFile, secrets: &Secrets, main: Span, notes: &[Span]) -> Self {
        let pointed: Vec<Span> = std::iter::once(main).chain(notes.iter().copied()).collect();
        let main = shortened(file, main);
        let home = file.line_of(main.start);
        let notes: Vec<Option<Range<usize>>> = notes
            .iter()
            .map(|note| {
                Some(shortened(file, *note)).filter(|note| file.line_of(note.start).abs_diff(home) <= MAX_NOTE_DISTANCE)
            })
            .collect();
        // By line: the column around which it is cut.
        let mut wanted: BTreeMap<usize, usize> = BTreeMap::new();
        for part in std::iter::once(&main).chain(notes.iter().flatten()) {
            for line in file.line_of(part.start)..=file.line_of(part.end) {
                wanted.entry(line).or_insert_with(|| part.start.max(file.start_of(line)));
            }
        }
        let cover = |piece: &str, starts_at| secrets.cover(piece, starts_at, &pointed);
        Self::cut(file, &cover, &wanted, &main, &notes)
    }

    fn cut(
        file: &SourceFile,
        cover: &dyn Fn(&str, usize) -> String,
        wanted: &BTreeMap<usize, usize>,
        main: &Range<usize>,
        notes: &[Option<Range<usize>>],
    ) -> Self {
        let first = wanted.keys().next().copied().unwrap_or_default();
        let last = wanted.keys().next_back().copied().unwrap_or_default();
        let mut text = String::new();
        let mut pieces = Vec::new();
        for line in first..=last {
            let is_near = (line.saturating_sub(1)..=line + 1).any(|near| wanted.contains_key(&near));
            if is_near {
                let focus = wanted.get(&line).copied().unwrap_or_else(|| file.start_of(line));
                let window = window(file, line, focus);
                let line_span = file.start_of(line)..file.start_of(line) + file.text_of_line(line).len();
                text.push_str(if window.start > line_span.start { "…" } else { "" });
                pieces.push((window.clone(), text.len()));
                let piece = file.text.get(window.clone()).unwrap_or_default();
                text.push_str(&cover(piece, window.start));
                text.push_str(if window.end < line_span.end { "…" } else { "" });
            }
            if line < last {
                text.push('\n');
            }
        }
        let place = |part: &Range<usize>| placed(&pieces, part);
        Self {
            first_line: first + 1,
            main: place(main).unwrap_or_default(),
            notes: notes.iter().map(|note| note.as_ref().and_then(place)).collect(),
            text,
        }
    }
}

/// The part to mark: all of it, or the first line of a long one.
fn shortened(file: &SourceFile, span: Span) -> Range<usize> {
    let start = file.text.floor_char_boundary(span.start);
    let end = file.text.floor_char_boundary(span.end).max(start);
    let line = file.line_of(start);
    let part = file.text.get(start..end).unwrap_or_default();
    let end = start + part.trim_end().len();
    if file.line_of(end) < line + MAX_MARKED_LINES {
        return start..end;
    }
    start..(file.start_of(line) + file.text_of_line(line).trim_end().len()).max(start)
}

/// The part of a line that is shown.
fn window(file: &SourceFile, line: usize, focus: usize) -> Range<usize> {
    let start = file.start_of(line);
    let end = start + file.text_of_line(line).len();
    if end - start <= MAX_LINE_WIDTH {
        return start..end;
    }
    let from = if focus - start <= SHOWN_BEFORE { start } else { file.text.floor_char_boundary(focus - SHOWN_BEFORE) };
    let to = file.text.floor_char_boundary((focus + SHOWN_AFTER).min(end));
    from..to
}

/// The position in the excerpt of what it shows of a part of the file.
fn placed(pieces: &[(Range<usize>, usize)], part: &Range<usize>) -> Option<Range<usize>> {
    let of_piece = |(window, at): &(Range<usize>, usize)| {
        let from = part.start.max(window.start);
        let to = part.end.min(window.end);
        (from <= to && part.start <= window.end && part.end >= window.start)
            .then(|| at + (from - window.start)..at + (to - window.start))
    };
    let shown: Vec<Range<usize>> = pieces.iter().filter_map(of_piece).collect();
    let start = shown.first()?.start;
    shown.last().map(|last| start..last.end.max(start))
}
