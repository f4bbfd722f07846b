//! Positions as editors count them, and the edits between two texts.

use document::SourceFile;
use gen_lsp_types::{Position, Range, TextEdit};
use similar::{DiffTag, TextDiff};

/// The position of a byte: lines from 0, and in the line the units of UTF-16, which every editor understands.
pub(super) fn position(file: &SourceFile, byte: usize) -> Position {
    let (line, character) = file.position_in_utf16(byte);
    Position { line: number(line), character: number(character) }
}

/// The range between two bytes.
pub(super) fn range(file: &SourceFile, start: usize, end: usize) -> Range {
    Range { start: position(file, start), end: position(file, end) }
}

/// Whether a range contains a position, or is empty and begins there.
pub(super) fn contains(range: &Range, position: Position) -> bool {
    range.start <= position && position <= range.end
}

/// Whether two ranges touch.
pub(super) fn touch(one: &Range, other: &Range) -> bool {
    one.start <= other.end && other.start <= one.end
}

/// The edits that make one text the other, line by line, so that the rest keeps its marks and folds.
pub(super) fn edits(before: &str, after: &str) -> Vec<TextEdit> {
    let lines: Vec<&str> = before.split_inclusive('\n').collect();
    let new: Vec<&str> = after.split_inclusive('\n').collect();
    let start_of = |line: usize| match lines.get(line) {
        Some(_) => Position { line: number(line), character: 0 },
        None => position(&SourceFile::new("", before), before.len()),
    };
    let diff = TextDiff::from_slices(&lines, &new);
    let changed = diff.ops().iter().filter(|operation| operation.tag() != DiffTag::Equal);
    changed
        .map(|operation| TextEdit {
            range: Range { start: start_of(operation.old_range().start), end: start_of(operation.old_range().end) },
            new_text: new.get(operation.new_range()).unwrap_or_default().concat(),
        })
        .collect()
}

/// Texts of more than four thousand million lines are not read.
fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(line: u32, character: u32) -> Position {
        Position { line, character }
    }

    #[test]
    fn a_position_counts_units_of_utf_16() {
        let text = "a\nü🚀b\r\nc";
        let file = SourceFile::new("a.json", text);
        for (part, expected) in [("a", at(0, 0)), ("ü", at(1, 0)), ("🚀", at(1, 1)), ("b", at(1, 3)), ("c", at(2, 0))]
        {
            assert_eq!(position(&file, text.find(part).unwrap()), expected, "{part}");
        }
        assert_eq!(position(&file, text.len()), at(2, 1));
        // Within a character, and behind the end.
        assert_eq!(position(&file, 5), at(1, 1));
        assert_eq!(position(&file, 99), at(2, 1));
    }

    /// The text after edits, which are made from the end.
    fn edited(before: &str, edits: &[TextEdit]) -> String {
        let byte = |position: Position| {
            let line: usize = before.split_inclusive('\n').take(position.line as usize).map(str::len).sum();
            line + before
                .get(line..)
                .unwrap()
                .chars()
                .map(char::len_utf8)
                .take(position.character as usize)
                .sum::<usize>()
        };
        edits.iter().rev().fold(before.to_owned(), |text, edit| {
            let (start, end) = (byte(edit.range.start), byte(edit.range.end));
            [text.get(..start).unwrap(), &edit.new_text, text.get(end..).unwrap()].concat()
        })
    }

    #[test]
    fn edits_change_lines_only() {
        for (before, after) in [
            ("a\nb\nc\nd\n", "a\nB\nc\nd\ne\n"),
            ("a\nü", "a\nü\nc"),
            ("a\r\nb\r\n", "a\r\nc\r\nb\r\n"),
            ("", "a\n"),
            ("a", ""),
            ("a\nb", "b"),
        ] {
            assert_eq!(edited(before, &edits(before, after)), after, "{before:?} {after:?}");
        }
        let edits = edits("a\nb\nc\nd\n", "a\nB\nc\nd\ne\n");
        let ranges: Vec<Range> = edits.iter().map(|edit| edit.range).collect();
        assert_eq!(ranges, [Range { start: at(1, 0), end: at(2, 0) }, Range { start: at(4, 0), end: at(4, 0) }]);
    }
}
