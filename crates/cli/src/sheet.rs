//! Rows for people: a table where the terminal is wide enough, else a paragraph for each row.

pub(super) use audit::report::Medium;
use comfy_table::{Attribute, Cell as TableCell, Color, ContentArrangement, Table, presets::NOTHING};
use jiff::Timestamp;
use mesh::time::elapsed;

/// The narrowest last column of a table: sentences stand in it.
const LAST_COLUMN: usize = 36;
/// The blanks around the text of a cell.
const PADDING: usize = 2;
/// The characters of a cell that are shown: more than a sentence has. To lay out a text takes longer than to read it.
const LONGEST: usize = 4_000;
/// The text of a cell without content.
pub(super) const NOTHING_TO_SAY: &str = "–";
/// What a paragraph's lines begin with, except the first.
const INDENT: &str = "  ";
const INDENT_WIDTH: u16 = 2;

/// What a text means, shown as its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tone {
    Plain,
    Good,
    Bad,
    Pending,
    Strong,
    Faint,
}

/// A text, and what it means.
#[derive(Debug, Clone)]
pub(super) struct Cell {
    text: String,
    tone: Tone,
}

impl Cell {
    pub(super) fn new(text: impl Into<String>, tone: Tone) -> Self {
        let text: String = text.into();
        let is_cut = text.char_indices().nth(LONGEST).is_some();
        // What other programs have written may hold sequences that a terminal would obey.
        let shown = text.chars().take(LONGEST).map(|c| if c.is_control() { ' ' } else { c });
        Self { text: shown.chain(is_cut.then_some('…')).collect(), tone }
    }

    pub(super) fn plain(text: impl Into<String>) -> Self {
        Self::new(text, Tone::Plain)
    }

    fn for_table(&self) -> TableCell {
        let cell = TableCell::new(&self.text);
        match self.tone {
            Tone::Plain => cell,
            Tone::Good => cell.fg(Color::Green),
            Tone::Bad => cell.fg(Color::Red),
            Tone::Pending => cell.fg(Color::Yellow),
            Tone::Strong => cell.add_attribute(Attribute::Bold),
            Tone::Faint => cell.add_attribute(Attribute::Dim),
        }
    }
}

/// Rows with a cell for each column; the last column has sentences.
#[derive(Debug)]
pub(super) struct Sheet {
    columns: Vec<&'static str>,
    rows: Vec<Vec<Cell>>,
}

impl Sheet {
    pub(super) fn new(columns: &[&'static str]) -> Self {
        Self { columns: columns.to_vec(), rows: Vec::new() }
    }

    pub(super) fn add(&mut self, row: Vec<Cell>) {
        self.rows.push(row);
    }

    /// The text, with a line break at its end.
    pub(super) fn text(&self, medium: Medium) -> String {
        match medium.width {
            Some(width) if self.needed() > usize::from(width) => self.paragraphs(medium),
            _ => self.table(medium),
        }
    }

    /// The width that a table needs.
    fn needed(&self) -> usize {
        let widths = self.columns.iter().enumerate().map(|(index, name)| {
            let cells = self.rows.iter().filter_map(|row| row.get(index)).map(|cell| cell.text.chars().count());
            cells.chain([name.len()]).max().unwrap_or_default()
        });
        let mut widths: Vec<usize> = widths.collect();
        if let Some(last) = widths.last_mut() {
            *last = (*last).min(LAST_COLUMN);
        }
        widths.iter().map(|width| width + PADDING).sum()
    }

    fn table(&self, medium: Medium) -> String {
        let mut table = empty(medium);
        table.set_header(self.columns.iter().map(|name| Cell::new(*name, Tone::Faint).for_table()));
        for row in &self.rows {
            table.add_row(row.iter().map(Cell::for_table));
        }
        lines(&table)
    }

    /// For each row its first cell, below it its sentence, and below that the other cells with their names.
    fn paragraphs(&self, medium: Medium) -> String {
        let inner = Medium { width: medium.width.map(|width| width.saturating_sub(INDENT_WIDTH)), ..medium };
        let paragraphs = self.rows.iter().map(|row| {
            let [title, others @ .., sentence] = row.as_slice() else { return String::new() };
            let names = self.columns.iter().skip(1).zip(others).filter(|(_, cell)| cell.text != NOTHING_TO_SAY);
            let others: Vec<String> = names.map(|(name, cell)| format!("{name} {}", cell.text)).collect();
            let below = wrapped(sentence, inner) + &wrapped(&Cell::new(others.join(", "), Tone::Faint), inner);
            let below: String = below.lines().flat_map(|line| [INDENT, line, "\n"]).collect();
            wrapped(title, medium) + &below
        });
        paragraphs.collect::<Vec<String>>().join("\n")
    }
}

/// A text that fits the width, with a line break at its end; none for an empty text.
pub(super) fn wrapped(cell: &Cell, medium: Medium) -> String {
    if cell.text.is_empty() {
        return String::new();
    }
    let mut table = empty(medium);
    table.add_row([cell.for_table()]);
    lines(&table)
}

fn empty(medium: Medium) -> Table {
    let mut table = Table::new();
    table.load_style(NOTHING).force_no_tty();
    if medium.in_colour {
        table.enforce_styling();
        table.style_text_only();
    }
    match medium.width {
        Some(width) => table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width),
        None => table.set_content_arrangement(ContentArrangement::Disabled),
    };
    table
}

