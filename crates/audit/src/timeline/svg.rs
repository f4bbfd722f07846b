//! A timeline as a picture: a lane for each container, with the time from left to right.

use std::fmt::Write;

use super::{Lane, Part, Starting, Timeline};

/// The picture's style sheet. It has a light and a dark colour scheme.
pub const STYLE: &str = include_str!("style.css");

const TOP: usize = 52;
const LANE: usize = 32;
const BAR: usize = 20;
/// The width of the containers' names.
const LABELS: usize = 180;
/// The width of a character in pixels: the mean of the widest font in the style sheet.
const CHARACTER: usize = 6;
const MIN_COLUMN_WIDTH: usize = 84;
/// Longer texts are cut.
const MAX_COLUMN_WIDTH: usize = 380;
const RUNNING: usize = 90;

impl Timeline {
    /// The timeline as a complete SVG document.
    pub fn svg(&self) -> String {
        self.draw(&format!("<style>{STYLE}</style>"))
    }

    /// The timeline as SVG for a page that contains [`STYLE`].
    pub fn inline_svg(&self) -> String {
        self.draw("")
    }

    fn draw(&self, style: &str) -> String {
        let columns = Columns::of(self);
        let (width, height) = (columns.width, TOP + LANE * self.lanes.len() + 40);
        let name = escape(&self.name);
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"timeline\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
             height=\"{height}\" role=\"img\" aria-label=\"Start and stop of {name}\">{style}\
             <rect class=\"tl-ground\" width=\"{width}\" height=\"{height}\" rx=\"6\"/>"
        );
        self.draw_axis(&mut out, &columns);
        for (row, lane) in self.lanes.iter().enumerate() {
            draw_lane(&mut out, lane, TOP + row * LANE, &columns);
        }
        draw_legend(&mut out, height - 20);
        out.push_str("</svg>\n");
        out
    }

    fn draw_axis(&self, out: &mut String, columns: &Columns) {
        let bottom = TOP + LANE * self.lanes.len();
        text(out, "tl-title", LABELS, 18, "Start");
        text(out, "tl-title", columns.stop_at(0), 18, "Stop");
        let last = self.stop.len().saturating_sub(1);
        let starts = (0..self.start.len()).map(|step| (columns.start_at(step), format!("T{step}")));
        let stops = (0..=last).map(|step| {
            let what = if step == last {
                " KILL"
            } else if step + 1 == last {
                " STOPPED"
            } else {
                ""
            };
            (columns.stop_at(step), format!("T{step}{what}"))
        });
        for (x, label) in starts.chain(stops) {
            // Writing to a string cannot fail.
            let _ = write!(out, "<line class=\"tl-tick\" x1=\"{x}\" y1=\"42\" x2=\"{x}\" y2=\"{bottom}\"/>");
            text(out, "tl-axis", x, 36, &label);
        }
    }
}

fn draw_lane(out: &mut String, lane: &Lane, top: usize, columns: &Columns) {
    let baseline = top + LANE / 2 + 4;
    let bar = top + (LANE - BAR) / 2;
    let class = match lane.part {
        Part::App => "tl-app",
        Part::Proxy => "tl-proxy",
        Part::Helper => "tl-helper",
    };
    titled(out, "tl-name", 12, baseline, &lane.container, LABELS - 24);
    let from = match &lane.starts {
        Starting::Never(reason) => {
            let room = columns.width - LABELS - 16;
            titled(out, "tl-never", LABELS + 6, baseline, &format!("never starts: {reason}"), room);
            return;
        }
        Starting::At(step) | Starting::NotBefore(step) => columns.start_at(*step),
    };
    if !lane.waits_for.is_empty() {
        let words = format!("after {}", lane.waits_for.join(" + "));
        titled(out, "tl-wait", LABELS + 6, baseline, &words, from.saturating_sub(LABELS + 12));
    }
    let Some((term, gone)) = lane.stops else {
        let to = lane.ends.map_or(columns.running_end(), |end| columns.start_at(end));
        rect(out, class, from, bar, to);
        titled(out, "tl-on", from + 8, baseline, "runs, then ends", to.saturating_sub(from + 12));
        if lane.ends_the_task {
            text(out, "tl-never", to + 8, baseline, "ends, and ECS stops the task");
        }
        return;
    };
    rect(out, class, from, bar, columns.stop_at(term));
    text(out, "tl-on tl-middle", columns.running_middle(), baseline, "running");
    rect(out, &format!("{class} tl-stopping"), columns.stop_at(term), bar, columns.stop_at(gone));
    titled(
        out,
        "tl-off",
        columns.stop_at(term) + 8,
        baseline,
        lane.stopping,
        columns.stop_at(gone) - columns.stop_at(term),
    );
    let (gone, kill) = (columns.stop_at(gone) + 8, columns.kill());
    titled(out, "tl-wait", gone, baseline, lane.leaving, kill.saturating_sub(gone + 6));
    let kill = lane.stop_timeout.map_or_else(|| "after ?".to_owned(), |seconds| format!("after {seconds} s"));
    titled(out, "tl-kill", columns.kill() + 6, baseline, &kill, columns.width.saturating_sub(columns.kill() + 6));
}

