//! Fast access to the lines of a text.

use audit_read::document::Position;

/// A text, and the first bytes of its lines.
pub(super) struct Lines<'t> {
    pub(super) text: &'t str,
    starts: Vec<usize>,
}

impl<'t> Lines<'t> {
    pub(super) fn of(text: &'t str) -> Self {
        let after_newlines = text.match_indices('\n').map(|(newline, _)| newline + 1);
        Self { text, starts: std::iter::once(0).chain(after_newlines).collect() }
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
        let before = self.text.get(self.start_of(line)..byte).unwrap_or_default();
        // A byte order mark is not part of the first line.
        Position { line: line + 1, column: before.trim_start_matches('\u{feff}').chars().count() + 1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_positions_are_those_of_the_text() {
        for text in ["ab\r\nçd\n", "\u{feff}ab\r\nçd\n"] {
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
