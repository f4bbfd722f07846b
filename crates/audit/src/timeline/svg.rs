//! A timeline as a picture: the start above the stop, each with a lane for each container and the time from left to right.

use std::fmt::Write;

use super::{Lane, Part, Starting, Timeline};

/// The picture's style sheet. It has a light and a dark colour scheme.
pub const STYLE: &str = include_str!("style.css");

/// The height of a panel's title and axis.
const HEAD: usize = 52;
const LANE: usize = 32;
const BAR: usize = 20;
const LEGEND: usize = 40;
/// The width of the containers' names.
const LABELS: usize = 180;
/// The width of a character in pixels: the mean of the widest font in the style sheet.
const CHARACTER: usize = 7;
const MIN_COLUMN_WIDTH: usize = 76;
/// Longer texts are cut.
const MAX_COLUMN_WIDTH: usize = 380;
/// The width of what runs, after the last start and before the stop.
const RUNNING: usize = 70;

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
        let (start, stop) = (Axis::of_start(self), Axis::of_stop(self));
        let stopping: Vec<&Lane> = self.lanes.iter().filter(|lane| lane.stops.is_some()).collect();
        let second = HEAD + LANE * self.lanes.len();
        let bottom = second + HEAD + LANE * stopping.len();
        let (width, height) = (start.width.max(stop.width), bottom + LEGEND);
        let name = escape(&self.name);
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"timeline\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
             height=\"{height}\" role=\"img\" aria-label=\"Start and stop of {name}\">{style}\
             <rect class=\"tl-ground\" width=\"{width}\" height=\"{height}\" rx=\"6\"/>"
        );
        let steps = (0..self.start.len()).map(|step| format!("T{step}"));
        start.draw(&mut out, "Start", steps, 0, second);
        for (row, lane) in self.lanes.iter().enumerate() {
            draw_start(&mut out, lane, HEAD + row * LANE, &start, width);
        }
        let last = self.stop.len().saturating_sub(1);
        let steps = (0..=last).map(|step| match last - step {
            0 => format!("T{step} KILL"),
            1 => format!("T{step} STOPPED"),
            _ => format!("T{step}"),
        });
        stop.draw(&mut out, "Stop", steps, second, bottom);
        for (row, lane) in stopping.into_iter().enumerate() {
            draw_stop(&mut out, lane, second + HEAD + row * LANE, &stop);
        }
        draw_legend(&mut out, height - LEGEND / 2);
        out.push_str("</svg>\n");
        out
    }
}

fn class_of(part: Part) -> &'static str {
    match part {
        Part::App => "tl-app",
        Part::Proxy => "tl-proxy",
        Part::Helper => "tl-helper",
    }
}

/// Where the text and the bar of a lane are.
fn rows_of(top: usize) -> (usize, usize) {
    (top + LANE / 2 + 4, top + (LANE - BAR) / 2)
}

fn draw_start(out: &mut String, lane: &Lane, top: usize, axis: &Axis, width: usize) {
    let (baseline, bar) = rows_of(top);
    titled(out, "tl-name", 12, baseline, &lane.container, LABELS - 24);
    let from = match &lane.starts {
        Starting::Never(reason) => {
            titled(out, "tl-never", LABELS + 6, baseline, &format!("never starts: {reason}"), width - LABELS - 16);
            return;
        }
        Starting::At(step) | Starting::NotBefore(step) => axis.at(*step),
    };
    if !lane.waits_for.is_empty() {
        let words = format!("after {}", lane.waits_for.join(" + "));
        clear(out, LABELS + 4, bar, &words);
        titled(out, "tl-wait", LABELS + 6, baseline, &words, from.saturating_sub(LABELS + 12));
    }
    let to = lane.ends.map_or(axis.width - 8, |end| axis.at(end));
    let words = if lane.stops.is_some() { "running" } else { "runs, then ends" };
    rect(out, class_of(lane.part), from, bar, to);
    titled(out, "tl-on", from + 8, baseline, words, to.saturating_sub(from + 12));
    if lane.stops.is_none() && lane.ends_the_task {
        text(out, "tl-never", to + 8, baseline, "ends, and ECS stops the task");
    }
}