fn draw_legend(out: &mut String, y: usize) {
    let mut x = LABELS;
    for (class, words) in [("tl-app", "app"), ("tl-proxy", "proxy"), ("tl-helper", "helper")] {
        let _ = write!(out, "<rect class=\"{class}\" x=\"{x}\" y=\"{}\" width=\"12\" height=\"12\" rx=\"3\"/>", y - 10);
        text(out, "tl-axis", x + 18, y, words);
        x += 80;
    }
    text(out, "tl-axis", x, y, "lighter: between TERM and exit");
}

fn rect(out: &mut String, class: &str, from: usize, y: usize, to: usize) {
    let width = to.saturating_sub(from);
    let _ = write!(out, "<rect class=\"{class}\" x=\"{from}\" y=\"{y}\" width=\"{width}\" height=\"{BAR}\" rx=\"4\"/>");
}

fn text(out: &mut String, class: &str, x: usize, y: usize, words: &str) {
    let _ = write!(out, "<text class=\"{class}\" x=\"{x}\" y=\"{y}\">{}</text>", escape(words));
}

/// A text, cut to the width of its place. A tooltip shows the complete text.
fn titled(out: &mut String, class: &str, x: usize, y: usize, words: &str, room: usize) {
    let shown = fitted(words, room);
    let title = if shown == words { String::new() } else { format!("<title>{}</title>", escape(words)) };
    if !shown.is_empty() {
        let _ = write!(out, "<text class=\"{class}\" x=\"{x}\" y=\"{y}\">{title}{}</text>", escape(&shown));
    }
}

fn escape(words: &str) -> String {
    words
        .chars()
        .map(|c| match c {
            '&' => "&amp;".to_owned(),
            '<' => "&lt;".to_owned(),
            '>' => "&gt;".to_owned(),
            '"' => "&quot;".to_owned(),
            '\'' => "&#39;".to_owned(),
            c if c.is_control() => "\u{FFFD}".to_owned(),
            // These characters are not allowed in XML.
            '\u{FFFE}' | '\u{FFFF}' => "\u{FFFD}".to_owned(),
            c => c.to_string(),
        })
        .collect()
}

/// The horizontal positions of all steps.
struct Columns {
    start: Vec<usize>,
    stop: Vec<usize>,
    /// The width of the picture.
    width: usize,
}

impl Columns {
    fn of(timeline: &Timeline) -> Self {
        let mut start = vec![LABELS];
        for step in 1..=timeline.start.len() {
            let waiting = timeline.lanes.iter().filter(|lane| lane.starts.step() == Some(step));
            let words = waiting.map(|lane| width_of(&format!("after {}", lane.waits_for.join(" + "))));
            let before = start.last().copied().unwrap_or(LABELS);
            let wanted = words.max().map_or(0, |words| LABELS + words.min(MAX_COLUMN_WIDTH) + 18);
            start.push(wanted.max(before + MIN_COLUMN_WIDTH));
        }
        let mut stop = vec![start.last().copied().unwrap_or(LABELS) + RUNNING];
        for step in 1..timeline.stop.len() {
            let words = |lane: &Lane| {
                let (term, gone) = lane.stops?;
                (gone == step)
                    .then(|| stop.get(term).map(|from| from + width_of(lane.stopping).min(MAX_COLUMN_WIDTH) + 20))?
            };
            let wanted = timeline.lanes.iter().filter_map(words).max().unwrap_or_default();
            let before = stop.last().copied().unwrap_or_default();
            stop.push(wanted.max(before + MIN_COLUMN_WIDTH));
        }
        let width = stop.last().copied().unwrap_or_default() + MIN_COLUMN_WIDTH + 8;
        Self { start, stop, width }
    }

    fn start_at(&self, step: usize) -> usize {
        self.start.get(step).or(self.start.last()).copied().unwrap_or(LABELS)
    }

    fn stop_at(&self, step: usize) -> usize {
        self.stop.get(step).or(self.stop.last()).copied().unwrap_or(self.width)
    }

    /// The position of KILL.
    fn kill(&self) -> usize {
        self.stop.last().copied().unwrap_or(self.width)
    }

    fn running_end(&self) -> usize {
        self.stop_at(0)
    }

    fn running_middle(&self) -> usize {
        self.stop_at(0).saturating_sub(RUNNING / 2)
    }
}

fn width_of(words: &str) -> usize {
    words.chars().count() * CHARACTER
}

/// `words`, cut to fit into `room` pixels.
fn fitted(words: &str, room: usize) -> String {
    let characters = room / CHARACTER;
    if words.chars().count() <= characters {
        return words.to_owned();
    }
    match characters {
        0..=2 => String::new(),
        _ => words.chars().take(characters - 1).chain(['…']).collect(),
    }
}
