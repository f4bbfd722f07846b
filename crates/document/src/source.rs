//! A text and its name, and where its lines and characters are.

use std::sync::OnceLock;

use crate::span::Position;

/// A text and its name.
#[derive(Debug, Clone, Default)]
pub struct SourceFile {
    /// Its path as the user gave it, `<stdin>`, or the ARN of a task definition.
    pub name: String,
    pub text: String,
    /// Made when a line or a position is first asked for. Later questions do not read the whole text.
    index: OnceLock<Index>,
}

/// Where the lines of a text begin, and how many characters are before some places.
#[derive(Debug, Clone)]
struct Index {
    /// The first bytes of the lines.
    line_starts: Vec<usize>,
    /// What is before every byte that is a multiple of `COUNTED`.
    counts: Vec<Count>,
}

/// The bytes between two places to which characters are counted: Terraform writes a plan as one line.
const COUNTED: usize = 1024;

/// The number of characters in a part of a text, and of the units of UTF-16 that they take.
#[derive(Debug, Clone, Copy, Default)]
struct Count {
    characters: usize,
    units: usize,
}

impl Count {
    fn of(part: &[u8]) -> Self {
        let characters = part.iter().filter(|byte| is_first(**byte)).count();
        // A character of four bytes takes two units.
        Self { characters, units: characters + part.iter().filter(|byte| **byte >= 0b1111_0000).count() }
    }

    fn plus(self, other: Self) -> Self {
        Self { characters: self.characters + other.characters, units: self.units + other.units }
    }
}

/// Whether a character begins with this byte.
fn is_first(byte: u8) -> bool {
    byte & 0b1100_0000 != 0b1000_0000
}

/// Not visible, and not counted.
const BYTE_ORDER_MARK: char = '\u{feff}';

impl PartialEq for SourceFile {
    fn eq(&self, other: &Self) -> bool {
        (&self.name, &self.text) == (&other.name, &other.text)
    }
}

impl Eq for SourceFile {}