fn draw_stop(out: &mut String, lane: &Lane, top: usize, axis: &Axis) {
    let (baseline, bar) = rows_of(top);
    titled(out, "tl-name", 12, baseline, &lane.container, LABELS - 24);
    let Some((term, gone)) = lane.stops else { return };
    let class = class_of(lane.part);
    rect(out, class, LABELS, bar, axis.at(term));
    text(out, "tl-on", LABELS + 8, baseline, "running");
    // Hides the lines of the steps, which would show through the lighter bar and cross its text.
    rect(out, "tl-ground", axis.at(term), bar, axis.at(gone));
    rect(out, &format!("{class} tl-stopping"), axis.at(term), bar, axis.at(gone));
    let room = axis.at(gone) - axis.at(term);
    titled(out, "tl-off", axis.at(term) + 8, baseline, lane.stopping, room);
    let (gone, kill) = (axis.at(gone) + 8, axis.last());
    clear(out, gone, bar, lane.leaving);
    titled(out, "tl-wait", gone, baseline, lane.leaving, kill.saturating_sub(gone + 6));
    let words = lane.stop_timeout.map_or_else(|| "after ?".to_owned(), |seconds| format!("after {seconds} s"));
    titled(out, "tl-kill", kill + 6, baseline, &words, axis.width.saturating_sub(kill + 6));
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

/// Hides the lines of the steps behind a text.
fn clear(out: &mut String, x: usize, bar: usize, words: &str) {
    if !words.is_empty() {
        rect(out, "tl-ground", x, bar, x + width_of(words));
    }
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

/// The horizontal positions of the steps of a panel.
struct Axis {
    steps: Vec<usize>,
    /// The width of the panel.
    width: usize,
}

impl Axis {
    fn of_start(timeline: &Timeline) -> Self {
        let mut steps = vec![LABELS];
        for step in 1..timeline.start.len() {
            let waiting = timeline.lanes.iter().filter(|lane| lane.starts.step() == Some(step));
            let words = waiting.map(|lane| width_of(&format!("after {}", lane.waits_for.join(" + "))));
            let wanted = words.max().map_or(0, |words| LABELS + words.min(MAX_COLUMN_WIDTH) + 18);
            steps.push(wanted.max(last_of(&steps) + MIN_COLUMN_WIDTH));
        }
        let width = last_of(&steps) + MIN_COLUMN_WIDTH + RUNNING;
        Self { steps, width }
    }

    fn of_stop(timeline: &Timeline) -> Self {
        let mut steps = vec![LABELS + RUNNING];
        for step in 1..timeline.stop.len() {
            let words = |lane: &Lane| {
                let (term, gone) = lane.stops?;
                (gone == step)
                    .then(|| steps.get(term).map(|from| from + width_of(lane.stopping).min(MAX_COLUMN_WIDTH) + 20))?
            };
            let wanted = timeline.lanes.iter().filter_map(words).max().unwrap_or_default();
            steps.push(wanted.max(last_of(&steps) + MIN_COLUMN_WIDTH));
        }
        let leaving = timeline.lanes.iter().filter_map(|lane| {
            let (_, gone) = lane.stops?;
            Some(steps.get(gone)? + width_of(lane.leaving).min(MAX_COLUMN_WIDTH) + 20)
        });
        let kill = leaving.max().unwrap_or_default();
        if let Some(last) = steps.last_mut() {
            *last = kill.max(*last);
        }
        let width = last_of(&steps) + MIN_COLUMN_WIDTH + 8;
        Self { steps, width }
    }

    fn at(&self, step: usize) -> usize {
        self.steps.get(step).copied().unwrap_or(self.last())
    }

    fn last(&self) -> usize {
        last_of(&self.steps)
    }

    /// Draws the title, and a line with its label for each step.
    fn draw(&self, out: &mut String, title: &str, labels: impl Iterator<Item = String>, top: usize, bottom: usize) {
        text(out, "tl-title", 12, top + 36, title);
        for (step, label) in labels.enumerate() {
            let x = self.at(step);
            // Writing to a string cannot fail.
            let _ = write!(out, "<line class=\"tl-tick\" x1=\"{x}\" y1=\"{}\" x2=\"{x}\" y2=\"{bottom}\"/>", top + 42);
            text(out, "tl-axis", x, top + 36, &label);
        }
    }
}

fn last_of(steps: &[usize]) -> usize {
    steps.last().copied().unwrap_or(LABELS)
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
