//! The columns of the steps: their widths depend on the text in the steps before them.

use crate::timeline::{Lane, Timeline};

/// The width of the containers' names.
pub(super) const LABELS: usize = 180;
/// The width of a character in pixels: the mean of the widest font in the style sheet.
const CHARACTER: usize = 6;
const MIN_COLUMN_WIDTH: usize = 84;
/// Longer texts are cut.
const MAX_COLUMN_WIDTH: usize = 380;
const RUNNING: usize = 90;

/// The horizontal positions of all steps.
pub(super) struct Columns {
    start: Vec<usize>,
    stop: Vec<usize>,
    /// The width of the picture.
    pub(super) width: usize,
}

impl Columns {
    pub(super) fn of(timeline: &Timeline) -> Self {
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

    pub(super) fn start_at(&self, step: usize) -> usize {
        self.start.get(step).or(self.start.last()).copied().unwrap_or(LABELS)
    }

    pub(super) fn stop_at(&self, step: usize) -> usize {
        self.stop.get(step).or(self.stop.last()).copied().unwrap_or(self.width)
    }

    /// The position of KILL.
    pub(super) fn kill(&self) -> usize {
        self.stop.last().copied().unwrap_or(self.width)
    }

    pub(super) fn running_end(&self) -> usize {
        self.stop_at(0)
    }

    pub(super) fn running_middle(&self) -> usize {
        self.stop_at(0).saturating_sub(RUNNING / 2)
    }
}

fn width_of(words: &str) -> usize {
    words.chars().count() * CHARACTER
}

/// `words`, cut to fit into `room` pixels.
pub(super) fn fitted(words: &str, room: usize) -> String {
    let characters = room / CHARACTER;
    if words.chars().count() <= characters {
        return words.to_owned();
    }
    match characters {
        0..=2 => String::new(),
        _ => words.chars().take(characters - 1).chain(['…']).collect(),
    }
}