impl SourceFile {
    /// A text called `name`.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self { name: name.into(), text: text.into(), index: OnceLock::new() }
    }

    fn index(&self) -> &Index {
        self.index.get_or_init(|| {
            let after_newlines = self.text.match_indices('\n').map(|(newline, _)| newline + 1);
            let counts = self.text.as_bytes().chunks(COUNTED).scan(Count::default(), |before, part| {
                *before = before.plus(Count::of(part));
                Some(*before)
            });
            Index {
                line_starts: std::iter::once(0).chain(after_newlines).collect(),
                counts: std::iter::once(Count::default()).chain(counts).collect(),
            }
        })
    }

    /// The line of a byte, counted from 0.
    pub fn line_of(&self, byte: usize) -> usize {
        self.index().line_starts.partition_point(|start| *start <= byte).saturating_sub(1)
    }

    /// The first byte of a line, counted from 0.
    pub fn start_of(&self, line: usize) -> usize {
        self.index().line_starts.get(line).copied().unwrap_or(self.text.len())
    }

    /// A line, counted from 0, without its line end.
    pub fn text_of_line(&self, line: usize) -> &str {
        let whole = self.text.get(self.start_of(line)..self.start_of(line + 1)).unwrap_or_default();
        whole.trim_end_matches(['\n', '\r'])
    }

    /// The line and column of a byte.
    pub fn position(&self, byte: usize) -> Position {
        let (line, Count { characters, .. }) = self.place(byte);
        Position { line: line + 1, column: characters + 1 }
    }

    /// The line of a byte, and the units of UTF-16 before it in the line, both counted from 0: a position in editors.
    pub fn position_in_utf16(&self, byte: usize) -> (usize, usize) {
        let (line, Count { units, .. }) = self.place(byte);
        (line, units)
    }

    /// The byte at a line and column; the end of the line or text if it is shorter.
    pub fn byte_at(&self, Position { line, column }: Position) -> usize {
        let line = line.saturating_sub(1);
        let (start, end) = (self.start_of(line), self.start_of(line) + self.text_of_line(line).len());
        let mark = usize::from(start == 0 && self.has_mark());
        let wanted = self.count_up_to(start).characters + mark + column.saturating_sub(1);
        let part = self.index().counts.partition_point(|count| count.characters <= wanted).saturating_sub(1);
        let before = self.index().counts.get(part).map_or(0, |count| count.characters);
        let bytes = self.text.as_bytes().get(part * COUNTED..end).unwrap_or_default();
        let mut firsts = bytes.iter().enumerate().filter(|(_, byte)| is_first(**byte));
        firsts.nth(wanted - before).map_or(end, |(at, _)| part * COUNTED + at)
    }

    /// The line of a byte, counted from 0, and what is before it in the line.
    fn place(&self, byte: usize) -> (usize, Count) {
        let byte = self.text.floor_char_boundary(byte);
        let line = self.line_of(byte);
        let start = self.start_of(line);
        let (before, all) = (self.count_up_to(start), self.count_up_to(byte));
        // A byte order mark begins the text, and takes one unit.
        let mark = usize::from(start == 0 && byte > 0 && self.has_mark());
        let (characters, units) = (all.characters - before.characters - mark, all.units - before.units - mark);
        (line, Count { characters, units })
    }

    fn has_mark(&self) -> bool {
        self.text.starts_with(BYTE_ORDER_MARK)
    }

    fn count_up_to(&self, byte: usize) -> Count {
        let part = byte / COUNTED;
        let rest = self.text.as_bytes().get(part * COUNTED..byte).unwrap_or_default();
        self.index().counts.get(part).copied().unwrap_or_default().plus(Count::of(rest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_those_of_the_text() {
        let long = "çd\n".to_owned() + &"ç🚀".repeat(COUNTED);
        for text in ["", "a", "ab\r\nçd\n", "\u{feff}ab\r\nçd\n", "a\nü🚀b\r\nc", &long] {
            let file = SourceFile::new("a.json", text);
            for byte in 0..=text.len() + 3 {
                let byte_in_text = text.floor_char_boundary(byte);
                let position = file.position(byte);
                assert_eq!(position, Position::of(text, byte_in_text), "{byte} of {text:?}");
                let line =
                    text.get(..byte_in_text).unwrap().rsplit('\n').next().unwrap().trim_start_matches('\u{feff}');
                assert_eq!(file.position_in_utf16(byte), (position.line - 1, line.encode_utf16().count()), "{byte}");
            }
            for (byte, character) in text.char_indices().filter(|(_, c)| !['\u{feff}', '\r', '\n'].contains(c)) {
                assert_eq!(file.byte_at(file.position(byte)), byte, "{character}");
            }
        }
    }

    /// Takes hours if every position reads the text from its beginning, or its line.
    #[test]
    fn many_positions_of_one_line_read_it_once() {
        let file = SourceFile::new("plan.json", "ü".repeat(4_000_000));
        for character in (0..4_000_000).step_by(20) {
            let position = Position { line: 1, column: character + 1 };
            assert_eq!(file.position(2 * character), position);
            assert_eq!(file.position_in_utf16(2 * character), (0, character));
            assert_eq!(file.byte_at(position), 2 * character);
        }
    }

    #[test]
    fn lines_have_no_line_ends() {
        let file = SourceFile::new("a.json", "ab\r\nçd\n");
        assert_eq!(
            (file.text_of_line(0), file.text_of_line(1), file.text_of_line(2), file.text_of_line(9)),
            ("ab", "çd", "", "")
        );
    }

    #[test]
    fn a_position_outside_of_the_text_is_the_end_of_the_line_or_text() {
        let file = SourceFile::new("a.json", "\u{feff}ab\r\nç");
        for (line, column, byte) in [(1, 1, 3), (1, 9, 5), (2, 1, 7), (2, 2, 9), (7, 9, 9)] {
            assert_eq!(file.byte_at(Position { line, column }), byte, "{line}:{column}");
        }
    }
}
