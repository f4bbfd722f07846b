//! The lines of a file that a finding concerns, cut to a readable width and without secrets.

use std::{collections::BTreeMap, ops::Range};

use super::secrets::Secrets;
use document::{Position, Span};

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
    pub(super) fn of(lines: &Lines<'_>, secrets: &Secrets, main: Span, notes: &[Span]) -> Self {
        let pointed: Vec<Span> = std::iter::once(main).chain(notes.iter().copied()).collect();
        let main = shortened(lines, main);
        let home = lines.line_of(main.start);
        let notes: Vec<Option<Range<usize>>> = notes
            .iter()
            .map(|note| {
                Some(shortened(lines, *note))
                    .filter(|note| lines.line_of(note.start).abs_diff(home) <= MAX_NOTE_DISTANCE)
            })
            .collect();
        // By line: the column around which it is cut.
        let mut wanted: BTreeMap<usize, usize> = BTreeMap::new();
        for part in std::iter::once(&main).chain(notes.iter().flatten()) {
            for line in lines.line_of(part.start)..=lines.line_of(part.end) {
                wanted.entry(line).or_insert_with(|| part.start.max(lines.start_of(line)));
            }
        }
        let cover = |piece: &str, starts_at| secrets.cover(piece, starts_at, &pointed);
        Self::cut(lines, &cover, &wanted, &main, &notes)
    }

    fn cut(
        lines: &Lines<'_>,
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
                let focus = wanted.get(&line).copied().unwrap_or_else(|| lines.start_of(line));
                let window = window(lines, line, focus);
                let line_span = lines.start_of(line)..lines.start_of(line) + lines.line(line).len();
                text.push_str(if window.start > line_span.start { "…" } else { "" });
                pieces.push((window.clone(), text.len()));
                let piece = lines.text.get(window.clone()).unwrap_or_default();
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
fn shortened(lines: &Lines<'_>, span: Span) -> Range<usize> {
    let start = lines.text.floor_char_boundary(span.start);
    let end = lines.text.floor_char_boundary(span.end).max(start);
    let line = lines.line_of(start);
    let part = lines.text.get(start..end).unwrap_or_default();
    let end = start + part.trim_end().len();
    if lines.line_of(end) < line + MAX_MARKED_LINES {
        return start..end;
    }
    start..(lines.start_of(line) + lines.line(line).trim_end().len()).max(start)
}

/// The part of a line that is shown.
fn window(lines: &Lines<'_>, line: usize, focus: usize) -> Range<usize> {
    let start = lines.start_of(line);
    let end = start + lines.line(line).len();
    if end - start <= MAX_LINE_WIDTH {
        return start..end;
    }
    let from = if focus - start <= SHOWN_BEFORE { start } else { lines.text.floor_char_boundary(focus - SHOWN_BEFORE) };
    let to = lines.text.floor_char_boundary((focus + SHOWN_AFTER).min(end));
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

/// The bytes between two places to which the characters are counted: Terraform writes a plan as one line.
const COUNTED: usize = 1024;

/// A text, and where its lines begin.
pub(super) struct Lines<'t> {
    pub(super) text: &'t str,
    /// The first bytes of the lines.
    starts: Vec<usize>,
    /// The characters before each of the counted places.
    characters: Vec<usize>,
}

impl<'t> Lines<'t> {
    pub(super) fn of(text: &'t str) -> Self {
        let after_newlines = text.match_indices('\n').map(|(newline, _)| newline + 1);
        let starts = std::iter::once(0).chain(after_newlines).collect();
        let counted = text.as_bytes().chunks(COUNTED).scan(0, |before, part| {
            *before += characters(part);
            Some(*before)
        });
        Self { text, starts, characters: std::iter::once(0).chain(counted).collect() }
    }

    /// The index of the line of a byte, counted from 0.
    pub(super) fn line_of(&self, byte: usize) -> usize {
        self.starts.partition_point(|start| *start <= byte).saturating_sub(1)
    }

    /// The first byte of a line, counted from 0.
    pub(super) fn start_of(&self, line: usize) -> usize {
        self.starts.get(line).copied().unwrap_or(self.text.len())
    }

    /// A line without its line end.
    pub(super) fn line(&self, line: usize) -> &'t str {
        let whole = self.text.get(self.start_of(line)..self.start_of(line + 1)).unwrap_or_default();
        whole.trim_end_matches(['\n', '\r'])
    }

    /// Line and column of a byte.
    pub(super) fn position(&self, byte: usize) -> Position {
        let byte = self.text.floor_char_boundary(byte);
        let line = self.line_of(byte);
        Position {
            line: line + 1,
            column: self.characters_before(byte) - self.characters_before(self.start_of(line)) + 1,
        }
    }

    /// The number of characters before a byte, without a byte order mark.
    fn characters_before(&self, byte: usize) -> usize {
        let part = byte / COUNTED;
        let rest = self.text.as_bytes().get(part * COUNTED..byte).unwrap_or_default();
        let mark = usize::from(byte > 0 && self.text.starts_with('\u{feff}'));
        self.characters.get(part).copied().unwrap_or_default() + characters(rest) - mark
    }
}

/// The number of characters that begin in a part of a text.
fn characters(part: &[u8]) -> usize {
    part.iter().filter(|byte| **byte & 0b1100_0000 != 0b1000_0000).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_positions_are_those_of_the_text() {
        let long = "çd\n".to_owned() + &"ç".repeat(COUNTED);
        for text in ["ab\r\nçd\n", "\u{feff}ab\r\nçd\n", &long] {
            let lines = Lines::of(text);
            for byte in 0..=text.len() + 3 {
                let byte_in_text = text.floor_char_boundary(byte);
                assert_eq!(lines.position(byte), Position::of(text, byte_in_text), "{byte}");
            }
        }
        let lines = Lines::of("ab\r\nçd\n");
        assert_eq!((lines.line(0), lines.line(1), lines.line(2), lines.line(9)), ("ab", "çd", "", ""));
    }
}