/// The lines of a table, without the blank that each begins with.
fn lines(table: &Table) -> String {
    let text = table.trim_fmt();
    text.lines().flat_map(|line| [line.strip_prefix(' ').unwrap_or(line), "\n"]).collect()
}

/// How long ago something was: `5 min ago`.
pub(super) fn ago(at: Timestamp, now: Timestamp) -> String {
    let seconds = elapsed(at, now).as_secs();
    match seconds {
        0..60 => format!("{seconds} s ago"),
        60..3_600 => format!("{} min ago", seconds / 60),
        3_600..172_800 => format!("{} h ago", seconds / 3_600),
        _ => format!("{} days ago", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sheet() -> Sheet {
        let mut sheet = Sheet::new(&["service", "tasks", "verdict"]);
        sheet.add(vec![Cell::new("web", Tone::Strong), Cell::plain("2 of 2"), Cell::new("healthy", Tone::Good)]);
        let long = "1 of 2 tasks is not passing: its container app is UNHEALTHY";
        sheet.add(vec![Cell::new("orders", Tone::Strong), Cell::plain("2 of 2"), Cell::new(long, Tone::Bad)]);
        sheet
    }

    fn shown(width: Option<u16>, in_colour: bool) -> String {
        sheet().text(Medium { width, in_colour })
    }

    #[test]
    fn pipe_gets_one_line_for_each_row() {
        assert_eq!(
            shown(None, false),
            "service  tasks   verdict\n\
             web      2 of 2  healthy\n\
             orders   2 of 2  1 of 2 tasks is not passing: its container app is UNHEALTHY\n"
        );
    }

    #[test]
    fn terminal_gets_sentences_that_wrap_in_their_column() {
        let text = shown(Some(60), false);
        assert!(text.lines().all(|line| line.chars().count() <= 60), "{text}");
        assert!(text.contains("web      2 of 2  healthy\n"), "{text}");
    }

    #[test]
    fn narrow_terminal_gets_a_paragraph_for_each_row() {
        assert_eq!(
            shown(Some(40), false),
            "web\n  healthy\n  tasks 2 of 2\n\n\
             orders\n  1 of 2 tasks is not passing: its\n  container app is UNHEALTHY\n  tasks 2 of 2\n"
        );
    }

    #[test]
    fn only_a_coloured_text_has_escape_sequences() {
        assert!(!shown(Some(80), false).contains('\u{1b}'));
        assert!(shown(Some(80), true).contains('\u{1b}'));
    }

    #[test]
    fn endless_text_is_cut() {
        // As a whole, it would be laid out for minutes.
        let mut sheet = Sheet::new(&["service", "verdict"]);
        sheet.add(vec![Cell::plain("a".repeat(20_000_000)), Cell::plain("healthy")]);
        let text = sheet.text(Medium { width: None, in_colour: false });
        assert!(text.contains("a…  healthy\n") && text.len() < 20_000, "{}", text.len());
    }

    #[test]
    fn time_is_said_in_its_largest_unit() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let now = at(1_000_000);
        let said = [0, 59, 60, 3_599, 3_600, 172_799, 172_800].map(|seconds| ago(at(1_000_000 - seconds), now));
        assert_eq!(said, ["0 s ago", "59 s ago", "1 min ago", "59 min ago", "1 h ago", "47 h ago", "2 days ago"]);
    }
}
